"""The law of pretrained models comes from the table of published runs, and judged itself fairly."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from recallscope.common.csv_files import read_csv
from recallscope.theory.pretrained import CONSTANTS, NO_LOAD, expected, exposures_to
from recallscope.theory.published_runs import fitted_runs
from reproduction.studies.published_runs.law import (
    case_of,
    fitted,
    fitted_without,
    slopes,
    to_one_half,
)
from reproduction.studies.published_runs.published_runs import (
    PLETENEV,
    TOFU,
    Look,
    estimated,
    monotone,
)

STUDY = Path(__file__).parents[2] / "reproduction" / "studies" / "published_runs"


def test_the_table_gives_the_constants_again():
    found = fitted(to_one_half(), slopes())
    for name, value in found._asdict().items():
        if name != "covariance":
            assert value == pytest.approx(getattr(CONSTANTS, name), abs=0.01), name
    assert np.allclose(found.covariance, CONSTANTS.covariance, atol=0.005)


def test_a_source_that_was_left_out_is_predicted_as_recorded():
    rows = [row for row in read_csv(STUDY / "exposures.csv") if row["left_out"] == "source"]
    for recorded, run in zip(rows, fitted_runs(), strict=True):
        assert recorded["half"] == run["half"]
        if run["source"] in (PLETENEV, TOFU):
            learning = expected(case_of(run), fitted_without(run["source"]))
            ends = exposures_to(0.5, learning, NO_LOAD)
            assert recorded["half_value"] == pytest.approx(ends.value, rel=0.03)
            assert recorded["half_high"] == pytest.approx(ends.high, rel=0.05)


@pytest.mark.parametrize(("by", "median", "most"), [("model", 1.25, 1.9), ("source", 1.4, 2.0)])
def test_the_recorded_errors_are_those_that_pages_quote(by, median, most):
    rows = [row for row in read_csv(STUDY / "exposures.csv") if row["left_out"] == by]
    for name in ("half", "nine"):
        some = [row for row in rows if row[name] is not None]
        off = [math.exp(abs(math.log(row[name] / row[f"{name}_value"]))) for row in some]
        assert np.median(off) < median
        assert np.quantile(off, 0.9) < most
        inside = sum(row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] for row in some)
        assert inside >= 0.85 * len(some)


def test_exposures_of_a_known_curve_are_found_within_their_errors():
    rng = np.random.default_rng(0)
    half, slope, tests, off = 6.0, 4.0, 300, []
    seen = np.arange(1.0, 20.0)
    for _ in range(60):
        recall = rng.binomial(tests, 1 / (1 + (half / seen) ** slope)) / tests
        looks = [Look(*each) for each in zip(seen, recall, strict=True)]
        found = estimated(looks, tests, 0.0, rng)
        off.append(math.log(found["half"] / half) / found["half_error"])
    assert np.mean(np.abs(off) < 2) > 0.8
    assert list(monotone(np.array([0.0, 0.4, 0.2, 0.9]))) == pytest.approx([0.0, 0.3, 0.3, 0.9])
