"""Budgets: the best sizes are within them, none are better, and closed forms agree with runs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from recallscope import Instance, Problem, ProblemError, Transformer, predict, solve
from recallscope.theory.budgets import FREE, cost

PROBLEM = Problem(vocab=256, samples=2048, dim=1, length=8)
STUDY = Path(__file__).parents[2] / "reproduction" / "studies" / "budgets"
SIZES = ("--vocab", "256", "--samples", "2048", "--length", "8")


@pytest.mark.parametrize("width", [None, 48])
def test_parameters_are_those_of_the_model(width):
    problem = PROBLEM.replace(dim=24, width=width)
    model = Transformer(Instance.make(problem, seed=0))
    frozen = {name: each for name, each in model.named_buffers() if name != "trigger_value"}
    counted = sum(each.numel() for each in (*model.parameters(), *frozen.values()))
    assert cost("parameters", problem) == counted
    assert cost("compute", problem) == counted * cost("tokens", problem) == counted * 2048 * 8


@pytest.mark.parametrize(
    "within", ["parameters=9e3", "parameters=40k", "tokens=9999", "compute=3e8"]
)
def test_the_best_sizes_are_within_the_budget_and_one_more_is_not(within):
    found = solve(PROBLEM.replace(dim=64), within=within, progress=False)
    for each in found.predictions:
        assert cost(found.budget, each.problem) <= found.limit
        *_, last = (name for name in FREE[found.budget] if each.problem[name])
        more = each.problem.replace(**{last: each.problem[last] + 1})
        assert cost(found.budget, more) > found.limit
    values = [each.recall_accuracy for each in found.predictions]
    assert values == sorted(values, reverse=True)


def test_no_sizes_within_a_budget_are_better():
    limit = 6000
    problem = Problem(vocab=64, samples=1024, dim=1, length=4, width=1, activation="tanh")
    found = solve(problem, within=("parameters", limit), progress=False)
    for each in found.predictions:
        mlp = each.problem.width is not None
        many = [
            problem.replace(dim=dim, width=width)
            for dim in range(16, 60)
            for width in (range(1, 120) if mlp else [None])
        ]
        some = [other for other in many if cost("parameters", other) <= limit]
        assert len(some) > (500 if mlp else 10)
        best = predict(some).recall_accuracy.max()
        assert each.recall_accuracy == pytest.approx(best, abs=1e-9)


def test_compute_is_split_between_dimensions_and_samples():
    found = solve(PROBLEM, within="compute=2e8", progress=False)
    every = [found.problem.replace(dim=dim, samples=1) for dim in range(16, 400)]
    most = [found.limit // cost("compute", each) for each in every]
    within = [each.replace(samples=n) for each, n in zip(every, most, strict=True) if n]
    recall = predict(within).recall_accuracy
    assert len(within) == len(every)
    assert found.predictions[0].recall_accuracy == pytest.approx(recall.max(), abs=1e-9)
    assert 0 < recall.argmax() < len(every) - 1


def test_more_than_enough_is_not_spent():
    found = solve(PROBLEM, within="parameters=1e12", progress=False)
    assert found.predictions[0].recall_accuracy == pytest.approx(1, abs=1e-3)
    assert found.spent < 1e9


def test_the_problems_own_sizes_are_not_used():
    one, other = (
        solve(PROBLEM.replace(dim=dim), within="parameters=4e4", progress=False) for dim in (5, 99)
    )
    assert one.to_dict() == other.to_dict()
    assert one.problem.samples == 2048


@pytest.mark.parametrize(
    ("within", "sentence"),
    [
        ("parameters", "a budget is one of parameters, tokens, compute and a number"),
        ("parameters=many", "as in parameters=1e6, not 'parameters=many'"),
        ("memory=1e6", "a budget is one of parameters, tokens, compute"),
        (("parameters", float("inf")), "a budget is one of"),
        (1e6, "a budget is one of"),
        ("parameters=100", "100 parameters are too few: .* tested at need 8512"),
    ],
)
def test_an_impossible_budget_is_explained(within, sentence):
    with pytest.raises(ProblemError, match=sentence):
        solve(PROBLEM, within=within, progress=False)


def test_a_budget_is_instead_of_a_size_and_for_closed_forms():
    for asked in ({}, {"quantity": "dim", "within": "tokens=1e6"}):
        with pytest.raises(ProblemError, match="or within a budget"):
            solve(PROBLEM, **asked)
    with pytest.raises(ProblemError, match="closed forms; the law trained takes too long"):
        solve(PROBLEM.replace(learner="adam"), within="tokens=1e6")


def test_the_command_says_what_python_does(command, tmp_path):
    found = solve(PROBLEM, within="parameters=4e4", progress=False)
    drawn = tmp_path / "budget.pdf"
    done = command("solve", "--within", "parameters=40k", *SIZES, "--json", "--figure", str(drawn))
    assert done.returncode == 0
    assert json.loads(done.stdout) == json.loads(json.dumps(found.to_dict()))
    assert {*found.to_dict()} == {
        *("budget", "limit", "spent", "sizes", "accuracy", "predictions"),
    }
    assert drawn.read_bytes().startswith(b"%PDF")
    done = command("solve", "--within", "parameters=40k", *SIZES)
    assert f"{found.spent:,}" in done.stdout
    assert "2(V+1)d + 2d² for attention alone" in done.stdout
    done = command("solve", "--within", "parameters=1", *SIZES)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("within", ["parameters=4e4", "tokens=1e5"])
def test_a_figure_has_the_line_of_the_budget_and_the_best(within):
    found = solve(PROBLEM.replace(dim=64), within=within, progress=False)
    data = found.figure_data()
    x, y = data["x"]["name"], data["y"]["name"]
    base = next(each.problem for each in found.predictions if each.problem[y] is not None)
    met = [cost(found.budget, base.replace(**{x: at, y: top})) for at, top in data["line"] if top]
    assert len(met) > 10
    assert max(met) <= found.limit
    labels = [each.get_text() for each in found.plot().legends[0].get_texts()]
    assert data["budget"] in labels
    assert any(f"{found.predictions[0].recall_accuracy:.4f}" in label for label in labels)


def test_no_random_allocation_of_the_study_is_better():
    """As the study budgets reports: 95 % intervals, paired, for 20 comparisons of 8 seeds."""
    rows = list(csv.DictReader((STUDY / "budgets.csv").read_text().splitlines()))
    reach = 4.5946 / np.sqrt(8)  # Student's t at 1 - 0.05/40, 7 degrees of freedom
    numbers = sorted({row["number"] for row in rows}, key=int)
    assert len(numbers) == 14
    for number in numbers:
        recalls = np.array(
            [[*map(float, row["recalls"].split())] for row in rows if row["number"] == number]
        )
        lead = recalls[0] - recalls[1:]
        assert lead.shape == (20, 8)
        assert np.all(lead.mean(axis=1) + reach * lead.std(axis=1, ddof=1) >= 0)
        assert np.all(lead.mean(axis=1) >= 0)
