"""Trainings that succeed or fail: a search reports it, and can find where most of them succeed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recallscope import Problem, ProblemError, Status, critical
from recallscope.cli.execution import resumable

PROBLEM = Problem(vocab=64, samples=1, dim=48, length=4)
HALF = 1000  # samples at which half of the trainings succeed; nine in ten at 3,000


def coin(problem, seed):
    """Succeeds with a probability that rises with the samples."""
    odds = 2.0 * math.log(problem.samples / HALF)
    works = np.random.default_rng([seed, problem.samples]).random() < 1 / (1 + math.exp(-odds))
    return (0.95 if works else 0.05), 4096


def search(**how):
    given = {"low": 64, "high": 65536, "budget": 48, "progress": False, "run": coin} | how
    return critical(PROBLEM, "samples", 0.5, **given)


def test_seeds_that_are_all_or_nothing_are_reported():
    found = search()
    passed, of = (int(each) for each in found.all_or_nothing.split()[:4:3])
    assert of == 16
    assert 0 < passed < of
    assert "seeds are all-or-nothing" in repr(found)


def test_similar_seeds_are_not_reported():
    found = search(run=lambda_like)
    assert found.all_or_nothing is None


def lambda_like(problem, seed):
    rate = problem.samples / (problem.samples + HALF)
    return float(np.random.default_rng([seed, problem.samples]).normal(rate, 0.02).clip(0, 1)), 4096


def test_where_nine_in_ten_seeds_pass():
    truth = HALF * math.exp(math.log(9) / 2)
    covered = 0
    for seed in range(0, 300, 100):
        found = search(seeds_passing=0.9, seed=seed, budget=64)
        assert found.seeds_passing == 0.9
        covered += (found.low or 0) < truth < (found.high or math.inf)
    assert covered >= 2  # of three 95 % intervals


def test_a_search_without_an_upper_end_is_not_ok():
    found = search(high=1200, budget=12)
    assert found.status is Status.NOT_REACHED
    assert (found.value, found.high) == (None, None)
    assert "raise high" in found.reason


def test_a_search_without_a_lower_end_is_not_ok():
    found = search(low=800, budget=12)
    assert found.status is Status.NOT_REACHED
    assert (found.value, found.low) == (None, None)
    assert "lower low" in found.reason


def nearly_from_the_first_sample(problem, seed):
    return min(47 + 3 * problem.samples + 2 * (-1) ** seed, 100) / 100, 100


def test_the_smallest_size_there_is_ends_an_interval():
    found = search(run=nearly_from_the_first_sample, low=1, high=64, budget=16)
    assert found.status is Status.OK
    assert found.low == 1 <= found.value < found.high


@pytest.mark.parametrize("fraction", [0, 1, 1.5, "x"])
def test_a_fraction_of_seeds_lies_between_zero_and_one(fraction):
    with pytest.raises(ProblemError, match="seeds that pass must be"):
        search(seeds_passing=fraction)


@pytest.mark.parametrize(("store", "said"), [(None, "--store FOLDER"), ([], "resumes from here")])
def test_no_resume_is_promised_without_a_store(store, said, capsys):
    with pytest.raises(KeyboardInterrupt), resumable(store):
        raise KeyboardInterrupt
    assert said in capsys.readouterr().err
