"""The scope of a predicted number: its model, its tested range and its recorded error."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from recallscope import Problem, predict, solve
from recallscope.theory.choosing import choose, extrapolated, say_extrapolated
from recallscope.theory.required_size import no_solution
from recallscope.theory.scope import exposures, scope
from recallscope.theory.simulations import recorded_error
from reproduction.recorded_names import with_todays_names

ROOT = Path(__file__).parents[2]
USUAL = {"vocab": 512, "samples": 8192, "dim": 64, "length": 32}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vocab": 128}, "vocab 128 < 256"),
        ({"vocab": 20000}, "vocab 20000 > 16384"),
        ({"dim": 8}, "dim 8 < 16"),
        ({"dim": 1536, "vocab": 2048}, "dim 1536 > 1024"),
        ({"dim": 512}, "dim 512 >= vocab 512"),
        ({"length": 1}, "length 1 < 2"),
        ({"length": 2048}, "length 2048 > 1024"),
        ({"samples": 10**6}, "samples per fact 1953.12 > 400"),
        ({"samples": "inf"}, "samples per fact inf > 400"),
        ({"width": 32}, "width 32 < 64"),
        ({"width": 32768}, "width 32768 > 16384"),
        ({"width": 512, "activation": "identity"}, "activation identity"),
        ({"embedding": "rademacher"}, "embedding rademacher"),
    ],
)
def test_both_ends_of_the_tested_range_are_known(change: dict[str, object], said: str) -> None:
    problem = Problem(**(USUAL | change))
    assert extrapolated(problem) == [said]
    assert not predict(problem).in_tested_range
    assert predict(problem).to_dict()["extrapolated"] == [said]


def test_few_samples_are_inside_the_tested_range() -> None:
    assert extrapolated(Problem(**(USUAL | {"samples": 1}))) == []
    assert say_extrapolated([Problem(**USUAL)]) is None


def test_errors_are_those_of_the_studies() -> None:
    """The table in the package is that of the studies."""
    table = ROOT / "src" / "recallscope" / "theory" / "simulated.csv"
    with table.open() as file:
        known = list(csv.DictReader(file))
    found = []
    for name in ("design", "holdout", "few", "wide"):
        with (ROOT / "reproduction" / "studies" / "random_problems" / f"{name}.csv").open() as file:
            rows = with_todays_names(csv.DictReader(file))
        found += [{each: row[each] for each in known[0]} for row in rows]
    assert known == found
    near = recorded_error(Problem(**USUAL))
    assert near.problems == 40
    assert 0 < near.mean < 0.02


def test_a_solution_has_a_range_by_the_recorded_error() -> None:
    found = solve(Problem(**(USUAL | {"dim": 96, "length": 16})), "samples", 0.5)
    low, high = found.range
    assert low is not None
    assert high is not None
    assert low < found.value < high
    fewer = solve(Problem(**(USUAL | {"samples": 10**5})), "vocab", 0.5)
    assert fewer.range[0] < fewer.value < fewer.range[1]
    assert json.loads(json.dumps(fewer.to_dict()))["range"] == list(fewer.range)


def test_scope_names_the_model() -> None:
    assert "One attention layer, frozen embeddings, three gradient steps" in scope(Problem(**USUAL))
    assert "MLP of width 128" in scope(Problem(**(USUAL | {"width": 128})))
    assert exposures(Problem(**(USUAL | {"samples": "inf"}))) == "512 facts, each seen without end"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"learner": "adam", "steps": 60}, "no law of training at steps 60"),
        (
            {"learner": "adam", "embedding": "structured"},
            "no law of training at embedding structured",
        ),
        ({"embedding": "structured", "width": 16}, "leave width out"),
        ({"learner": "sgd"}, "no closed form for the learner sgd"),
    ],
)
def test_a_refusal_is_that_of_the_law_of_the_same_learner(changes, reason):
    problem = Problem(vocab=48, samples=100, dim=32, length=8, **changes)
    choice = choose(problem)
    assert choice.reason.endswith(reason)
    assert choose(choice.nearest).name is not None
    same = choice.nearest.learner == problem.learner
    assert same == (problem.learner != "sgd")


def test_a_refusal_does_not_blame_the_size_that_is_sought():
    problem = Problem(vocab=48, samples=2, dim=32, length=8, learner="adam", steps=60)
    reason = no_solution(problem, "samples", "recall_accuracy")
    assert reason == "no law of training at steps 60"


SIZES = {"vocab": 64, "samples": 512, "dim": 32, "length": 8}
THREE, ADAM, CONVERGED = {}, {"learner": "adam"}, {"learner": "converged"}
MEMORY = {"learner": "adam", "task": "memory", "length": 1, "dim": 40, "steps": 100}


@pytest.mark.parametrize(
    ("setting", "change", "reason"),
    [
        (ADAM, {"frequencies": "zipf"}, "no law of training at frequencies zipf"),
        (MEMORY, {"frequencies": "zipf"}, "no law of training at frequencies zipf"),
        (
            MEMORY,
            {"frequencies": "zipf", "zipf_exponent": 0.5},
            "no law of training at frequencies zipf; zipf_exponent 0.5",
        ),
        (
            ADAM,
            {"frequencies": "table", "frequency_table": str([*range(1, 65)])},
            "no law of training at frequencies table; frequency_table json:",
        ),
        (ADAM, {"facts": 40}, "no law of training at facts 40"),
        (CONVERGED, {"facts": 40}, "no law of training at facts 40"),
        (MEMORY, {"facts": 40}, "no law of training at facts 40"),
        (
            THREE,
            {"distractor_frequencies": "uniform"},
            "no closed form for the distractor frequencies uniform",
        ),
        (CONVERGED, {"distractor_frequencies": "uniform"}, "no law of training at distractor_freq"),
        (THREE, {"trigger": "vector"}, "no closed form for the trigger vector"),
        (ADAM, {"trigger": "vector"}, "no law of training at trigger vector"),
        (ADAM, {"warmup": 0.1}, "no law of training at warmup 0.1"),
        (MEMORY, {"warmup": 0.1}, "no law of training at warmup 0.1"),
        (ADAM, {"clip": 1.0}, "no law of training at clip 1.0"),
        (MEMORY, {"clip": 1.0}, "no law of training at clip 1.0"),
        (ADAM, {"threads": 2}, "no law of training at threads 2"),
        (MEMORY, {"threads": 2}, "no law of training at threads 2"),
    ],
)
def test_no_law_answers_for_a_field_that_it_was_not_derived_for(setting, change, reason):
    plain = Problem(**SIZES | setting)
    assert predict(plain).law is not None
    found = predict(plain.replace(**change))
    assert (found.law, found.accuracies) == (None, {})
    assert found.reason.startswith(reason)
