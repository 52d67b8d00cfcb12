"""Facts of unequal frequency: how they are drawn, learnt in each engine, and measured."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from recallscope import Embeddings, Problem, ProblemError, predict, run
from recallscope.experiment.metrics.half_recall_frequency import half_at
from recallscope.model.setup import Setup
from recallscope.problem.facts import facts_of
from recallscope.problem.frequencies import frequencies_of, frequency_classes, zipf
from recallscope.task.examples import examples_of
from recallscope.task.kind import samples_of
from recallscope.theory.laws.unequal_three_step import unequal_steps

SIZES = {"vocab": 64, "samples": 2048, "dim": 16, "length": 4}


@pytest.mark.parametrize("task", ["recall", "memory", "pairs", "relations", "biographies"])
def test_facts_are_drawn_as_often_as_their_frequencies_say(task) -> None:
    length = {"memory": 1, "pairs": 8}.get(task, 4)
    learner = {"recall": "three-step", "memory": "adam"}.get(task, "adam")
    model = {"recall": "transformer", "memory": "transformer"}.get(task, "gpt")
    problem = Problem(
        **SIZES | {"length": length, "task": task, "learner": learner, "model": model},
        frequencies="zipf",
        zipf_exponent=1.2,
    )
    facts = facts_of(problem)
    expected = 40_000 * zipf(facts, 1.2)
    source = samples_of(problem, seed=1)
    for split in ("train", "test"):
        drawn = examples_of(source, 0, 40_000, split)
        counts = np.bincount(drawn.fact, minlength=facts)
        often = expected > 20
        assert (np.abs(counts - expected) / np.sqrt(expected))[often].max() < 5
        assert (drawn.frequency_class == frequency_classes(expected)[drawn.fact]).all()
    again = examples_of(pickle.loads(pickle.dumps(source)), 1000, 1100)
    whole = examples_of(source, 0, 2000)
    assert (again.input_ids == whole.input_ids[1000:1100]).all()
    assert (examples_of(source, 0, facts, "each").fact == np.arange(facts)).all()


def test_other_tokens_are_as_frequent_as_facts_or_uniform() -> None:
    problem = Problem(**SIZES, frequencies="zipf", zipf_exponent=2.0)
    for kind, first in (("same", zipf(64, 2.0)[0]), ("uniform", 1 / 64)):
        chosen = problem.replace(distractor_frequencies=kind)
        tokens, position, _ = samples_of(chosen, 0).draw(0, 20_000)
        others = np.arange(4)[None] != position[:, None]
        assert (tokens[others] == 0).mean() == pytest.approx(first, abs=0.02)
        assert (tokens[~others] == 0).mean() == pytest.approx(zipf(64, 2.0)[0], abs=0.02)


def test_a_table_is_an_array_a_list_json_or_csv(tmp_path) -> None:
    counts = [8.0, 4.0, 2.0, 2.0]
    (tmp_path / "a.json").write_text(json.dumps(counts))
    (tmp_path / "a.csv").write_text("name,count\n" + "".join(f"x,{each}\n" for each in counts))
    sizes = SIZES | {"vocab": 4}
    given = (counts, np.array(counts), tmp_path / "a.json", str(tmp_path / "a.csv"))
    problems = [
        Problem(**sizes, frequencies="table", frequency_table=each)  # type: ignore[arg-type]
        for each in given
    ]
    assert len({problem.key for problem in problems}) == 1
    assert frequencies_of(problems[0], 4) == pytest.approx([0.5, 0.25, 0.125, 0.125])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"frequencies": "table"}, "give frequencies=table and a frequency_table together"),
        ({"frequency_table": [1.0] * 64}, "give frequencies=table and a frequency_table together"),
        ({"zipf_exponent": 2.0}, "zipf_exponent is of frequencies=zipf"),
        ({"frequencies": "table", "frequency_table": [1, 2]}, "has 2 counts for 64 facts"),
        ({"frequencies": "table", "frequency_table": [1, 0]}, "a list of positive numbers"),
        ({"frequencies": "table", "frequency_table": {"a": 1}}, "a list of positive numbers"),
        ({"frequencies": "zipf", "vocab": 10**8}, "at most 10,000,000, not 100,000,000"),
        ({"frequencies": "zipf", "width": 32, "samples": float("inf")}, "samples=inf and an MLP"),
    ],
)
def test_mistakes_are_reported(fields, said) -> None:
    with pytest.raises(ProblemError, match=said):
        Problem(**SIZES | fields)


@pytest.mark.parametrize("distractors", ["same", "uniform"])
@pytest.mark.parametrize("in_values", [False, True])
def test_the_population_is_the_limit_of_many_samples(distractors, in_values) -> None:
    """Each of the three steps: the signal, the noise and the cosines do not depend on tests."""
    problem = Problem(
        **SIZES | {"samples": float("inf")},
        frequencies="zipf",
        distractor_frequencies=distractors,
        trigger_in_values=in_values,
    )
    names = ("score_signal", "score_noise", "trigger_cosine")
    names += ("first_value_cosine", "second_value_cosine")
    exact, drawn = (run(each, seed=3) for each in (problem, problem.replace(samples=2**21)))
    for name in names:
        assert getattr(drawn, name) == pytest.approx(getattr(exact, name), rel=0.02, abs=2e-3)


def test_an_exponent_of_zero_is_uniform_in_the_population() -> None:
    problem = Problem(**SIZES | {"samples": float("inf")})
    flat = problem.replace(frequencies="zipf", zipf_exponent=0.0)
    found, expected = run(flat, seed=2), run(problem, seed=2)
    assert found.score_signal == pytest.approx(expected.score_signal, rel=1e-4)
    assert found.second_value_cosine == pytest.approx(expected.second_value_cosine, rel=1e-4)


def test_the_minimum_has_weights_in_the_population() -> None:
    """Samples drawn many times over have the minimum of the population."""
    problem = Problem(
        vocab=64, samples=float("inf"), dim=12, length=1, task="memory", learner="converged"
    )
    problem = problem.replace(frequencies="zipf", metrics=("recall-by-frequency",))
    exact, drawn = run(problem, seed=0), run(problem.replace(samples=2**20), seed=0)
    assert exact.metrics["final_loss"] == pytest.approx(drawn.metrics["final_loss"], rel=0.01)
    frequent, rare = exact.array("recall-by-frequency")[[0, -1]]
    assert frequent == 1.0
    assert rare < 0.2


def test_metrics_by_frequency() -> None:
    asked = ("recall-by-frequency", "recall-per-fact", "half-recall-frequency", "facts-never-seen")
    problem = Problem(**SIZES | {"samples": 256}, frequencies="zipf", metrics=asked)
    found = run(problem, seed=0, test_samples=640)
    by_class, sizes = found.array("recall-by-frequency"), np.array([1, 2, 4, 8, 16, 32, 1])
    assert by_class.shape == sizes.shape
    seen = np.unique(Setup(problem=problem, seed=0).examples(0, 256).fact)
    assert found.metrics["facts-never-seen"] == pytest.approx(1 - len(seen) / 64)
    assert by_class @ sizes / 64 == pytest.approx(found.metrics["recall-per-fact"], abs=0.1)
    half = found.metrics["half-recall-frequency"]
    assert zipf(64, 1.0)[-1] < half < 1
    assert half_at(np.array([1.0, 0.9]), np.array([0.5, 0.1])) == 0.0
    assert half_at(np.array([0.1, 0.0]), np.array([0.5, 0.1])) == 1.0
    alike = Problem(**SIZES, metrics=("recall-by-frequency", "half-recall-frequency"))
    assert run(alike, seed=0).array("recall-by-frequency").shape == (1,)


def test_three_steps_on_unequal_facts_are_predicted() -> None:
    """As the simulation has them, with frequent distractors, and for each class of facts."""
    sizes = {"vocab": 256, "samples": 2048, "dim": 48, "length": 8}
    for fields in (
        {"zipf_exponent": 1.0},
        {"zipf_exponent": 1.5, "distractor_frequencies": "uniform"},
    ):
        problem = Problem(**sizes, frequencies="zipf", metrics=("recall-by-frequency",), **fields)
        expected = predict(problem)
        found = [run(problem, seed=seed, test_samples=8192) for seed in range(16)]
        for name in ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy"):
            measured = [getattr(each, name) for each in found]
            error = np.hypot(np.std(measured, ddof=1) / 4, expected.errors[name])
            assert abs(getattr(expected, name) - np.mean(measured)) < 3.5 * error + 0.002
        probability = frequencies_of(problem, 256)
        steps = np.mean([each.recall for each in unequal_steps(problem)], axis=0)
        classes = frequency_classes(probability)
        by_class = np.bincount(classes, steps) / np.bincount(classes)
        measured = np.mean([each.array("recall-by-frequency") for each in found], axis=0)
        assert np.abs(by_class - measured)[3:].max() < 0.05


def test_the_law_of_unequal_facts_is_the_closed_form_at_exponent_zero() -> None:
    sizes = {"vocab": 256, "samples": 2048, "dim": 40, "length": 16}
    equal = predict(Problem(**sizes))
    found = predict(Problem(**sizes, frequencies="zipf", zipf_exponent=0.0))
    assert found.law == "unequal-three-step"
    assert found.recall_accuracy == pytest.approx(equal.recall_accuracy, abs=0.015)
    assert found.attention_accuracy == pytest.approx(equal.attention_accuracy, abs=0.01)


def test_unequal_facts_on_given_embeddings_are_predicted() -> None:
    random = np.random.default_rng(0)
    rows = [random.standard_normal((count, 32)) / 32**0.5 + 0.05 for count in (128, 128, 1, 1)]
    own = Embeddings(rows[0], rows[1], rows[2][0], rows[3][0])
    sizes = {"vocab": 128, "samples": 1024, "dim": 32, "length": 4}
    problem = Problem(**sizes, frequencies="zipf", embedding=own.name)
    expected = predict(problem, embeddings=own).recall_accuracy
    found = [run(problem, seed=seed, embeddings=own).recall_accuracy for seed in range(16)]
    assert abs(expected - np.mean(found)) < 3.5 * np.std(found) / 4 + 0.01
    wide = predict(Problem(**sizes, frequencies="zipf", width=64), law="unequal-three-step")
    assert "an MLP with facts of unequal frequency" in wide.reason
