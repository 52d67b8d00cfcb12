"""The fitted law of small transformers: its constants, its interval, and when it answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from recallscope import plan
from recallscope.theory.laws.small_transformers import (
    CONSTANTS,
    Constants,
    classes_of,
    recall_at,
    spread_near,
)
from recallscope.theory.recorded_error import SMALL_MODELS, recorded

ROWS = recorded(SMALL_MODELS)
SIZES = ("load", "exposures", "examples", "dim", "layers", "rank", "bits", "context")
LOGARITHMS = ("load", "steepness", "early", "gated", "full", "lora", "partial", "space")


def _recalls(constants, places):
    """Recall of rows of the table, by class of frequency."""
    found = []
    for place in places:
        row = {name: float(ROWS[name][place]) for name in (*SIZES, "facts", "zipf")}
        count, asked = classes_of(int(row["facts"]), row["zipf"])
        sizes = {name: row[name] for name in SIZES}
        sizes["exposures"] = row["exposures"] * asked * row["facts"] / count
        slower = getattr(constants, str(ROWS["method"][place]), 1.0)
        slower *= constants.gated ** float(ROWS["gated"][place])
        partial = float(ROWS["partial"][place])
        slower, space = slower * constants.partial**partial, constants.space**partial
        found.append(float(asked @ recall_at(constants, sizes, slower, space)))
    return np.array(found)


@pytest.mark.parametrize("partial", [0, 1])
def test_constants_are_those_that_fit_the_table(partial):
    """A few steps of the fit from them change hardly any recall; partial LoRAs have their own."""
    own = ("partial", "space")
    names = own if partial else [each for each in Constants._fields if each not in own]
    mine = np.flatnonzero(ROWS["partial"] == partial)
    weight = np.where(ROWS["study"] == "first", 0.4, 1.0)[mine]

    def start(name):
        value = getattr(CONSTANTS, name)
        return np.log(value) if name in LOGARITHMS else value

    def constants(values):
        changed = zip(names, values, strict=True)
        return CONSTANTS._replace(
            **{name: np.exp(each) if name in LOGARITHMS else each for name, each in changed}
        )

    here = _recalls(CONSTANTS, mine)
    fitted = least_squares(
        lambda values: weight * (_recalls(constants(values), mine) - ROWS["recall"][mine]),
        [start(name) for name in names],
        loss="soft_l1",
        f_scale=0.1,
        x_scale="jac",
        max_nfev=3,
    )
    assert _recalls(constants(fitted.x), mine) == pytest.approx(here, abs=0.01)


def test_recall_falls_with_the_load_and_context_and_rises_with_training():
    middle = {"load": 1.0, "exposures": 30.0, "examples": 1e5, "dim": 24.0, "bits": 6.0}
    middle |= {"layers": 2.0, "rank": 1.0, "context": 4.0}
    for name, up in (("load", -1), ("exposures", 1), ("examples", 1), ("dim", 1), ("context", -1)):
        sizes = middle | {name: middle[name] * np.geomspace(0.2, 5, 7)}
        assert (up * np.diff(recall_at(CONSTANTS, sizes)) > 0).all(), name
    assert recall_at(CONSTANTS, middle | {"load": 100.0}) == pytest.approx(1 / 64, abs=0.01)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_classes_have_all_facts_and_all_that_is_asked(exponent):
    count, asked = classes_of(12_345, exponent)
    assert count.sum() == pytest.approx(12_345)
    assert asked.sum() == pytest.approx(1)
    assert (np.diff(asked / count) < 0).all()


def test_intervals_hold_trainings_that_were_left_out():
    """Nine of ten, give or take, with the errors of the training itself left out as well."""
    method, planned = ROWS["method"], np.flatnonzero(ROWS["study"] != "first")
    inside = []
    for place in planned:
        here = {name: float(ROWS[name][place]) for name in (*SIZES, "trained")}
        others = (method == method[place]) & (ROWS["study"] != "first")
        others &= ROWS["partial"] == ROWS["partial"][place]
        others[place] = False
        expected = float(ROWS["expected"][place])
        most = spread_near(here, expected, others)
        inside.append(abs(expected - ROWS["recall"][place]) <= most + 1e-4)
    assert len(inside) == 140
    assert 0.84 <= np.mean(inside) <= 0.97


def test_it_answers_for_small_models_and_published_values_for_large_ones():
    asked = {"method": "pretrain", "facts": 2000, "exposures": 100, "answers": 64}
    small = plan(d_model=24, layers=1, vocab=64, **asked)
    assert small.laws[0].law == "small-transformers"
    assert str(small.status) == "tested"
    assert small.recall.low <= small.recall.value <= small.recall.high
    assert {each.kind for each in small.laws} == {"fitted", "published"}
    large = plan(d_model=768, layers=12, vocab=50257, **asked | {"facts": 10**6})
    assert large.laws[0].kind == "published"
    assert large.laws[1].law == "small-transformers"
    (fitted,) = (each for each in large.laws if each.kind == "fitted")
    assert any("trained" in said for said in fitted.capacity.extrapolated)
    tuned = plan(d_model=24, layers=1, vocab=64, **asked | {"method": "full"})
    assert tuned.laws[0].law == "small-transformers"


def test_it_says_whether_exposures_or_capacity_limit_recall():
    asked = {"method": "pretrain", "d_model": 16, "layers": 1, "vocab": 64, "answers": 64}
    assert str(plan(facts=500, exposures=20, **asked).limit) == "exposures"
    assert str(plan(facts=5000, exposures=1000, **asked).limit) == "capacity"
    assert str(plan(facts=100, exposures=5000, **asked).limit) == "none"
