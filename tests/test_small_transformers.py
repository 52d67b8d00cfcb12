"""The fitted law of small transformers: its constants, its interval, and when it answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from recallscope import plan
from recallscope.theory.laws.small_transformers import CONSTANTS, TABLE, recall_at
from recallscope.theory.recorded_error import error_near, recorded

ROWS = recorded(TABLE)
LOAD = ROWS["facts"] * ROWS["bits"] / ROWS["trained"]


def _at(constants, chosen=slice(None)):
    given = (LOAD, ROWS["exposures"], ROWS["bits"])
    return recall_at(tuple(constants), *(each[chosen] for each in given))


def test_constants_are_those_that_fit_the_table():
    fitted = least_squares(
        lambda logs: _at(np.exp(logs)) - ROWS["recall"],
        np.zeros(5) + 1,
        loss="soft_l1",
        f_scale=0.1,
    )
    assert np.exp(fitted.x) == pytest.approx(CONSTANTS, rel=0.01)


def test_recall_falls_with_the_load_and_rises_with_exposures():
    ones = np.ones(5)
    loads, seen = np.geomspace(0.1, 10, 5), np.geomspace(1, 1000, 5)
    assert (np.diff(recall_at(CONSTANTS, loads, 100 * ones, 6 * ones)) < 0).all()
    assert (np.diff(recall_at(CONSTANTS, ones, seen, 6 * ones)) > 0).all()
    assert recall_at(CONSTANTS, 100 * ones, ones, 3 * ones) == pytest.approx(1 / 8, abs=0.01)


def test_intervals_hold_sizes_that_were_left_out():
    """Nine of ten, give or take, with the errors of the size itself left out as well."""
    sizes = ROWS["dim"] * 10 + ROWS["layers"] + 1000 * (ROWS["task"] == "pairs")
    known = {name: ROWS[name] for name in ("trained", "exposures", "bits")}
    known["bits per parameter"] = LOAD
    inside = []
    for place in range(len(sizes)):
        here = {name: float(each[place]) for name, each in known.items()}
        expected = float(ROWS["expected"][place])
        others = sizes != sizes[place]
        found = error_near(here, expected, known, ROWS["expected"], ROWS["recall"], others)
        inside.append(abs(expected - ROWS["recall"][place]) <= found.most + 1e-4)
    assert 0.84 <= np.mean(inside) <= 0.97
    assert len(np.unique(sizes)) >= 10


def test_it_answers_for_small_models_and_published_values_for_large_ones():
    asked = {"method": "pretrain", "facts": 2000, "exposures": 100, "answers": 64}
    small = plan(d_model=24, layers=1, vocab=64, **asked)
    assert small.laws[0].law == "small-transformers"
    assert str(small.status) == "tested"
    assert small.recall.low < small.recall.value < small.recall.high
    assert {each.kind for each in small.laws} == {"fitted", "published"}
    large = plan(d_model=768, layers=12, vocab=50257, **asked | {"facts": 10**6})
    assert large.laws[0].kind == "published"
    assert large.laws[1].law == "small-transformers"
    (fitted,) = (each for each in large.laws if each.kind == "fitted")
    assert any("trained" in said for said in fitted.capacity.extrapolated)
    tuned = plan(d_model=24, layers=1, vocab=64, **asked | {"method": "full"})
    assert all(each.kind == "published" for each in tuned.laws)


def test_it_says_whether_exposures_or_capacity_limit_recall():
    asked = {"method": "pretrain", "d_model": 16, "layers": 1, "vocab": 64, "answers": 64}
    assert str(plan(facts=500, exposures=20, **asked).limit) == "exposures"
    assert str(plan(facts=5000, exposures=1000, **asked).limit) == "capacity"
    assert str(plan(facts=100, exposures=1000, **asked).limit) == "none"
