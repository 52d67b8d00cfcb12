"""The closed forms compared with simulation, and checked to be monotone where they must be."""

from __future__ import annotations

import itertools
import json
import math
import random
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_parts import made
from scipy.special import ndtr
from scipy.stats import poisson

from recallscope import Problem, ProblemError, phase_map, predict, run, solve
from recallscope.common.csv_files import read_csv
from recallscope.common.status import Status
from recallscope.plot.phase_map import phase_map_figure
from recallscope.plot.style import save
from recallscope.problem.axes import SIZES
from recallscope.theory import hermite, predictions, required_size
from recallscope.theory.accuracy import (
    Accuracies,
    Contest,
    _partly_read,
    accuracies,
    analyse,
    on_sphere,
)
from recallscope.theory.attention_scores import crowd
from recallscope.theory.law import Answer, Law
from recallscope.theory.laws import three_step
from recallscope.theory.noise import STAGES, TERMS, budget, dominant
from recallscope.theory.problem_arrays import arrays_of, problem_arrays
from reproduction.studies.random_problems.recorded_problems import load_summary, ratios

ACCURACIES = ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy")


@pytest.mark.parametrize("study", ["design", "holdout"])
@pytest.mark.parametrize("name", ACCURACIES)
def test_random_problems_are_predicted(study: str, name: str) -> None:
    """Hundreds of problems of the study random_problems, and no constant fitted to them."""
    problems, lines = load_summary(study)
    assert len(problems) >= {"design": 400, "holdout": 150}[study]
    error = getattr(accuracies(arrays_of(problems)), name) - [float(line[name]) for line in lines]
    assert np.abs(error).mean() <= 0.010
    assert np.quantile(np.abs(error), 0.95) <= 0.04
    assert abs(error.mean()) <= 0.005


def test_no_more_is_recalled_than_was_seen() -> None:
    """N samples of V facts show a fraction 1 - (1 - 1/V)^N of them; the others are guessed."""
    rng = np.random.default_rng(16)

    def sizes(low: float, high: float) -> np.ndarray:
        return np.floor(np.exp(rng.uniform(np.log(low), np.log(high), 4000)))

    vocab, samples = sizes(2, 1e5), sizes(1, 1e6)
    s = problem_arrays(
        vocab=vocab,
        samples=samples,
        dim=sizes(1, 1e4),
        length=sizes(1, 1e4),
        width=np.where(rng.random(4000) < 0.5, np.inf, sizes(1, 1e4)),
        activation=rng.choice(["relu", "gelu", "tanh", "quadratic"], 4000),
        embedding=rng.choice(["sphere", "gaussian"], 4000),
        trigger_in_values=rng.random(4000) < 0.5,
    )
    found = accuracies(s)
    seen = -np.expm1(samples * np.log1p(-1 / vocab)) + 1 / vocab
    for name in ("recall_accuracy", "first_gradient_accuracy"):
        assert np.all(getattr(found, name) <= seen + 1e-12)


@pytest.mark.parametrize(
    ("name", "most"),
    [("attention_accuracy", 0.015), ("recall_accuracy", 0.006), (ACCURACIES[2], 0.003)],
)
def test_few_samples_are_predicted(name: str, most: float) -> None:
    """N from 1 to V, simulated by the study random_problems after it was predicted."""
    problems, lines = load_summary("few")
    simulated = np.array([float(line[name]) for line in lines])
    hard = (simulated > 0.1) & (simulated < 0.9)
    error = np.abs(getattr(accuracies(arrays_of(problems)), name) - simulated)
    assert error[hard].mean() < most
    assert error.mean() < min(most, 0.012)


def test_few_samples_give_low_recall() -> None:
    assert predict(Problem(vocab=512, samples=1, dim=16, length=32)).first_gradient_accuracy < 0.004
    # A lower bound says that 26 samples are needed at least.
    few = solve(Problem(vocab=512, samples=1, dim=64, length=4), "samples", 0.05, ACCURACIES[2])
    assert few.value >= 26
    short = Problem(vocab=399, samples=228, dim=362, length=2, trigger_in_values=True)
    assert predict(short).first_gradient_accuracy == pytest.approx(0.358, abs=0.01)  # as simulated


