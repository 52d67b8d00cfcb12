"""Power laws: intervals cover planted exponents, curved laws are refused, a rival is tested."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lanes import slow_after_first

from recallscope import ProblemError
from recallscope.statistics.expected_law import expected_law
from recallscope.statistics.power_law import FitStatus, Points, collapse, fit_law, read_points


def planted(rng, count, scatter=0.0, censored=False):
    """Points of a random law of two sizes, and its exponents."""
    exponents = rng.normal(0, 1.5, 2)
    x = rng.uniform(3, 4.5, (count, 2))
    error = np.exp(rng.uniform(math.log(0.02), math.log(0.08), count))
    y = rng.normal(8, 1) + x @ exponents + rng.normal(0, np.hypot(error, scatter))
    bound = np.zeros(count)
    if censored:
        end = np.quantile(y, 0.75)
        bound = np.where(y > end, 1.0, 0.0)
        y = np.minimum(y, end)
    return Points(("dim", "length"), x, y, error, bound), exponents


@pytest.mark.slow
def test_intervals_cover_planted_exponents():
    """With and without scatter beyond the errors, with and without bounds among the points."""
    rng = np.random.default_rng(5)
    shares = []
    for scatter in (0.0, 0.05, 0.2):
        for censored in (False, True):
            covered = []
            for _ in range(50):
                points, truth = planted(rng, 13, scatter, censored)
                found = fit_law(points).exponents
                covered += [
                    found[name].low <= power <= found[name].high
                    for name, power in zip(points.names, truth, strict=True)
                ]
            shares.append(np.mean(covered))
    # 100 intervals of 95 % each: 88 or fewer would be seen once in 300 times.
    assert min(shares) > 0.88
    assert 0.92 <= np.mean(shares) <= 0.98


def test_bounds_constrain_the_law():
    """Targets that were not reached constrain the law."""
    x = np.log([[16], [32], [64], [128], [256]])
    y = np.log([500, 1000, 2000, 2000, 2000])  # the last two: more than 2000
    error = np.full(5, 0.05)
    points = Points(("length",), x, y, error, np.array([0, 0, 0, 1, 1]))
    law = fit_law(points)
    assert law.exponents["length"].value == pytest.approx(1, abs=0.05)
    assert (law.reached, law.bounds) == (3, 2)
    # Bounds that a rising law would break say that it does not rise.
    broken = fit_law(points._replace(bound=np.array([0, 0, 0, -1, -1])))
    assert broken.exponents["length"].value < 0.9


def test_a_curved_law_is_refused_and_a_straight_one_is_not():
    x = np.linspace(3, 6, 12)[:, None]
    error = np.full(12, 0.03)
    noise = 0.03 * np.array([1, -1, 0] * 4)
    straight = Points(("dim",), x, 9 - 2 * x[:, 0] + noise, error, np.zeros(12))
    law = fit_law(straight)
    assert law.status is FitStatus.OK
    assert law.p_value > 0.05
    curved = fit_law(straight._replace(y=straight.y + 0.2 * (x[:, 0] - 4.5) ** 2))
    assert curved.status is FitStatus.POOR_FIT
    assert curved.scatter > 0.1
    assert "narrow the ranges" in curved.status.advice


@pytest.mark.slow
def test_a_true_law_is_rarely_refused():
    rng = np.random.default_rng(4)
    refused = [fit_law(planted(rng, 13)[0]).status is FitStatus.POOR_FIT for _ in range(200)]
    assert np.mean(refused) <= 0.03


@pytest.mark.slow
def test_the_separable_law_is_rejected_where_it_is_false_and_not_where_it_is_true():
    rng = np.random.default_rng(6)
    laws, rejected = {0.0: 200, -1.0: 40}, {0.0: 0, -1.0: 0}
    for power, count in laws.items():
        for _ in range(count):
            x = np.log(np.array([[d, n] for d in (64, 96, 128) for n in (16, 32, 64)]))
            y = 7 + power * x[:, 0] + rng.normal(0, 0.05, 9)
            points = Points(("dim", "length"), x, y, np.full(9, 0.05), np.zeros(9))
            rejected[power] += fit_law(points).separable.rejected
    assert rejected[0.0] <= 6  # 1 % of 200 expected
    assert rejected[-1.0] == 40


def test_too_few_points_are_undetermined():
    points = Points(("dim", "length"), np.ones((3, 2)), np.ones(3), np.ones(3), np.zeros(3))
    law = fit_law(points)
    assert law.status is FitStatus.UNDETERMINED
    assert math.isnan(law.exponents["dim"].value)
    # Two proportional sizes cannot be distinguished, however many points there are.
    together = np.linspace(1, 3, 9)[:, None] * np.ones(2)
    same = Points(("dim", "length"), together, np.arange(9.0), np.ones(9), np.zeros(9))
    assert fit_law(same).status is FitStatus.UNDETERMINED


def test_an_undetermined_law_counts_its_points_and_its_bounds():
    sizes = np.log([[16], [32], [64]])
    points = Points(("dim",), sizes, np.ones(3), np.ones(3), np.array([0, 1, -1]))
    law = fit_law(points)
    assert law.status is FitStatus.UNDETERMINED
    assert (law.reached, law.bounds) == (1, 2)


def test_rows_are_read_as_they_are_written():
    row = {"dim": 64, "status": "ok", "value": 100, "low": 90, "high": 111}
    points = read_points(
        [
            row,
            row | {"log_mean": 4.0, "log_sd": 0.1},
            {"dim": 128, "status": "not_reached", "low": None, "high": 50},
            {"dim": 128, "status": "failed"},
        ],
        ["dim"],
    )
    assert points.y == pytest.approx([math.log(100), 4.0, math.log(50)])
    assert points.bound.tolist() == [0, 0, -1]
    assert points.error[1] == 0.1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"status": "ok", "value": 3}, "row 1 has no dim"),
        ({"dim": 4, "status": "ok", "value": 3}, "needs log_mean and log_sd, or value, low and"),
        (
            {"dim": 4, "status": "not_reached", "low": 3, "high": 4},
            "has low or high, not both",
        ),
        ({"dim": -4, "status": "not_reached", "low": 3}, "dim of row 1 must be a number above 0"),
        ({"dim": 4, "status": "not_reached", "low": 0}, "low of row 1 must be a number above 0"),
        ({"dim": "x", "status": "ok"}, "dim of row 1 must be a number above 0, not 'x'"),
        ({"dim": 4, "status": "ok", "value": math.nan}, "value of row 1 must be a number"),
        ({"dim": 4, "status": "ok", "log_mean": "x", "log_sd": 1}, "log_mean of row 1 must be"),
        ({"dim": 4, "status": "fine"}, "the status of row 1 is 'fine'; expected ok"),
    ],
)
def test_a_row_that_cannot_be_read_is_reported(row, said):
    with pytest.raises(ProblemError, match=said):
        read_points([row], ["dim"])


def test_collapse_says_what_the_law_takes_away_and_what_seeds_leave():
    rng = np.random.default_rng(1)
    problem = np.repeat(np.arange(4), 60)
    own = {n: 5.0 + n for n in range(4)}
    size = rng.uniform(-2, 2, 240) + np.array([own[n] for n in problem])
    rate = 1 / (1 + np.exp(-2 * (size - np.array([own[n] for n in problem]))))
    rate = np.clip(rate + rng.normal(0, 0.02, 240), 0, 1)
    good = collapse(size, rate, problem, own, own)
    assert good.seeds <= good.own < 0.03 < 0.15 < good.raw
    wrong = collapse(size, rate, problem, {n: 5.0 + 0.5 * n for n in range(4)}, own)
    assert wrong.law > 3 * wrong.own


@pytest.mark.parametrize("scatter", slow_after_first([0.2, 0.0]))
def test_expected_exponents_are_refused_if_wrong_and_rarely_if_right(scatter):
    """Planted laws: of two exponents at once, over points that scatter beyond their errors."""
    rng = np.random.default_rng(7)
    x = np.column_stack([np.tile(np.log([32, 45, 64, 90, 128]), 2), np.repeat([2.0, 3.0], 5)])
    right, wrong = [], []
    for _ in range(60):
        error = rng.uniform(0.03, 0.08, 10)
        noise = np.hypot(error, scatter) * rng.standard_normal(10)
        points = Points(
            ("dim", "length"), x, 1 - 2 * x[:, 0] + x[:, 1] + noise, error, np.zeros(10)
        )
        right.append(expected_law(points, {"dim": -2, "length": 1}).p_value)
        wrong.append(expected_law(points, {"dim": -1, "length": 1}).p_value)
    assert np.mean(np.array(right) < 0.05) < 0.15
    assert np.mean(np.array(wrong) < 0.05) > 0.9


def test_the_law_that_was_expected_goes_through_the_points():
    x = np.log([[32, 8], [64, 8], [128, 8], [64, 16], [64, 32]])
    y = 3 - 2 * x[:, 0] + 1.5 * x[:, 1]
    points = Points(("dim", "length"), x, y, np.full(5, 0.01), np.zeros(5))
    expected = expected_law(points, {"dim": -2})
    assert expected.predict({"dim": 100, "length": 10}) == pytest.approx(
        3 - 2 * np.log(100) + 1.5 * np.log(10), abs=1e-3
    )
    assert expected_law(points, {}) is None
    assert (
        expected_law(Points(("dim",), x[:2, :1], y[:2], np.ones(2), np.zeros(2)), {"dim": 1})
        is None
    )
