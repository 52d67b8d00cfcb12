"""Verdicts follow from the data: planted truths are supported, planted falsehoods refuted."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from functools import cache

import pytest

import planted_claims
from lanes import slow_after_first
from recallscope.executors.serial import Serial
from recallscope.paper import predictions
from recallscope.paper.bundle import summary
from recallscope.paper.drawings import Drawings
from recallscope.paper.evidence import Evidence
from recallscope.paper.figures import write_figure
from recallscope.paper.presets import SIZES, sweep_file, sweep_of
from recallscope.paper.registry import CLAIMS, claims_named, finding
from recallscope.paper.verdict import Verdict, judge, together
from recallscope.problem import ProblemError
from recallscope.statistics.intervals import Interval


def found_in(name, **changed):
    claim = CLAIMS[name]
    truths = planted_claims.SUPPORTING | (planted_claims.NEWS_IS_RIGHT if name == "news" else {})
    return finding(claim, planted_claims.evidence(claim.sweeps, truths | changed))


found_if_true = cache(found_in)


@pytest.mark.parametrize("name", slow_after_first(CLAIMS, 4))
def test_a_planted_truth_is_supported(name):
    found = found_if_true(name)
    wrong = [each for each in found.judgements if each.verdict is not Verdict.SUPPORTED]
    assert not wrong, [(each.what, each.measured, each.expected) for each in wrong]
    beyond = {"tight": Verdict.NOT_TESTABLE, "lower-bound": Verdict.NOT_TESTABLE}
    beyond["products"] = Verdict.OPEN  # the sentence says more than its predictions
    assert found.verdict is beyond.get(name, Verdict.SUPPORTED)


@pytest.mark.parametrize("name", slow_after_first(CLAIMS, 4))
def test_contradicting_data_flips_the_verdict(name):
    found = found_in(name, **planted_claims.CONTRADICTING[name])
    assert together(found.judgements) is Verdict.REFUTED, [
        (each.what, each.measured, str(each.verdict)) for each in found.judgements
    ]


@pytest.mark.parametrize(
    ("name", "changed"),
    slow_after_first(
        [
            (name, each)
            for name, changes in planted_claims.ALSO_CONTRADICTING.items()
            for each in changes
        ],
        4,
    ),
)
def test_each_thing_that_a_claim_says_can_flip_it(name, changed):
    found = found_in(name, **changed)
    assert together(found.judgements) is Verdict.REFUTED, [
        (each.what, each.measured, str(each.verdict)) for each in found.judgements
    ]


def test_either_reading_of_the_news_will_do():
    """The samples needed contradict the summary; the facts stored agree with it."""
    changed = {"random-long": planted_claims.SUPPORTING["random-long"]}
    assert found_in("news", **changed).verdict is Verdict.SUPPORTED


# A crash is never a data point, and a bound is no measurement.


def check_report(found, tmp_path, name):
    text = found.answer + json.dumps(summary(found), allow_nan=False)
    assert not re.search(r"\b(nan|inf)\b", text)
    assert len(found.answer) < 3000  # no number has three hundred digits
    assert write_figure(Drawings(Serial()), CLAIMS[name], found, tmp_path, ["png"])


@pytest.mark.parametrize("name", slow_after_first(CLAIMS, 4))
def test_where_all_runs_failed_nothing_is_concluded(name, tmp_path):
    claim = CLAIMS[name]
    lost = planted_claims.evidence(
        claim.sweeps, planted_claims.SUPPORTING, lost=lambda problem, seed: True
    )
    found = finding(claim, lost)
    if name not in ("lower-bound", "first-steps"):  # these use readings, at least in part
        assert together(found.judgements) is Verdict.OPEN
        assert found.verdict in (Verdict.OPEN, Verdict.NOT_TESTABLE)
    if name != "lower-bound":
        assert found.lost > 0
    assert all(row.get("value") is None for row in found.rows if row.get("status") == "failed")
    check_report(found, tmp_path, name)


def test_failed_runs_do_not_move_what_is_judged(tmp_path):
    claim = CLAIMS["first-steps"]
    smallest = min(problem.samples for problem in sweep_of("locking", "smoke").problems())
    lost = planted_claims.evidence(
        claim.sweeps,
        planted_claims.SUPPORTING,
        lost=lambda problem, seed: problem.samples == smallest,
    )
    found = finding(claim, lost)
    assert found.verdict is Verdict.OPEN
    assert found.lost == sweep_of("locking", "smoke").seeds
    check_report(found, tmp_path, "first-steps")


@pytest.mark.parametrize(
    "name", slow_after_first(["products", "two-by-two", "trade-off", "finite-data", "news"], 2)
)
@pytest.mark.parametrize("size", [1e9, 1.0], ids=["never", "always"])
def test_targets_out_of_range_are_bounds(name, size, tmp_path):
    found = found_in(name, **dict.fromkeys(CLAIMS[name].sweeps, lambda problem: size))
    assert found.verdict is not Verdict.SUPPORTED
    assert {row["status"] for row in found.rows} == {"not_reached"}
    for row in found.rows:
        assert row["value"] is None
        assert (row["low"] is None) != (row["high"] is None)
    check_report(found, tmp_path, name)


def test_an_incomplete_batch_of_runs_is_not_used():
    """An interrupted search ends where it would have ended."""
    names = ["random-short"]
    records = planted_claims.evidence(names, planted_claims.SUPPORTING).used(names)
    first = records[: sweep_of("random-short", "smoke").searches()[0].budget]
    for kept, counted in ((12, 12), (14, 12), (15, 12), (16, 16), (24, 24)):
        search = Evidence("smoke", first[:kept]).searches_so_far("random-short")[0]
        assert search.evaluations == counted
    with_a_gap = Evidence("smoke", first[:8] + first[9:]).searches_so_far("random-short")[0]
    assert with_a_gap.evaluations == 8


@pytest.mark.parametrize("name", CLAIMS)
def test_without_runs_a_claim_is_not_yet_measured(name):
    assert finding(CLAIMS[name], Evidence("smoke", [])) is None


def test_one_missing_run_is_enough():
    claim = CLAIMS["first-steps"]
    planted = planted_claims.evidence(claim.sweeps, planted_claims.SUPPORTING)
    records = planted.used(claim.sweeps)
    assert finding(claim, Evidence("smoke", records)) is not None
    assert finding(claim, Evidence("smoke", records[1:])) is None
    assert finding(claim, Evidence("smoke", records[:-1])) is None


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_says_what_would_speak_for_and_against_it(name):
    claim = CLAIMS[name]
    for text in (claim.title, claim.statement, claim.support, claim.contradict, claim.background):
        assert len(text) > 10
    found = found_if_true(name)
    assert 1 <= len(found.judgements) <= 10  # what the level of the intervals allows for
    assert found.picture.panels
    assert found.rows
    assert "nan" not in found.answer


def test_there_are_thirteen_claims_and_each_sweep_comes_in_three_sizes():
    assert len(CLAIMS) == 13
    used = {sweep for claim in CLAIMS.values() for sweep in claim.sweeps}
    for size in SIZES:
        folder = sweep_file("locking", size).parent
        assert {path.stem for path in folder.glob("*.toml")} == used
        settings = {sweep_of(name, size).settings for name in used}
        assert len(settings) == 1


def test_seeds_of_full_size_come_from_the_hash_of_the_predictions():
    added = predictions.sweeps_added()
    for name in {sweep for claim in CLAIMS.values() for sweep in claim.sweeps}:
        base = predictions.first_seed(*[predictions.LATER] * (name in added))
        assert sweep_of(name, "full").first_seed == base + sweep_of(name, "smoke").first_seed


def test_every_claim_names_its_source_what_was_known_and_an_attack():
    for name, claim in CLAIMS.items():
        assert claim.source, name
        assert predictions.known_before(name), name
        assert claim.attack.endswith("?"), name
        found = found_if_true(name)
        assert found.reply, name
        assert found.practice, name
        assert re.search(r"\d", found.reply), name  # an answer in numbers


def test_a_prediction_that_is_not_written_down_is_not_judged():
    with pytest.raises(ValueError, match="news predicts"):
        predictions.judged("news", {"another number": Interval(1, 0.5, 1.5)})


def test_a_claim_without_its_subject_is_not_testable():
    found = found_if_true("tight")
    assert found.verdict is Verdict.NOT_TESTABLE
    assert together(found.judgements) is Verdict.SUPPORTED
    against = found_in("tight", **planted_claims.CONTRADICTING["tight"])
    assert against.verdict is Verdict.NOT_TESTABLE
    assert together(against.judgements) is Verdict.REFUTED


def test_an_undecided_claim_has_no_practical_meaning():
    undecided = judge("x", Interval(1, 0, 2), above=0.5)
    found = found_if_true("products")
    assert found.in_practice == found.practice
    assert replace(found, judgements=[undecided]).in_practice == ""


def test_three_statements_are_from_the_abstract():
    named = [name for name, claim in CLAIMS.items() if claim.from_abstract]
    assert named == ["products", "finite-data", "lower-bound"]


def test_searches_of_one_size_share_no_seed():
    for size in SIZES:
        taken = set()
        for name in {sweep for claim in CLAIMS.values() for sweep in claim.sweeps}:
            spec = sweep_of(name, size)
            if spec.critical is None:
                continue
            budget = spec.critical["budget"]
            seeds = range(spec.first_seed, spec.first_seed + budget * spec.size)
            assert not taken & set(seeds), name
            taken |= set(seeds)


def test_an_unknown_claim_is_refused_with_the_list_of_claims():
    with pytest.raises(ProblemError, match="there is no claim 'foo'; claims are products, "):
        claims_named("foo")


def test_an_interval_that_touches_an_end_does_not_decide():
    assert judge("x", Interval(1, 0.5, 1.5), above=1).verdict is Verdict.OPEN
    assert judge("x", Interval(1, -math.inf, math.inf), below=1).verdict is Verdict.OPEN
    assert judge("x", Interval(2, 1.5, 2.5), above=1, below=2.2).verdict is Verdict.OPEN
    assert judge("x", Interval(3, 2.5, 3.5), above=1, below=2.2).verdict is Verdict.REFUTED


def test_one_failure_outweighs_all_else():
    good, bad, unclear = (
        judge("x", interval, above=1)
        for interval in (Interval(3, 2, 4), Interval(0, -1, 0.5), Interval(1, 0, 2))
    )
    assert together([good, good]) is Verdict.SUPPORTED
    assert together([good, unclear]) is Verdict.OPEN
    assert together([good, unclear, bad]) is Verdict.REFUTED