PHASE_DIAGRAM = (
    Path(__file__).parents[2] / "reproduction" / "studies" / "phase_diagram" / "phase_diagram.csv"
)


def test_recall_where_attention_is_partial_is_predicted() -> None:
    """Cells of the study phase_diagram: multiplying attention and read would be 0.008 too low."""
    rows = [row for row in read_csv(PHASE_DIAGRAM) if row["length"] == 128]
    names = ("vocab", "samples", "dim", "length")
    found = accuracies(problem_arrays(**{name: [row[name] for row in rows] for name in names}))
    few_dimensions = np.array([row["dim"] < 64 for row in rows])
    partly = (found.attention_accuracy > 0.08) & (found.attention_accuracy < 0.98) & few_dimensions
    assert partly.sum() > 200
    error = (found.recall_accuracy - [row["mean"] for row in rows])[partly]
    assert abs(error.mean()) < 0.003
    assert np.abs(error).mean() < 0.006


def test_partial_attention_ends_in_attention() -> None:
    s = problem_arrays(
        vocab=512, samples=[600, 4096, 1e5], dim=64, length=32, width=[np.inf, 300, 300]
    )
    found = analyse(s)
    always = Contest(
        won=np.ones((3, 7, 3)), highest=np.full((3, 1, 3), 2.5), weight=np.full((3, 7), 1 / 7)
    )
    np.testing.assert_allclose(_partly_read(s, found.recall, always), found.recall_if_attended)


def test_critical_sizes_are_predicted() -> None:
    """N* at recall one half, simulated by the study random_problems and solved here."""
    found = ratios(0.5)
    assert len(found) == 30
    assert sum(abs(ratio - 1) <= 0.1 for ratio in found) >= 27


FRESH = [
    {"vocab": 512, "samples": 8192, "dim": 64, "length": 32},
    {"vocab": 512, "samples": 2048, "dim": 96, "length": 8, "embedding": "gaussian"},
    {"vocab": 300, "samples": 30000, "dim": 150, "length": 8, "trigger_in_values": True},
    {"vocab": 400, "samples": 8000, "dim": 100, "length": 6, "width": 300},
    {"vocab": 400, "samples": 8000, "dim": 60, "length": 6, "width": 300, "activation": "tanh"},
    {"vocab": 256, "samples": 1024, "dim": 300, "length": 64, "embedding": "orthogonal"},
    {"vocab": 256, "samples": 600, "dim": 300, "length": 16, "embedding": "orthogonal"}
    | {"trigger_in_values": True},
    {"vocab": 256, "samples": 2048, "dim": 300, "length": 16, "embedding": "orthogonal"}
    | {"width": 256},
]


@pytest.mark.parametrize("fields", FRESH, ids=lambda fields: "-".join(map(str, fields.values())))
def test_fresh_runs_are_predicted(fields: dict) -> None:
    problem = Problem(**fields)
    records = [run(problem, seed, dtype="float64") for seed in range(100, 108)]
    predicted = predict(problem)
    for name in ACCURACIES:
        values = np.array([getattr(record, name) for record in records])
        error = values.std(ddof=1) / math.sqrt(len(values))
        assert abs(getattr(predicted, name) - values.mean()) < 0.025 + 3 * error, name


