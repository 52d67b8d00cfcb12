"""The interval of a critical size covers the truth; targets that are not reached are reported."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from lanes import slow_after_first

from recallscope import Problem, ProblemError, Status
from recallscope.measure.critical_search import CriticalSearch
from recallscope.statistics.threshold import Runs, locate
from reproduction.studies.searches.planted_searches import (
    Truth,
    covered,
    interpolated,
    planted_record,
    search,
)

PROBLEM = Problem(vocab=512, samples=1, dim=64, length=16)
TRUTH = Truth(
    shape="probit", target=0.5, crossing=math.log(4000), slope=2.0, ceiling=1.0, spread=0.01
)


def finished(truth=TRUTH, problem=PROBLEM, record=planted_record, **how):
    found = CriticalSearch(problem, **({"low": 64, "high": 131072} | how))
    while not found.done:
        found.tell([record(truth, p, seed, case=1) for p, seed in found.ask()])
    return found


@pytest.mark.slow
def test_intervals_cover_planted_truths_and_censored_ones_are_distinguished():
    rows = [search(case) for case in range(10_000, 10_016)]
    assert all((row["status"] == "ok") == row["inside"] for row in rows)
    # 16 intervals of 95 %: fewer than 13 would be seen once in 140 times.
    assert sum(map(covered, rows)) >= 13


@pytest.mark.parametrize("prior", slow_after_first([400, 10**9, 4000, 40_000], 2))
def test_the_prior_does_not_matter_once_data_are_there(prior):
    without = finished(prior=None).result()
    found = finished(prior=prior).result()
    assert found.low < 4000 < found.high
    # The difference of two searches with different seeds.
    assert abs(found.log_mean - without.log_mean) < 3 * math.hypot(found.log_sd, without.log_sd)


def test_the_same_data_with_and_without_a_prior_give_the_same_answer():
    x = np.linspace(math.log(1000), math.log(16000), 40)
    rng = np.random.default_rng(0)
    rate = np.array([TRUTH.outcome(at, int(rng.integers(1 << 30)), 3) for at in x])
    runs = Runs(x, rate, np.full(40, 4096.0))
    ends = (math.log(64), math.log(131072))
    flat = locate(runs, 0.5, *ends)
    for theory in (math.log(4000), math.log(400), math.log(40_000), math.inf):
        informed = locate(runs, 0.5, *ends, theory)
        assert abs(informed.mean - flat.mean) < 0.25 * flat.sd
        assert informed.sd == pytest.approx(flat.sd, rel=0.1)


def test_a_size_that_lowers_accuracy_is_searched_downwards():
    """The largest vocab: accuracy falls with it."""

    def record(truth, problem, seed, case):
        mirrored = Problem(vocab=512, samples=round(1e6 / problem.vocab), dim=64, length=16)
        found = planted_record(truth, mirrored, seed, case)
        return type(found)(
            **{name: getattr(found, name) for name in found.__dataclass_fields__}
            | {"problem": problem}
        )

    found = finished(
        Truth("logistic", 0.5, math.log(1e6 / 300), 2.0, 1.0, 0.01),
        Problem(vocab=2, samples=1000, dim=64, length=16),
        record,
        quantity="vocab",
        low=8,
        high=8192,
    ).result()
    assert found.status is Status.OK
    assert found.low < 300 < found.high
    assert [point["size"] for point in found.curve] == sorted(p["size"] for p in found.curve)


def test_a_target_out_of_reach_is_a_bound_and_a_reason():
    truth = Truth("logistic", 0.5, math.log(1e7), 2.0, 1.0, 0.01)
    found = finished(truth, PROBLEM.replace(dim=96), prior=None).result()
    assert found.status is Status.NOT_REACHED
    assert (found.value, found.low, found.high) == (None, 131072, None)
    assert found.reason == "the target is not reached at samples = 131072; raise high"
    early = Truth("logistic", 0.5, math.log(5), 2.0, 1.0, 0.01)
    found = finished(early, prior=None).result()
    assert (found.status, found.low, found.high) == (Status.NOT_REACHED, None, 64)
    assert found.reason == "the target is reached already at samples = 64; lower low"


def test_a_plateau_below_the_target_is_not_reached():
    """No number of samples helps if accuracy levels off below the target."""
    truth = Truth("logistic", 0.3, math.log(2000), 3.0, 0.4, 0.001)
    found = finished(truth, target=0.5, prior=None).result()
    assert found.status is Status.NOT_REACHED


def failed_record(problem, seed):
    record = planted_record(TRUTH, problem, seed, 1)
    return replace(record, status=Status.FAILED, reason="disk full", recall_accuracy=None)


def failing(truth, problem, seed, case):
    return (
        failed_record(problem, seed)
        if seed % 3 == 0
        else planted_record(truth, problem, seed, case)
    )


def test_a_failed_run_is_counted_and_is_no_evidence():
    found = finished(record=failing, budget=60, precision=1e-9).result()
    assert found.failures == 20
    assert found.evaluations == 60
    assert sum(point["runs"] for point in found.curve) == 40
    assert found.low < 4000 < found.high


def test_a_search_fails_if_all_runs_fail():
    def broken(truth, problem, seed, case):
        return failed_record(problem, seed)

    found = finished(record=broken).result()
    assert (found.status, found.value, found.reason) == (Status.FAILED, None, "disk full")


def test_infeasible_sizes_are_avoided():
    """The crossing at 4000 is found without a prior, though sizes above 9000 do not fit."""

    def limited(truth, problem, seed, case):
        record = planted_record(truth, problem, seed, case)
        fields = {name: getattr(record, name) for name in record.__dataclass_fields__}
        huge = {"status": Status.INFEASIBLE, "reason": "too large", "recall_accuracy": None}
        return type(record)(**fields | huge) if problem.samples > 9000 else record

    found = finished(record=limited, prior=None).result()
    assert found.status is Status.OK
    assert found.low < 4000 < found.high
    assert 0 < found.infeasible < 10
    assert found.failures == 0
    beyond = Truth("logistic", 0.5, math.log(50_000), 2.0, 1.0, 0.01)
    found = finished(beyond, record=limited, prior=None).result()
    assert found.status is Status.NOT_REACHED
    assert (found.value, found.high) == (None, None)
    assert found.low < 9000
    assert found.reason.endswith("larger sizes are infeasible here")


def test_the_same_run_given_twice_counts_once():
    search = CriticalSearch(PROBLEM, low=64, high=131072)
    record = planted_record(TRUTH, PROBLEM.replace(samples=4000), 1, 1)
    search.tell([record] * 20)
    assert search.evaluations == 1


def test_a_failed_run_given_twice_counts_once_and_a_later_success_takes_its_place():
    search = CriticalSearch(PROBLEM, low=64, high=131072)
    problem = PROBLEM.replace(samples=4000)
    fine, broken = planted_record(TRUTH, problem, 1, 1), failed_record(problem, 1)
    search.tell([broken, broken])
    assert (search.evaluations, search.result().failures) == (1, 1)
    search.tell([fine])
    assert (search.evaluations, search.result().failures) == (1, 0)
    search.tell([broken])
    assert (search.evaluations, search.result().failures) == (1, 0)


def test_a_record_without_a_number_of_tests_is_refused():
    search = CriticalSearch(PROBLEM, low=64, high=131072)
    record = planted_record(TRUTH, PROBLEM.replace(samples=4000), 1, 1)
    with pytest.raises(ProblemError, match="without a number of tests"):
        search.tell([replace(record, test_samples=None)])


def test_a_record_of_infinite_samples_is_refused():
    search = CriticalSearch(PROBLEM)
    with pytest.raises(ProblemError, match="the record is of another problem"):
        search.tell([infinite_record()])


def infinite_record():
    record = planted_record(TRUTH, PROBLEM, 1, 1)
    fields = {name: getattr(record, name) for name in record.__dataclass_fields__}
    return type(record)(**fields | {"problem": PROBLEM.replace(samples=math.inf)})


def test_a_vocabulary_that_cannot_be_orthogonal_is_refused():
    with pytest.raises(ProblemError, match="high must be a whole number from 1 to 63"):
        CriticalSearch(
            Problem(vocab=2, samples=64, dim=64, length=4, embedding="orthogonal"),
            "vocab",
            high=1000,
        )


def test_it_stops_at_the_width_or_the_budget_that_was_asked_for():
    narrow = finished(precision=0.1, budget=500).result()
    assert narrow.high / narrow.low < 1.11
    assert narrow.evaluations < 500
    assert finished(precision=1e-6, budget=18).result().evaluations == 18


def test_every_run_has_a_new_seed_and_sizes_stay_in_range():
    found = CriticalSearch(PROBLEM, low=64, high=131072, first_seed=5)
    asked = []
    for _ in range(6):
        batch = found.ask()
        asked += batch
        found.tell([planted_record(TRUTH, p, seed, 1) for p, seed in batch])
    assert [seed for _, seed in asked] == list(range(5, 29))
    assert all(64 <= problem.samples <= 131072 for problem, _ in asked)


def test_seeds_may_be_as_large_as_those_of_runs():
    asked = CriticalSearch(PROBLEM, first_seed=2**62).ask()
    assert [seed for _, seed in asked] == [2**62 + number for number in range(4)]


def test_a_record_of_another_problem_is_refused():
    found = CriticalSearch(PROBLEM)
    other = planted_record(TRUTH, PROBLEM.replace(dim=65), 0, 1)
    with pytest.raises(ProblemError, match="the record is of another problem"):
        found.tell([other])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"quantity": "depth"}, "an axis is one of vocab, samples"),
        ({"quantity": "width"}, "attention alone has no width"),
        ({"accuracy": "loss"}, "accuracy must be one of"),
        ({"target": 1.0}, "the target must be an accuracy between 0 and 1"),
        ({"low": 100, "high": 100}, "the range must rise, not go from 100 to 100"),
        ({"precision": 0}, "the precision is a fraction above 0"),
        ({"budget": 0}, "budget must be a whole number"),
        ({"prior": "none"}, "the prior is a size, 'theory' or None"),
    ],
)
def test_mistakes_in_a_search_are_refused(how, said):
    with pytest.raises(ProblemError, match=said):
        CriticalSearch(PROBLEM, **how)


def test_a_problem_without_a_closed_form_is_searched_without_a_prior():
    literal = PROBLEM.replace(regime="literal", eta=0.01, gamma=1e4)
    found = CriticalSearch(literal, prior="theory")
    assert found.theory is None
    assert found.crossing.beyond == pytest.approx(0.1, abs=0.02)


def test_runs_that_are_all_right_show_that_the_target_is_passed():
    """Even where seeds are all or nothing: no mean below the target makes so many runs perfect."""
    x = np.log(np.concatenate([np.full(12, 20.0), np.geomspace(60, 20_000, 40)]))
    rate = np.array([0.1, 0.3, 1.0, 0.9, 1.0, 0.6, 0.2, 1.0, 0.8, 1.0, 0.7, 0.9] + [1.0] * 40)
    found = locate(Runs(x, rate, np.full(52, 4096.0)), 0.9, math.log(2), math.log(65536))
    assert math.exp(found.quantile(0.975)) < 120


def test_the_orthogonal_dimension_starts_above_the_vocabulary():
    found = CriticalSearch(PROBLEM.replace(embedding="orthogonal", dim=600), "dim")
    assert found.low == 513


def test_a_grid_is_read_between_its_points():
    records = [planted_record(TRUTH, PROBLEM.replace(samples=n), 1, 1) for n in (1000, 16000)]
    assert 1000 < math.exp(interpolated(records, "recall_accuracy", 0.5)) < 16000
