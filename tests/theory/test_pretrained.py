"""The law of facts taught to pretrained models: exposures, recall, and what a probe changes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recallscope.theory.pretrained import (
    CONSTANTS,
    LORA_BITS,
    NO_LOAD,
    SHAPE,
    Case,
    after_probe,
    expected,
    exposures_to,
    facts_at,
    load_of,
    log_half_at,
    recall_after,
    room_for,
    slope_after_probe,
)
from recallscope.theory.published_runs import fitted_runs, kept_near, range_of
from recallscope.theory.question import Ends, Question

CASE = Case(parameters=1.35e8, facts=5000, batch=128)


def test_exposures_and_recall_are_each_others_inverse():
    """The intervals too, but for the error of the form, which recall alone has."""
    learning = expected(CASE, CONSTANTS)
    for target in (0.5, 0.9):
        for end, other in (("value", "value"), ("low", "high"), ("high", "low")):
            seen = getattr(exposures_to(target, learning, NO_LOAD), end)
            recall = getattr(recall_after(seen, learning, NO_LOAD), other)
            shape = {"value": 0.0, "low": -SHAPE, "high": SHAPE}[other]
            assert recall == pytest.approx(target + shape, abs=0.03)


def test_an_interval_is_that_of_simulated_users():
    """Each has a source, a model and data, a run and constants, drawn as the law says."""
    rng, constants, count = np.random.default_rng(0), CONSTANTS, 40_000
    scale, size, floor = rng.multivariate_normal(
        constants[:3], np.array(constants.covariance), count
    ).T
    log_half = np.logaddexp(
        scale + size * math.log(CASE.parameters / 1e9), floor + math.log(CASE.batch / CASE.facts)
    )
    for deviation in (constants.source, constants.group, constants.run):
        log_half += deviation * rng.standard_normal(count)
    log_slope = constants.log_slope + constants.log_slope_error * rng.standard_normal(count)
    for deviation in (constants.slope_source, constants.slope_group, constants.slope_run):
        log_slope += deviation * rng.standard_normal(count)
    nine = np.exp(log_half + math.log(9) / np.exp(log_slope))
    ends = exposures_to(0.9, expected(CASE, constants), NO_LOAD)
    inside = (ends.low <= nine) & (nine <= ends.high)
    assert inside.mean() == pytest.approx(0.9, abs=0.01)
    assert ends.value == pytest.approx(np.median(nine), rel=0.03)


def test_a_batch_of_all_facts_takes_steps():
    """Few facts in large batches are few steps, however often they are seen."""
    few, many = (Case(1e9, 200, batch) for batch in (8, 200))
    steps = math.exp(log_half_at(many, CONSTANTS))
    assert steps > math.exp(CONSTANTS.log_floor)
    assert steps > 1.5 * math.exp(log_half_at(few, CONSTANTS))


def test_a_probe_moves_the_mean_and_halves_what_is_shared():
    case, probed = Case(1e9, 50_000, 128), Case(1e9, 1000, 128)
    before = expected(case, CONSTANTS).log_half
    slow = after_probe(case, probed, 15.0, 0.05, CONSTANTS)
    fast = after_probe(case, probed, 2.0, 0.05, CONSTANTS)
    assert fast.mean < before.mean < slow.mean < math.log(15.0)
    assert slow.shared < 0.6 * before.shared
    assert slow.own == before.own
    unsure = after_probe(case, probed, 15.0, 50.0, CONSTANTS)  # it teaches nothing
    assert unsure.mean == pytest.approx(before.mean, abs=0.01)
    assert unsure.deviation == pytest.approx(before.deviation, rel=0.01)


def test_a_slope_of_a_probe_counts_by_its_error():
    before = expected(CASE, CONSTANTS).log_slope
    after = slope_after_probe(10.0, 0.05, CONSTANTS)
    assert before.mean < after.mean < math.log(10.0)
    assert after.deviation < before.deviation
    assert slope_after_probe(10.0, 50.0, CONSTANTS).mean == pytest.approx(before.mean, abs=0.01)


def asked(**changes: object) -> Question:
    """A question about a LoRA."""
    given = {"method": "lora", "facts": 10_000, "answers": 1024, "exposures": 1, "trained": 10**6}
    return Question(**{**given, **changes})  # type: ignore[arg-type]


def test_a_load_above_room_is_never_recalled_and_below_it_does_not_matter():
    learning = expected(CASE, CONSTANTS)
    never = exposures_to(0.9, learning, load_of(asked(facts=10**8)))
    assert never == Ends(math.inf, math.inf, math.inf)
    free = exposures_to(0.9, learning, NO_LOAD)
    assert exposures_to(0.9, learning, load_of(asked(facts=10))) == pytest.approx(free, rel=0.01)
    room = room_for(asked())
    assert room == pytest.approx(tuple(bits * 10**6 / 10 for bits in LORA_BITS))
    nine = facts_at(0.9, asked())
    assert nine.value < room.value
    at_limit = load_of(asked(facts=round(nine.value)))
    assert recall_after(1e6, learning, at_limit).value == pytest.approx(0.9, abs=0.01)


def test_capacities_of_whole_models_are_those_of_training_from_scratch():
    low, high = room_for(asked(method="full", trained=10**9))[1:]
    assert 10 * low < 10**9 * 2 < 10 * high  # Allen-Zhu and Li have 2 bits for each parameter
    assert high > 5 * low


def test_what_was_kept_is_that_of_such_sizes_and_of_nothing_else():
    (kept,) = kept_near("full", 1.24e9, 50_000)
    runs = [
        run
        for run in fitted_runs()
        if run["kept_of"] == "HellaSwag"
        and 1.24e9 / 3 <= run["parameters"] <= 3 * 1.24e9
        and run["facts"] == 50_000
    ]
    assert kept.measure == "HellaSwag"
    assert kept.runs >= len(runs) == 3
    assert kept.low <= min(float(run["kept_low"]) for run in runs) <= kept.high < 1
    assert kept_near("full", 1.24e9, 10**7) == []
    assert {each.measure for each in kept_near("lora", 8e9, 3000)} == {"MMLU"}


def test_the_range_of_sizes_is_that_of_fitted_runs():
    assert range_of("facts")[1:] == (114, 50_000)
    assert range_of("parameters").low == 1.35e8
