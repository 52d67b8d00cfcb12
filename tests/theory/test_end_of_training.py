"""The capacity threshold of a trained memory, its recall below, and the law of trained models."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from scipy.stats import binomtest
from typer.testing import CliRunner

import recallscope
from recallscope import Problem, predict
from recallscope.cli.main import app
from recallscope.theory import end_answers
from recallscope.theory.end_capacity import edge
from recallscope.theory.end_law import end_of_training, trigger_snr
from recallscope.theory.finding import TURNS, attention
from recallscope.theory.label_pool import pool
from recallscope.theory.memory_recall import Facts, equally_often, facts_seen, memory_recall
from recallscope.theory.output_cone import cone
from recallscope.theory.prediction import Prediction
from recallscope.theory.recorded_error import error_near
from recallscope.theory.simulations import simulations

ROOT = Path(__file__).parents[2]


def drawn_pools(vocab: int, count: int, seed: int) -> np.ndarray:
    """Rivals that are pooled with a label, for normal scores projected on its cone."""
    rng = np.random.default_rng(seed)
    rivals = -np.sort(-rng.standard_normal((count, vocab - 1)), axis=1)
    own = rng.standard_normal((count, 1))
    number = np.arange(1, vocab)
    level = (own + np.cumsum(rivals, axis=1)) / (number + 1)
    below = np.concatenate([rivals[:, 1:], np.full((count, 1), -np.inf)], axis=1)
    return np.where((level < rivals) & (level >= below), number, 0).sum(axis=1)


def test_small_pools_are_known_exactly():
    assert pool(2).mean == pytest.approx(1 / 2, abs=1e-9)
    assert pool(3).mean == pytest.approx(5 / 6, abs=1e-9)


@pytest.mark.parametrize("vocab", [4, 32, 300])
def test_pools_are_those_of_drawn_scores(vocab):
    drawn = drawn_pools(vocab, 20_000, vocab)
    found = pool(vocab)
    assert abs(drawn.mean() - found.mean) < 4 * drawn.std() / math.sqrt(len(drawn))
    assert drawn.var() == pytest.approx(found.variance, rel=0.05)


def test_the_constant_of_the_threshold_drifts_towards_two():
    constants = [pool(2**power).mean / (power * math.log(2)) for power in range(6, 43, 12)]
    assert np.all(np.diff(constants) > 0)
    assert 1.0 < constants[0] < 1.02
    assert 1.6 < constants[-1] < 2


@pytest.mark.parametrize(
    ("vocab", "dim", "width"), [(128, 18, None), (256, 34, None), (128, 12, 24), (96, 24, None)]
)
def test_recall_of_the_minimum_is_as_derived(vocab, dim, width):
    """Away from the capacity threshold, the mean of a few seeds."""
    sizes = {"vocab": vocab, "samples": vocab, "dim": dim, "length": 1, "width": width}
    problem = Problem(**sizes, task="memory", learner="converged")
    found = [
        recallscope.run(problem, seed, test_samples=vocab).recall_accuracy for seed in range(6)
    ]
    assert np.mean(found) == pytest.approx(predict(problem).recall_accuracy, abs=0.05)


def test_facts_seen_add_up():
    for samples in (16, 64, 256, 4096):
        facts = facts_seen(64, samples)
        assert facts.number.sum() == pytest.approx(64 * -math.expm1(-samples / 64), rel=1e-3)
        assert facts.number @ facts.times == pytest.approx(samples, rel=1e-3)


def test_a_memory_recalls_more_with_more_parameters():
    facts = facts_seen(128, 200)
    sizes = np.linspace(0.1, 1.5, 7) * edge(128, float(facts.number.sum()), 24).parameters
    recalls = [memory_recall(128, size, facts, 24) for size in sizes]
    assert np.all(np.diff(recalls) > -1e-3)
    assert recalls[0] < 0.1
    assert recalls[-1] == pytest.approx(1)


def test_recall_is_never_above_the_facts_seen():
    rng = np.random.default_rng(3)
    for _ in range(12):
        vocab = int(rng.integers(64, 513))
        problem = Problem(
            vocab=vocab,
            samples=int(vocab * np.exp(rng.uniform(math.log(0.25), math.log(32)))),
            dim=int(rng.integers(5, 60)),
            length=int(rng.integers(2, 129)),
            learner=str(rng.choice([*sorted(TURNS), "converged"])),
        )
        found = predict(problem)
        assert 0 <= found.recall_accuracy <= found.factors["facts_seen"].value <= 1


def test_attention_is_given_or_learnt():
    few = Problem(vocab=128, samples=64, dim=32, length=64, learner="converged")
    uneven = few.replace(task="memory", length=1, frequencies="zipf")
    for given in (few, uneven):
        assert (end_of_training(given).trigger_found, end_of_training(given).attention) == (1, 1)
    found = [end_of_training(few.replace(learner=each)).trigger_found for each in ("gd", "adam")]
    assert 1 > found[0] > found[1] > 0.5
    many = few.replace(samples=4096, learner="adam")
    assert trigger_snr(many) > trigger_snr(few)
    assert end_of_training(many).trigger_found > 0.99


@pytest.mark.parametrize("learner", sorted(TURNS))
def test_the_probability_of_finding_the_trigger_has_its_limits(learner):
    """A coin if nothing is known, certain if it is clear or if there are many samples."""
    assert attention(learner, 0.0, 1e-9, 1.0).trigger_found == pytest.approx(0.5)
    assert attention(learner, 9.0, 1e-9, 1.0).trigger_found == pytest.approx(1)
    assert attention(learner, 0.0, 100.0, 1.0).trigger_found == pytest.approx(1)
    for place in range(3):
        sizes = [[0.3, 0.5, 0.7] for _ in range(5)]
        for each, factor in zip(sizes, (1, 2, 4, 8, 16), strict=True):
            each[place] *= factor
        every = np.array([attention(learner, *each) for each in sizes])
        assert np.all(np.diff(every, axis=0) > 0)


def test_a_prediction_of_the_end_is_one_line_of_python():
    problem = Problem(vocab=256, samples=256, dim=48, length=16, learner="muon")
    found = recallscope.predict(problem)
    assert isinstance(found, Prediction)
    product = math.prod(factor.value for factor in found.factors.values())
    assert found.recall_accuracy == pytest.approx(product)
    again = Prediction.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    many = recallscope.predict([problem, problem.replace(learner="three-step")])
    assert many.recall_accuracy[0] == pytest.approx(found.recall_accuracy)
    assert math.isnan(many.first_gradient_accuracy[0])
    assert many.recall_accuracy[1] < many.recall_accuracy[0]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"steps": 10}, "steps 10"),
        ({"learn_embeddings": True}, "learn_embeddings True"),
        ({"width": 64, "activation": "quadratic"}, "activation quadratic"),
        ({"embedding": "gaussian"}, "embedding gaussian"),
        ({"task": "memory", "length": 1, "dim": 30}, "task memory"),
    ],
)
def test_the_law_does_not_answer_where_an_assumption_fails(changes, word):
    problem = Problem(vocab=256, samples=512, dim=48, length=16, learner="adam")
    found = recallscope.predict(problem.replace(**changes))
    assert found.recall_accuracy is None
    assert word in found.reason
    assert Prediction.from_dict(found.to_dict()) == found


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"vocab": 3000}, "vocab 3000 > 2048"),
        ({"length": 600}, "length 600 > 512"),
        ({"vocab": 512, "length": 200}, "length 200 > 128 with vocab 512 > 256"),
        ({"samples": 10**5}, "samples per fact 390.625 > 32"),
        ({"width": 64, "activation": "gelu"}, "activation gelu"),
        ({"dim": 300}, "dim 300 >= vocab 256"),
    ],
)
def test_the_law_extrapolates_with_a_wider_interval(changes, word):
    problem = Problem(vocab=256, samples=512, dim=48, length=16, learner="adam")
    found = recallscope.predict(problem.replace(**changes))
    assert found.status == "extrapolated"
    assert word in "; ".join(found.extrapolated)
    recall = found.estimates["recall_accuracy"]
    assert 0 <= recall.low <= recall.value <= recall.high <= 1
    assert Prediction.from_dict(found.to_dict()) == found


def test_an_unclear_trigger_leaves_all_between_nothing_and_what_is_recalled_if_found():
    problem = Problem(vocab=128, samples=128, dim=40, length=512, learner="adam")
    found = recallscope.predict(problem)
    recall = found.estimates["recall_accuracy"]
    assert recall.low == 0
    assert recall.value < found.quantities["recall_if_found"] < recall.high
    assert "Train with several seeds" in end_answers.explain_end(problem, found)
    clear = recallscope.predict(problem.replace(vocab=1024, samples=3000, dim=100, length=8))
    assert clear.attention_accuracy >= 0.95
    assert clear.estimates["recall_accuracy"].low > 0.5


@pytest.mark.parametrize(
    ("vocab", "dim", "width", "measured", "error"),
    [(256, 14, 98, 0.951, 0.031), (128, 10, 56, 0.855, 0.055), (512, 21, 160, 1.0, 0.01)],
)
def test_memories_behind_an_mlp_are_full_where_they_were_measured_to_be(
    vocab, dim, width, measured, error
):
    """Certified minima; the law of 0.2 predicted 0.5 to 0.6 for them."""
    sizes = {"vocab": vocab, "samples": vocab, "dim": dim, "length": 1, "width": width}
    found = predict(Problem(**sizes, task="memory", learner="converged"))
    assert found.recall_accuracy == pytest.approx(measured, abs=2 * error + 0.03)


def test_few_dimensions_need_fewer_parameters():
    assert cone(64, 63) == pytest.approx(pool(64).mean)
    cones = [cone(64, dim) for dim in (2, 4, 8, 16, 40)]
    assert np.all(np.diff(cones) > 0)
    assert np.all(np.array(cones) < [2, 4, 8, 16, 40])
    assert cone(10**7, 64) > cone(10**6, 64)


def test_intervals_cover_ninety_per_cent_where_predictions_are_hard():
    """Each simulated problem is left out of what its interval comes from."""
    known, simulated, predicted = simulations()
    names = ("vocab", "samples", "dim", "length", "width")
    sizes = {name: getattr(known, name) for name in names}
    kind = 2 * np.isinf(known.width) + known.marked
    for accuracy in ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy"):
        guesses, truths = getattr(predicted, accuracy), getattr(simulated, accuracy)
        inside = []
        for place in np.flatnonzero((guesses > 0.1) & (guesses < 0.9)):
            alike = kind == kind[place]
            alike[place] = False
            here = {name: float(sizes[name][place]) for name in names}
            error = error_near(here, float(guesses[place]), sizes, guesses, truths, alike)
            inside.append(abs(guesses[place] - truths[place]) <= error.most)
        assert binomtest(sum(inside), len(inside), 0.9).pvalue > 0.05


def test_the_command_says_what_is_derived_and_what_is_fitted():
    sizes = "--vocab 128 --samples 256 --dim 20 --length 16"
    shown = CliRunner().invoke(app, ["predict", *sizes.split(), "--learner", "adam"])
    assert shown.exit_code == 0, shown.output
    for word in ("learner=adam", "fitted", "derived", "90 % interval", "median error"):
        assert word in shown.output
    steps = CliRunner().invoke(app, ["predict", *sizes.split()])
    assert "│ three gradient steps │ 0." in steps.output
    assert "│ training by adam     │ 0." in steps.output
    solved = CliRunner().invoke(
        app, ["solve", "--for", "samples", *sizes.split()[:2], *sizes.split()[4:]]
    )
    assert solved.output.startswith("This is after three gradient steps. ")
    other = CliRunner().invoke(app, ["predict", *sizes.split(), "--learner", "sgd"])
    assert "no closed form for the learner sgd" in other.output


def test_no_interval_ends_above_one():
    """All facts are seen and fit; rounding had a recall above one."""
    sizes = {"vocab": 38, "samples": 10_775_249, "dim": 12, "length": 9520, "width": 5573}
    found = predict(Problem(**sizes, activation="gelu", learner="muon"))
    assert found.quantities["recall_if_found"] <= 1
    assert found.estimates["recall_accuracy"].high <= 1


def test_tables_of_runs_have_what_laws_say_today():
    with (ROOT / "src/recallscope/theory/trained.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows[::30]:
        sizes = {name: int(row[name]) for name in ("vocab", "samples", "dim", "length")}
        mlp = {"width": int(row["width"])} if int(row["width"]) else {}
        found = end_of_training(Problem(**sizes, **mlp, learner=row["learner"]))
        assert found.recall == pytest.approx(float(row["predicted_recall"]), abs=2e-3)
    with (ROOT / "src/recallscope/theory/memories.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows[::25]:
        vocab, facts, dim, width = (int(row[each]) for each in ("vocab", "facts", "dim", "width"))
        found = memory_recall(vocab, dim * width, equally_often(facts), dim)
        assert found == pytest.approx(float(row["predicted"]), abs=2e-3)


def test_a_common_weight_of_all_facts_does_not_matter():
    one = Facts(np.array([64.0]), np.array([1.0]))
    often = Facts(np.array([64.0]), np.array([7.0]))
    # How often all are seen does not matter, only how much more often than others.
    assert memory_recall(128, 200, one, 14) == pytest.approx(
        memory_recall(128, 200, often, 14), abs=2e-3
    )


def test_uneven_facts_and_many_labels_are_solved():
    """Found by a scan: scipy's solver stops here, and Newton's rule goes back and forth."""
    uneven = Facts(np.array([520.0, 586.0]), np.array([14.4, 76.2]))
    far_apart = Facts(np.array([5.0, 2246.0, 10.6, 3.7]), np.array([9.6, 0.86, 0.31, 1965.0]))
    for vocab, facts, share in ((10**6, uneven, 0.83), (10**5, far_apart, 0.42)):
        full = edge(vocab, float(facts.number.sum()), 10**4).parameters
        near = [memory_recall(vocab, each * share * full, facts, 10**4) for each in (0.98, 1, 1.02)]
        assert 0 < near[0] < near[1] < near[2] < 1.1 * near[0]


@pytest.mark.parametrize("success", [True, False])
def test_a_prediction_says_that_its_equations_were_not_solved(monkeypatch, success):
    """The solver of scipy stops anywhere, and may call it a success."""

    def stopped(equations, point, options):
        return OptimizeResult(x=np.array(point), fun=equations(point), success=success)

    def no_change_of_sign(*given):
        raise ValueError

    monkeypatch.setattr("scipy.optimize.root", stopped)
    monkeypatch.setattr("scipy.optimize.brentq", no_change_of_sign)
    problem = Problem(vocab=128, samples=256, dim=12, length=8, learner="gd")
    found = predict(problem)
    assert found.recall_accuracy is None
    assert "the equations of its memory were not solved" in found.reason
    assert Prediction.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert recallscope.predict([problem]).reasons == {0: found.reason}
