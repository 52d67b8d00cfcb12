"""Verdicts follow from the data: planted truths are supported, planted falsehoods refuted."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import planted_statements
import pyarrow.compute as pc
import pytest
from lanes import slow_after_first

from recallscope.common.errors import ProblemError
from recallscope.statistics.intervals import Interval
from reproduction import predictions
from reproduction.evidence import Evidence
from reproduction.intervals import shown
from reproduction.report import write_figures
from reproduction.statements import STATEMENTS, finding, statements_named
from reproduction.sweeps import SIZES
from reproduction.verdict import Verdict, judge, together


def found_in(name, **changed):
    statement = STATEMENTS[name]
    truths = planted_statements.SUPPORTING | (
        planted_statements.NEWS_IS_RIGHT if name == "news" else {}
    )
    return finding(statement, planted_statements.evidence(statement.sweeps, truths | changed))


found_if_true = cache(found_in)
ATTENTION = planted_statements.SWEEPS["attention"].of_size("small")


@pytest.mark.parametrize("name", slow_after_first(STATEMENTS, 4))
def test_a_planted_truth_is_supported(name):
    found = found_if_true(name)
    wrong = [each for each in found.judgements if each.verdict is not Verdict.SUPPORTED]
    assert not wrong, [(each.what, each.measured, each.expected) for each in wrong]
    beyond = {"tight": Verdict.NOT_TESTABLE, "lower-bound": Verdict.NOT_TESTABLE}
    beyond["products"] = Verdict.OPEN  # the sentence says more than its predictions
    assert found.verdict is beyond.get(name, Verdict.SUPPORTED)


@pytest.mark.parametrize("name", slow_after_first(STATEMENTS, 4))
def test_contradicting_data_flips_the_verdict(name):
    found = found_in(name, **planted_statements.CONTRADICTING[name])
    assert together(found.judgements) is Verdict.REFUTED, [
        (each.what, each.measured, str(each.verdict)) for each in found.judgements
    ]


@pytest.mark.parametrize(
    ("name", "changed"),
    slow_after_first(
        [
            (name, each)
            for name, changes in planted_statements.ALSO_CONTRADICTING.items()
            for each in changes
        ],
        4,
    ),
)
def test_each_thing_that_a_statement_says_can_flip_it(name, changed):
    found = found_in(name, **changed)
    assert together(found.judgements) is Verdict.REFUTED, [
        (each.what, each.measured, str(each.verdict)) for each in found.judgements
    ]


def test_either_reading_of_the_news_will_do():
    """The samples needed contradict the summary; the facts stored agree with it."""
    changed = {"random-long": planted_statements.SUPPORTING["random-long"]}
    assert found_in("news", **changed).verdict is Verdict.SUPPORTED


# A crash is never a data point, and a bound is no measurement.


def check_report(found, tmp_path, name):
    """The text that `run` prints has neither NaN nor infinity, and is short."""
    judgements = [f"{shown(each.measured)} {each.expected}" for each in found.judgements]
    text = "\n".join([found.answer, found.reply, *judgements])
    assert not re.search(r"\b(nan|inf)\b", text)
    assert len(found.answer) < 3000  # no number has three hundred digits
    assert write_figures([found], tmp_path)


@pytest.mark.parametrize("name", slow_after_first(STATEMENTS, 4))
def test_where_all_runs_failed_nothing_is_concluded(name, tmp_path):
    statement = STATEMENTS[name]
    lost = planted_statements.evidence(
        statement.sweeps, planted_statements.SUPPORTING, lost=lambda problem, seed: True
    )
    found = finding(statement, lost)
    if name not in ("lower-bound", "first-steps"):  # these use readings, at least in part
        assert together(found.judgements) is Verdict.OPEN
        assert found.verdict in (Verdict.OPEN, Verdict.NOT_TESTABLE)
    if name != "lower-bound":
        assert found.lost > 0
    assert all(row.get("value") is None for row in found.rows if row.get("status") == "failed")
    check_report(found, tmp_path, name)


def test_failed_runs_do_not_move_what_is_judged(tmp_path):
    statement = STATEMENTS["first-steps"]
    smallest = min(problem.samples for problem in ATTENTION.problems())
    lost = planted_statements.evidence(
        statement.sweeps,
        planted_statements.SUPPORTING,
        lost=lambda problem, seed: problem.samples == smallest,
    )
    found = finding(statement, lost)
    assert found.verdict is Verdict.OPEN
    assert found.lost == ATTENTION.seeds
    check_report(found, tmp_path, "first-steps")


@pytest.mark.parametrize(
    "name", slow_after_first(["products", "two-by-two", "trade-off", "finite-data", "news"], 2)
)
@pytest.mark.parametrize("size", [1e9, 1.0], ids=["never", "always"])
def test_targets_out_of_range_are_bounds(name, size, tmp_path):
    found = found_in(
        name, **dict.fromkeys((each.name for each in STATEMENTS[name].sweeps), lambda problem: size)
    )
    assert found.verdict is not Verdict.SUPPORTED
    assert {row["status"] for row in found.rows} == {"not_reached"}
    for row in found.rows:
        assert row["value"] is None
        assert (row["low"] is None) != (row["high"] is None)
    check_report(found, tmp_path, name)


@pytest.mark.parametrize("name", STATEMENTS)
def test_without_runs_a_statement_is_not_yet_measured(name):
    assert finding(STATEMENTS[name], Evidence.at(Path("nowhere"))) is None


def test_one_missing_sweep_is_enough():
    statement = STATEMENTS["first-steps"]
    planted = planted_statements.evidence(statement.sweeps, planted_statements.SUPPORTING)
    assert finding(statement, planted) is not None
    for sweep in statement.sweeps:
        others = planted.table.filter(pc.field("sweep") != sweep.name)
        assert finding(statement, Evidence(others, {})) is None


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_says_what_would_speak_for_and_against_it(name):
    statement = STATEMENTS[name]
    for text in (
        statement.title,
        statement.statement,
        statement.support,
        statement.contradict,
        statement.background,
    ):
        assert len(text) > 10
    found = found_if_true(name)
    assert 1 <= len(found.judgements) <= 10  # what the level of the intervals allows for
    assert found.picture.panels
    assert found.rows
    assert "nan" not in found.answer


def test_there_are_thirteen_statements_and_each_sweep_comes_in_three_sizes():
    assert len(STATEMENTS) == 13
    for size in SIZES:
        sweeps = [sweep.of_size(size) for sweep in planted_statements.SWEEPS.values()]
        assert len({sweep.settings for sweep in sweeps}) == 1


def test_seeds_of_full_size_come_from_the_hash_of_the_predictions():
    first, later = (
        int(hashlib.sha256(file.read_bytes()).hexdigest()[:10], 16)
        for file in (predictions.FIRST, predictions.LATER)
    )
    for name, sweep in planted_statements.SWEEPS.items():
        base = later if name in ("equal-size", "mlp-limits", "mlp-plane") else first
        assert sweep.of_size("full").first_seed == base + sweep.of_size("small").first_seed


def test_the_files_of_predictions_are_those_that_were_committed():
    assert predictions.file_hash(predictions.FIRST).startswith("4dafdfc6b280c9d8")
    assert predictions.file_hash(predictions.LATER).startswith("1b977dfc9c0d037f")


def test_every_statement_names_its_source_what_was_known_and_an_attack():
    for name, statement in STATEMENTS.items():
        assert statement.source, name
        assert predictions.known_before(name), name
        assert statement.attack.endswith("?"), name
        found = found_if_true(name)
        assert found.reply, name
        assert found.practice or statement.practice, name
        assert re.search(r"\d", found.reply), name  # an answer in numbers


def test_a_prediction_that_is_not_written_down_is_not_judged():
    with pytest.raises(ValueError, match="news predicts"):
        predictions.judged("news", {"another number": Interval(1, 0.5, 1.5)})


def test_a_statement_without_its_subject_is_not_testable():
    found = found_if_true("tight")
    assert found.verdict is Verdict.NOT_TESTABLE
    assert together(found.judgements) is Verdict.SUPPORTED
    against = found_in("tight", **planted_statements.CONTRADICTING["tight"])
    assert against.verdict is Verdict.NOT_TESTABLE
    assert together(against.judgements) is Verdict.REFUTED


def test_an_undecided_statement_has_no_practical_meaning():
    undecided = judge("x", Interval(1, 0, 2), above=0.5)
    found = found_if_true("products")
    assert found.in_practice == found.statement.practice != ""
    assert replace(found, judgements=[undecided]).in_practice == ""


def test_three_statements_are_from_the_abstract():
    named = [name for name, statement in STATEMENTS.items() if statement.from_abstract]
    assert named == ["finite-data", "products", "lower-bound"]


def test_searches_of_one_size_share_no_seed():
    for size in SIZES:
        taken = set()
        for name, sweep in planted_statements.SWEEPS.items():
            spec = sweep.of_size(size)
            if spec.critical is None:
                continue
            budget = spec.critical["budget"]
            seeds = range(spec.first_seed, spec.first_seed + budget * spec.size)
            assert not taken & set(seeds), name
            taken |= set(seeds)


def test_an_unknown_statement_is_refused_with_the_list_of_statements():
    with pytest.raises(ProblemError, match="there is no statement 'foo'; there are finite-data, "):
        statements_named("foo")


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