@pytest.mark.parametrize("per_fact", [1, 2])
def test_closed_forms_have_no_step(per_fact: int) -> None:
    """Where formulas of few and of many samples meet, one more sample changes little."""
    rng = np.random.default_rng(3)
    vocab = rng.integers(256, 4096, 200)
    fields = {
        "vocab": vocab,
        "dim": rng.integers(16, 256, 200),
        "length": rng.integers(2, 128, 200),
        "width": np.where(rng.random(200) < 0.5, np.inf, rng.integers(64, 4096, 200)),
    }
    before, after = (
        accuracies(problem_arrays(**fields, samples=per_fact * vocab - less)) for less in (1, 0)
    )
    for name in ("recall_accuracy", "first_gradient_accuracy"):
        step = np.abs(getattr(after, name) - getattr(before, name))
        assert step.max() < 0.006, name
        assert step.mean() < 0.001, name


def test_more_samples_can_hurt_near_capacity() -> None:
    """The one exception to "more helps", in theory and in simulation: uneven exposure."""
    few, many = (Problem(vocab=2048, samples=2048 * c, dim=110, length=2) for c in (4, 64))
    assert predict(few).recall_accuracy > predict(many).recall_accuracy + 0.02
    seen = [
        np.mean([run(p, s, dtype="float32").recall_accuracy for s in range(6)]) for p in (few, many)
    ]
    assert seen[0] > seen[1] + 0.01


# The range of the theory: that of the design and well beyond.
problems = st.fixed_dictionaries(
    {
        "vocab": st.integers(256, 65536),
        "dim": st.integers(16, 2048),
        "length": st.integers(2, 1024),
        "samples": st.floats(1, 1000),
        "width": st.one_of(st.none(), st.integers(64, 8192)),
        "activation": st.sampled_from(["relu", "gelu", "tanh", "quadratic"]),
        "embedding": st.sampled_from(["sphere", "gaussian"]),
        "trigger_in_values": st.booleans(),
    }
)


