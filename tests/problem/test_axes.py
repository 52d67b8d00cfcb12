"""Any numeric field is an axis, and laws of plugins are used like built-in ones."""

from __future__ import annotations

import json

import pytest

from recallscope import Problem, ProblemError, phase_map, predict, solve
from recallscope.measure.boundary import boundary
from recallscope.problem.axes import axes_of, parse_axis
from recallscope.statistics.intervals import Interval

LEANING = ("--vocab", "64", "--samples", "256", "--length", "2", "--embedding", "leaning")
PROBLEM = Problem(vocab=64, samples=256, dim=16, length=2, embedding="leaning", lean=0.5)


def test_predict_and_solve_by_a_law_of_a_plugin(command):
    done = command("predict", *LEANING, "--dim", "16", "--field", "lean=0.5", "--json")
    found = json.loads(done.stdout)
    assert (found["law"], found["kind"], found["status"]) == ("lean", "fitted", "tested")
    assert found["prediction"]["recall_accuracy"] == pytest.approx(2 / 3)
    done = command("solve", *LEANING, "--dim", "16", "--for", "lean", "--target", "0.5", "--json")
    assert json.loads(done.stdout)["value"] == pytest.approx(1.0, rel=2e-3)
    done = command("solve", *LEANING, "--for", "dim", "--target", "0.9", "--json")
    assert json.loads(done.stdout)["value"] == 16  # the smallest d with d² ≥ 0.9 · 4 · 64


def test_a_critical_size_along_a_field_of_a_plugin_by_its_metric(command):
    search = ("--for", "lean", "--budget", "12", "--target", "0.5", "--seed", "1")
    done = command("critical", *LEANING, "--dim", "16", *search, "--json")
    found = json.loads(done.stdout)
    assert done.returncode in (0, 1), done.stderr
    assert found["theory"] == pytest.approx(1.0, rel=2e-3)
    assert all(0 <= point["size"] <= 4 for point in found["curve"])
    metric = ("--metric", "confidence", "--accuracy", "confidence")
    done = command("critical", *LEANING, "--dim", "16", *search, *metric, "--json")
    found = json.loads(done.stdout)
    assert found["without_theory"] == "no closed form for confidence"
    assert found["accuracy"] == "confidence"


def test_a_phase_diagram_over_a_field_of_a_plugin(command, tmp_path):
    axes = ("--x", "dim=8,16", "--y", "lean=0:2:3", "--seeds", "1")
    done = command("phase", *LEANING, *axes, "--json", "--figure", str(tmp_path / "lean.png"))
    found = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [cell["y"] for cell in found["cells"]] == [0, 0, 1, 1, 2, 2]
    assert found["cells"][1]["predicted"] == pytest.approx(1.0)
    assert (tmp_path / "lean.png").stat().st_size > 1000
    plane = phase_map(PROBLEM, ("dim", [8, 16]), ("lean", [0.0, 1.0]))
    assert plane.accuracy.tolist() == [[0.25, 1.0], [0.125, 0.5]]
    seen = []
    plane = phase_map(
        PROBLEM, ("dim", [8, 16]), ("lean", [0.5, 1.5]), progress=lambda *far: seen.append(far)
    )
    assert seen == [(4, 8), (8, 8)]  # this law names no noises, which takes no time
    assert [problem.lean for problem in plane.corners] == [0.5, 0.5, 1.5, 1.5]
    assert type(plane).from_dict(plane.to_dict()).to_dict() == plane.to_dict()


def test_a_boundary_along_a_field_that_may_be_zero():
    column = [(0.0, Interval(0.9, 0.88, 0.92)), (1.0, Interval(0.1, 0.08, 0.12))]
    found = boundary(column, grows=False, target=0.5, failed=False)
    assert found.value == pytest.approx(0.5)


def test_our_fields_are_axes_too(command):
    sizes = ("--vocab", "16", "--samples", "64", "--dim", "8", "--length", "2")
    line = ("critical", *sizes, "--learner", "adam", "--for", "steps", "--budget", "8", "--json")
    found = json.loads(command(*line).stdout)
    assert found["quantity"] == "steps"
    assert len(found["curve"]) >= 2
    axes = ("--x", "learning_rate=0.01:0.1:2", "--y", "dim=8,16", "--seeds", "1", "--steps", "20")
    done = command("phase", *sizes, "--learner", "adam", *axes, "--json")
    assert done.returncode == 0, done.stderr
    assert [cell["x"] for cell in json.loads(done.stdout)["cells"]] == [0.01, 0.1, 0.01, 0.1]


def test_a_field_that_is_not_monotone_is_not_searched(command):
    sizes = ("--vocab", "16", "--samples", "64", "--dim", "8", "--length", "2")
    done = command("critical", *sizes, "--learner", "adam", "--for", "learning_rate")
    assert done.returncode == 2
    assert "recall neither rises nor falls with learning_rate alone" in done.stderr
    with pytest.raises(ProblemError, match=r"an axis is one of vocab.*did you mean lean"):
        solve(PROBLEM, "leen")


def test_a_field_has_its_own_scale():
    fields = axes_of(PROBLEM.parts())
    assert parse_axis("lean=0:2:3", fields).values == (0.0, 1.0, 2.0)
    assert parse_axis("dim=4:64:3", fields).values == (4, 16, 64)


def test_one_problem_and_a_list_of_it_have_the_same_answer():
    for problem in (PROBLEM, PROBLEM.replace(lean=3.0)):
        one, many = predict(problem), predict([problem])
        assert many.recall_accuracy[0] == one.recall_accuracy
        assert many.columns["law"] == [one.law]
        assert many.columns["status"] == [str(one.status)]
    assert predict(PROBLEM.replace(lean=3.0)).extrapolated == ["lean 3 > 2"]


def test_a_field_below_one_is_found():
    assert solve(PROBLEM.replace(dim=12), "lean", 0.5).value == pytest.approx(0.125, rel=1e-3)
    drawn = Problem(vocab=32, samples=512, dim=24, length=4, embedding="structured")
    found = solve(drawn, "common_mean", 0.5)
    assert 0.6 < found.value < 0.7
    assert predict(drawn.replace(common_mean=found.value)).recall_accuracy >= 0.5
