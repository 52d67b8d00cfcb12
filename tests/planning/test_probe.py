"""A probe: the curve of its sample, the plan after it, and what it says."""

from __future__ import annotations

import math

import datasets
import numpy as np
import pytest
import tiny_llama

from recallscope import ProblemError
from recallscope.planning.given_facts import given_facts
from recallscope.planning.inputs import Inputs
from recallscope.planning.probe import fitted, probed, sample_batch
from recallscope.planning.shape import shape_from_config
from recallscope.planning.teaching_in_words import teaching_words
from recallscope.planning.teaching_plan import Probe, make_teaching_plan

SIZES = {"facts": 62, "batch": 16, "steps": 40, "exposures": 10.0, "seconds": 60.0}
CURVE = {"recall": 0.55, "half": 20.0, "half_error": 0.05, "slope": 5.0, "slope_error": 0.3}
NO_CURVE = dict.fromkeys(("half", "half_error", "slope", "slope_error"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


def inputs_of(checkpoint, facts=40, batch=10):
    shape = shape_from_config(checkpoint)
    return Inputs(method="full", shape=shape, facts=facts, batch=batch, exposures=None)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny_llama.checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.mark.parametrize("last", [8.0, 11.0, 20.0])
def test_the_curve_of_a_sample_is_found_and_its_errors_cover(last):
    half, slope, facts = 10.0, 4.5, 120
    random = np.random.default_rng(7)
    at = np.arange(0.0, last + 0.1, 0.5)
    off_half, off_slope = [], []
    for _ in range(200):
        odds = random.uniform(size=facts)
        first = half * (odds / (1 - odds)) ** (1 / slope)  # when each fact is recalled
        recall = [(first <= each).mean() for each in at]
        curve = fitted(at.tolist(), recall, facts)
        off_half.append(math.log(curve.half / half) / curve.half_error)
        off_slope.append(math.log(curve.slope / slope) / curve.slope_error)
    for off in (off_half, off_slope):
        assert 0.83 < np.mean(np.abs(off) < 1.645) < 0.96
        assert abs(np.mean(off)) < 0.4


def test_a_probe_moves_a_plan_to_what_it_found_and_narrows_it(checkpoint):
    inputs = inputs_of(checkpoint, facts=500, batch=128)
    before = make_teaching_plan(inputs, 0.9)
    after = make_teaching_plan(inputs, 0.9, None, Probe(**SIZES, **CURVE))
    assert before.reached[0].exposures.value < after.reached[0].exposures.value < 20
    widths = [
        math.log(plan.reached[0].exposures.high / plan.reached[0].exposures.low)
        for plan in (before, after)
    ]
    assert widths[1] < 0.6 * widths[0]
    words = teaching_words(after)
    assert words.first.startswith("From a probe of these facts on this model")
    assert "one half of the sample after 20 (18 to 22) exposures" in words.details[0]
    assert "--probe" not in words.advice
    assert after.to_dict()["probe"]["half"] == 20.0


def test_a_probe_that_ended_too_early_changes_no_number(checkpoint):
    inputs = inputs_of(checkpoint, facts=500, batch=128)
    early = Probe(**SIZES, recall=0.02, **NO_CURVE)
    after = make_teaching_plan(inputs, 0.9, None, early)
    assert after.reached == make_teaching_plan(inputs, 0.9).reached
    assert "too early to say" in teaching_words(after).details[0]


def test_a_sample_has_as_many_steps_in_an_exposure_or_fewer(checkpoint):
    assert sample_batch(inputs_of(checkpoint, 500, 128), 128) == 33
    assert sample_batch(inputs_of(checkpoint, 50_000, 128), 128) == 16
    assert sample_batch(inputs_of(checkpoint, 20, 20), 16) == 16


def test_a_probe_teaches_a_sample_and_says_its_cost_before(tmp_path, checkpoint):
    path = tiny_llama.fact_file(tmp_path)
    plan = make_teaching_plan(inputs_of(checkpoint), 0.9, given_facts(path, checkpoint))
    said = []
    after = probed(plan, checkpoint, 5.0, 3e-3, say=said.append)
    (line,) = said
    assert line.startswith("probe: 20 of 40 facts, 16 in a batch, about ")
    assert line.endswith("it ends after 5 minutes at the latest")
    assert after.probe.facts == 20
    assert after.probe.recall >= 0.5
    assert after.probe.half < after.probe.exposures * 1.2
    narrow, wide = (plan.reached[0].exposures for plan in (after, plan))
    assert narrow.high / narrow.low < wide.high / wide.low


def test_a_probe_needs_a_file_and_a_folder(tmp_path, checkpoint):
    plan = make_teaching_plan(inputs_of(checkpoint), 0.9)
    with pytest.raises(ProblemError, match="give --facts FILE, and as --model the folder"):
        probed(plan, checkpoint)