@settings(max_examples=150, deadline=None)
@given(fields=problems, factor=st.floats(1.05, 4))
def test_prediction_is_monotone(fields: dict, factor: float) -> None:
    """More d or m never predicts less recall, more V or L never more; N apart, see above.

    Half a percent is allowed for the seams between approximations.
    """
    sizes = dict(fields)
    sizes["dim"] = min(sizes["dim"], sizes["vocab"] - 1)
    sizes["length"] = min(sizes["length"], sizes["vocab"] // 2)
    sizes["samples"] = round(sizes["vocab"] * sizes["samples"])

    def recall(**changes: float) -> tuple[float, float]:
        found = analyse(problem_arrays(**(sizes | changes)))
        return float(found.accuracies.recall_accuracy[0]), float(
            found.accuracies.attention_accuracy[0]
        )

    now, attention = recall()
    for name in ("dim", "width", "vocab", "length", "samples"):
        if sizes[name] is None:
            continue
        more, more_attention = recall(**{name: math.ceil(sizes[name] * factor)})
        if name == "samples":
            # Attention gains from every sample; reading may lose to even exposure, a little.
            assert more_attention >= attention - 0.01
            assert more >= now - 0.03
        elif name in ("dim", "width"):
            assert more >= now - 0.005, name
        else:
            assert more <= now + 0.005, name


EXTREME = [
    {"vocab": 10**9, "samples": 10**13, "dim": 16384, "length": 10**6},
    {"vocab": 2, "samples": 1, "dim": 1, "length": 1},
    {"vocab": 2, "samples": 1, "dim": 3, "length": 2},
    {"vocab": 1000, "samples": math.inf, "dim": 20, "length": 2},
    {"vocab": 2**53, "samples": 2**53, "dim": 2**53, "length": 2**53},
    {"vocab": 2**40, "samples": 1, "dim": 1, "length": 1},
]
EXTREME_OPTIONS = {
    "embedding": ["sphere", "gaussian", "rademacher", "orthogonal"],
    "width": [None, 1, 40_000],
    "activation": ["relu", "gelu", "tanh", "quadratic", "identity"],
    "trigger_in_values": [False, True],
}


def test_extreme_sizes_are_finite() -> None:
    problems = []
    for size, *values in itertools.product(EXTREME, *EXTREME_OPTIONS.values()):
        options = dict(zip(EXTREME_OPTIONS, values, strict=True))
        if options["width"] is None:
            del options["activation"]
        if options["embedding"] == "orthogonal" and size["dim"] <= size["vocab"]:
            vocab = min(size["vocab"], 2**52)
            options |= {"vocab": vocab, "dim": vocab + 1}
        problems.append(Problem(**(size | options)))
    found = predict(list(dict.fromkeys(problems)))
    assert len(found) == 6 * 4 * 2 * (1 + 2 * 5)
    assert found.reasons == {}
    for name in ACCURACIES:
        values = getattr(found, name)
        assert np.all((values >= 0) & (values <= 1)), name
    for problem in random.Random(0).sample(problems, 24):  # and all values of one prediction
        json.dumps(predict(problem).to_dict(), allow_nan=False)


def test_sensible_far_outside() -> None:
    far = {"vocab": 10**9, "samples": 10**13, "dim": 16384, "length": 10**6}
    found = predict(Problem(**far))
    assert found.attention_accuracy > 0.99
    assert found.dominant == ("recall", "interference")
    assert predict(Problem(**(far | {"vocab": 10**6}))).recall_accuracy > 0.99


@pytest.mark.alone
def test_predictions_are_fast() -> None:
    """A prediction costs about a thousand evaluations of Φ, timed in the same run: never two."""
    rng = np.random.default_rng(0)
    count = 20_000
    vocab = rng.integers(256, 4096, count)
    many = problem_arrays(
        vocab=vocab,
        samples=vocab * rng.integers(1, 100, count),
        dim=rng.integers(16, 256, count),
        length=rng.integers(2, 256, count),
        width=np.where(rng.random(count) < 0.5, np.inf, rng.integers(64, 4096, count)),
        activation=rng.choice(["relu", "gelu", "tanh", "quadratic"], count),
    )
    x = rng.standard_normal(10**6)

    def seconds(work) -> float:
        started = time.process_time()
        work()
        return time.process_time() - started

    # In turns, and the best of them: another test at the same time slows both down, or neither.
    turns = [(seconds(lambda: ndtr(x)), seconds(lambda: accuracies(many))) for _ in range(5)]
    one_phi, one_prediction = (min(each) for each in zip(*turns, strict=True))
    assert one_prediction / count < 2000 * one_phi / len(x)


def test_hermite_coefficients_give_the_kernel() -> None:
    """κ(ρ) by its series against draws of wide random features."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 400_000))
    for activation, value in hermite.VALUE.items():
        for overlap in (0.0, 0.3, 0.8):
            drawn = value(x) * value(overlap * x + math.sqrt(1 - overlap**2) * y)
            error = drawn.std() / math.sqrt(len(drawn))
            assert abs(hermite.kernel(activation, overlap, 60) - drawn.mean()) < 5 * error


def test_moments_of_overlaps_are_marchenko_and_pastur() -> None:
    rng = np.random.default_rng(2)
    tokens = rng.standard_normal((600, 200)) / math.sqrt(200)
    eigenvalues = np.linalg.eigvalsh(tokens.T @ tokens)
    found = [(eigenvalues**power).sum() / 600 for power in (2, 3, 4)]
    np.testing.assert_allclose(found, crowd(600, 200), rtol=0.03)


@pytest.mark.parametrize("dim", [16, 64, 512])
def test_quantiles_on_the_sphere(dim: int) -> None:
    rng = np.random.default_rng(3)
    points = rng.standard_normal((200_000, dim))
    coordinate = np.sqrt(dim) * points[:, 0] / np.linalg.norm(points, axis=1)
    normal = np.array([0.5, 1.5, 2.5])
    drawn = np.quantile(coordinate, ndtr(normal))
    np.testing.assert_allclose(on_sphere(normal, np.full(3, float(dim))), drawn, atol=0.03)


def test_prediction_as_json() -> None:
    problem = Problem(vocab=512, samples=8192, dim=64, length=16, width=256)
    document = predict(problem).to_dict()
    assert set(document) >= {"problem", "prediction", "noise", "dominant", "exponents"}
    assert tuple(document["noise"]) == STAGES
    for stage, terms in document["noise"].items():
        assert tuple(terms) == TERMS[stage]
        assert sum(term["share"] for term in terms.values()) == pytest.approx(1)
    assert set(document["exponents"]) == set(SIZES)


def test_the_bottleneck_is_what_costs_most() -> None:
    """Where interference and sampling compete: recall without the one, and without the other."""
    random = np.random.default_rng(1)
    vocab = np.exp(random.uniform(np.log(32), np.log(1e4), 2000)).round()
    samples = (vocab * np.exp(random.uniform(np.log(0.5), np.log(100), vocab.size))).round()
    dim = np.exp(random.uniform(np.log(16), np.log(2000), vocab.size)).round()
    s = problem_arrays(vocab=vocab, samples=samples, dim=dim, length=2)
    found = analyse(s)
    now, attention = found.accuracies.recall_accuracy, found.accuracies.attention_accuracy
    without = {
        "sampling": problem_arrays(vocab=vocab, samples=1e15, dim=dim, length=2),
        "interference": problem_arrays(vocab=vocab, samples=samples, dim=1e9, length=2),
    }
    gain = {name: analyse(each).accuracies.recall_accuracy - now for name, each in without.items()}
    hard = np.flatnonzero((now > 0.05) & (now < 0.97) & (attention > 0.99))
    named = dominant(s, found, budget(s, found))
    gained = np.array([gain[named[at][1]][at] for at in hard])
    best = np.maximum(gain["sampling"], gain["interference"])[hard]
    assert len(hard) > 500
    assert (gained == best).mean() > 0.94
    assert (best - gained).mean() < 0.003


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # deep in a regime the slopes at finite size come close to the law
        ({"vocab": 10**6, "samples": 10**9, "dim": 500, "length": 4}, ("recall", "interference")),
        (
            {"vocab": 10**6, "samples": 5 * 10**6, "dim": 10**4, "length": 10**5},
            ("attention", "mean_bias"),
        ),
        ({"vocab": 2000, "samples": 3000, "dim": 1900, "length": 2}, ("recall", "sampling")),
        (
            {"vocab": 10**5, "samples": 10**8, "dim": 2000, "length": 2, "width": 200}
            | {"activation": "tanh"},
            ("recall", "mlp_noise"),
        ),
    ],
)
def test_exponents_are_the_limits_of_slopes(fields: dict, expected: tuple[str, str]) -> None:
    found = predict(Problem(**fields))
    assert found.dominant == expected
    for name in SIZES:
        assert found.slopes[name] == pytest.approx(found.exponents[name], abs=0.2), name


@pytest.mark.parametrize("quantity", ["samples", "dim", "width", "vocab", "length"])
def test_the_next_size_misses_the_target(quantity: str) -> None:
    """The solved size reaches the target and the next one does not."""
    problem = Problem(vocab=512, samples=20000, dim=128, length=32, width=512, activation="tanh")
    found = solve(problem, quantity, target=0.7)
    assert found.status is Status.OK
    step = -1 if quantity in ("samples", "dim", "width") else 1
    beyond = found.problem.replace(**{quantity: found.value + step})
    assert predict(found.problem).recall_accuracy >= 0.7 > predict(beyond).recall_accuracy


def test_no_solution_says_why() -> None:
    found = solve(Problem(vocab=512, samples=1, dim=64, length=32), "samples", target=0.9)
    assert found.status is Status.NOT_REACHED
    assert found.value is None
    assert (
        "interference of the recall stage is the bottleneck; raise dim or lower vocab"
        in found.reason
    )
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_best_is_reported_where_more_is_less() -> None:
    """Recall peaks at N = 4620 here and falls to 0.134: the reason names the peak."""
    found = solve(Problem(vocab=2048, samples=1, dim=110, length=2), "samples", target=0.3)
    assert 2 * 2048 * 0.7 < found.problem.samples < 4 * 2048
    assert f"is at most {found.prediction.recall_accuracy:.3g}" in found.reason
    one = Problem(vocab=512, samples=600, dim=1, length=32)
    reason = solve(one, "dim", 0.9, "first_gradient_accuracy").reason
    assert "first-gradient stage" in reason
    assert "raise dim" not in reason


def test_very_few_dimensions_recall_nothing() -> None:
    for dim in (1, 2, 3):
        assert predict(Problem(vocab=1000, samples=10**5, dim=dim, length=4)).recall_accuracy < 0.01
    assert solve(Problem(vocab=1000, samples=10**5, dim=1, length=4), "dim", 0.2).value > 50


@pytest.mark.parametrize(
    ("vocab", "samples"), [(1000, 16483), (100_000, 3 * 10**6), (256, 600), (50, 5000)]
)
def test_orthogonal_counts_are_summed_exactly(vocab: int, samples: int) -> None:
    """Equation (39) with the trigger in the values, by brute force: 2n against the highest n."""
    rate = samples / vocab
    count = np.arange(int(rate + 12 * math.sqrt(rate) + 20))
    below, upto = poisson.cdf(2 * count - 1, rate), poisson.cdf(2 * count, rate)
    tied = np.maximum(upto - below, 1e-300)
    shared = (upto**vocab - below**vocab) / (vocab * tied)
    wins = np.where(tied > 1e-12, shared, below ** (vocab - 1))
    exact = float(poisson.pmf(count, rate) @ wins)
    problem = Problem(
        **{"vocab": vocab, "samples": samples, "dim": vocab + 1, "length": 4},
        embedding="orthogonal",
        trigger_in_values=True,
    )
    assert predict(problem).recall_accuracy == pytest.approx(exact, abs=2e-3)


def test_solving_for_attention() -> None:
    problem = Problem(vocab=1000, samples=1, dim=64, length=200)
    samples = solve(problem, "samples", 0.9, "attention_accuracy").value
    assert predict(problem.replace(samples=samples)).attention_accuracy == pytest.approx(
        0.9, abs=0.01
    )


def test_solving_a_law_whose_best_size_is_between_those_looked_at_first() -> None:
    def answer(samples: float) -> Answer:
        recall = 0.1 if samples < 32 else 0.9 if samples < 40 else 0.6
        return Answer(accuracies={"recall_accuracy": recall})

    law = made(
        Law,
        applies=lambda problem: None,
        predict=lambda problems, given: [answer(each.samples) for each in problems],
        kind="derived",
        seconds=lambda problem: 1.0,
        step=40.0,
        name="peaked",
    )
    problem = Problem(vocab=512, samples=1, dim=64, length=32)
    assert solve(problem, "samples", 0.5, law=law).value == 32


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda p: solve(p, "depth"),
            "an axis is one of vocab, samples, dim, length, width, facts, not 'depth'",
        ),
        (lambda p: solve(p, "width"), "attention alone has no width"),
        (lambda p: solve(p, "dim", 1.5), "between 0 and 1, not 1.5"),
        (lambda p: solve(p, "dim", 0.5, "speed"), "accuracy must be one of"),
        (lambda p: solve(p.replace(regime="literal", eta=1.0, gamma=1.0), "dim"), "limit regime"),
        (lambda p: solve(p.replace(embedding="arrays:0123456789abcdef"), "dim"), "no closed form"),
        (lambda p: phase_map(p, ("dim", [8]), ("dim", [8])), "two different sizes"),
        (lambda p: phase_map(p, ("dim", [8]), ("depth", [8])), "not 'depth'"),
        (lambda p: phase_map(p, ("dim", [8]), ("width", [8])), "attention alone has no width"),
        (lambda p: phase_map(p, ("dim", [0]), ("vocab", [8])), "dim must be from 1"),
        (lambda p: phase_map(p, ("dim", [8]), ("vocab", ["many"])), "vocab must be numbers"),
    ],
)
def test_bad_questions(call, sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        call(Problem(vocab=64, samples=512, dim=16, length=4))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"regime": "literal", "eta": 1.0, "gamma": 1.0}, "no closed form: they hold in the limit"),
        ({"embedding": "arrays:0123456789abcdef"}, "no closed form for your arrays"),
    ],
)
def test_a_problem_without_a_closed_form_has_a_reason(change, reason: str) -> None:
    found = predict(Problem(vocab=64, samples=512, dim=16, length=4).replace(**change))
    assert found.reason.startswith(reason)
    assert found.recall_accuracy is None
    assert found.to_dict()["prediction"] is None


_ONE = {"vocab": 64, "samples": 128, "dim": 16, "length": 4}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"samples": math.inf, "embedding": "gaussian"},
        {"samples": 20},
        {"embedding": "orthogonal", "dim": 80},
        {"width": 32, "activation": "relu", "trigger_in_values": True},
        {"embedding": "structured", "common_mean": 0.5},
        {"embedding": "structured", "width": 32},
        {"embedding": "structured", "learner": "sgd"},
        {"embedding": "structured", "learner": "adam"},
        {"embedding": "arrays:0123456789abcdef"},
        {"learner": "adam"},
        {"learner": "adam", "dim": 4},
        {"learner": "converged", "width": 32, "activation": "relu"},
        {"learner": "converged", "task": "memory", "length": 1},
        {"learner": "sgd"},
        {"regime": "literal", "eta": 1.0, "gamma": 1.0},
    ],
    ids=str,
)
def test_a_list_is_predicted_as_each_of_its_problems(change) -> None:
    problem = Problem(**_ONE).replace(**change)
    alone = predict(problem)
    (row,) = predict([problem]).rows()
    for name in Accuracies._fields:
        assert row[name] == getattr(alone, name, None), name
    assert row.get("reason") == alone.reason
    assert (alone.reason is None) == (alone.recall_accuracy is not None)


def test_sizes_beyond_floating_point_are_said_to_be_so_in_lists_too(monkeypatch) -> None:
    """No sizes are known to overflow, so one of two problems is forced to."""

    def overflowing(s):
        return Accuracies(*(np.where(s.vocab > 100, np.inf, 0.5) for _ in Accuracies._fields))

    monkeypatch.setattr(predictions, "accuracies", overflowing)
    monkeypatch.setattr(three_step, "analyse", lambda s: SimpleNamespace(accuracies=overflowing(s)))
    listed = predict([Problem(**_ONE).replace(vocab=vocab) for vocab in (64, 256)])
    by_size = predict(**_ONE | {"vocab": [64, 256]})
    for found in (listed, by_size):
        assert found.recall_accuracy[0] == 0.5
        assert math.isnan(found.recall_accuracy[1])
        assert list(found.reasons) == [1]
        assert "floating-point" in found.reasons[1]


def test_bad_sizes_are_named() -> None:
    with pytest.raises(ProblemError, match="dim must be from 1 to 2\\^53, not 0"):
        problem_arrays(vocab=10, samples=10, dim=[4, 0], length=2)
    with pytest.raises(ProblemError, match="activation must be one of"):
        problem_arrays(vocab=10, samples=10, dim=4, length=2, width=8, activation="sine")
    with pytest.raises(ProblemError, match="embedding must be one of"):
        problem_arrays(vocab=10, samples=10, dim=4, length=2, embedding="cubes")
    with pytest.raises(ProblemError, match="dim >= vocab \\+ 1"):
        problem_arrays(vocab=10, samples=10, dim=4, length=2, embedding="orthogonal")


def test_phase_map_of_width_and_dim(tmp_path: Path) -> None:
    """The plane of m and d: noises named after the paper's regimes take turns."""
    problem = Problem(vocab=4096, samples=80_000, dim=1, length=16, width=1, activation="relu")
    plane = phase_map(
        problem, x=("dim", np.geomspace(16, 2048, 15)), y=("width", np.geomspace(16, 65536, 15))
    )
    seen = {(row["stage"], row["term"]) for row in plane.rows()}
    assert {("recall", "mean_bias"), ("recall", "mlp_noise")} <= seen
    assert plane.accuracy.shape == (15, 15)
    assert plane.accuracy[-1, -1] > plane.accuracy[0, 0]
    save(phase_map_figure(plane.figure_data()), tmp_path / "phase.pdf")
    assert (tmp_path / "phase.pdf").stat().st_size > 5_000


def test_a_phase_map_says_by_which_law_it_is() -> None:
    axes = ("dim", [16, 32]), ("samples", [128, 512])
    plane = phase_map(Problem(vocab=64, samples=1, dim=1, length=4, learner="adam"), *axes)
    assert repr(plane).startswith("the fitted law trained over 2 × 2 values of dim and samples")
    caption = " ".join(phase_map_figure(plane.figure_data()).get_suptitle().split())
    assert caption == (
        "Lines: predicted recall accuracy. After training: the memory is derived, attention is "
        "partly fitted."
    )
    assert type(plane).from_dict(plane.to_dict()).to_dict() == plane.to_dict()
    derived = phase_map(Problem(vocab=64, samples=1, dim=1, length=4), *axes)
    assert "Closed forms, nothing fitted. Colours: the " in " ".join(
        phase_map_figure(derived.figure_data()).get_suptitle().split()
    )


def test_a_phase_map_names_its_stages_only_if_it_has_several() -> None:
    noises = ("interference", "mlp_noise")
    plane = {
        "x": {"name": "dim", "values": [16, 32]},
        "y": {"name": "samples", "values": [64, 128]},
        "accuracy": "recall_accuracy",
        "cells": [
            {"stage": "recall", "term": term, "predicted": at / 4}
            for at, term in enumerate(noises * 2)
        ],
    }

    def shown() -> tuple[set[str], set[str], str]:
        figure = phase_map_figure(plane)
        patches = figure.legends[0].get_patches()
        hatches = {patch.get_hatch() for patch in patches}
        return {str(patch.get_label()) for patch in patches}, hatches, figure.get_suptitle()

    assert shown() == (
        {"interference", "MLP noise"},
        {""},
        "Lines: predicted recall accuracy. Colours: the dominant noise of recall.",
    )
    plane["cells"][0]["stage"] = "attention"  # type: ignore[index]
    labels, hatches, caption = shown()
    assert labels == {"attention: interference", "recall: interference", "recall: MLP noise"}
    assert hatches == {"", "////"}
    assert caption.endswith("Colours: the bottleneck; hatching: its stage.")


def test_every_region_of_a_phase_map_looks_different() -> None:
    kinds = [(stage, term) for stage in STAGES for term in TERMS[stage]]
    cells = [{"stage": s, "term": t, "predicted": 0.0} for s, t in kinds for _ in range(2)]
    sizes = [2.0**power for power in range(len(kinds))]
    plane = {
        "x": {"name": "dim", "values": [16, 32]},
        "y": {"name": "samples", "values": sizes},
        "accuracy": "recall_accuracy",
        "cells": [cell | {"predicted": at / 30} for at, cell in enumerate(cells)],
    }
    patches = phase_map_figure(plane).legends[0].get_patches()
    looks = {(patch.get_facecolor(), patch.get_hatch()) for patch in patches}
    assert len(looks) == len(patches) == len(kinds) == 15


@pytest.mark.parametrize("quantity", ["samples", "dim", "vocab", "length"])
def test_several_halvings_at_once_find_what_single_ones_find(quantity, monkeypatch) -> None:
    problem = Problem(vocab=512, samples=20000, dim=96, length=64)
    together = solve(problem, quantity).value
    monkeypatch.setattr(required_size, "_HALVINGS", 1)
    assert together == solve(problem, quantity).value
