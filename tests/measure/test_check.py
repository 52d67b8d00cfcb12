"""The check passes on both models, and names a term with a wrong formula."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import recallscope
from recallscope import Problem, ProblemError
from recallscope.measure import check_tables
from recallscope.measure.check_report import CheckOutcome, Measured, check, compare, measure_around
from recallscope.measure.check_tables import compare_tables, measure_tables_around
from recallscope.measure.monte_carlo import measure
from recallscope.model.embeddings import draw_embeddings
from recallscope.plot.check import check_figure
from recallscope.plot.style import check_path, save
from recallscope.theory import attention_scores, readout

BASE = {"vocab": 192, "samples": 768, "dim": 32, "length": 40}
PROBLEMS = {
    "attention": Problem(**BASE, trigger_in_values=True),
    "long": Problem(**(BASE | {"length": 80})),
    "mlp": Problem(**BASE, width=128, activation="relu"),
    "tanh": Problem(**BASE, width=64, activation="tanh"),
}
PROBLEMS["quadratic"] = Problem(
    vocab=192, samples=4096, dim=20, length=8, width=256, activation="quadratic"
)
SEEDS = {"quadratic": 8, "attention": 8, "tanh": 8}  # enough; 16 for the others


@cache
def _measured(name: str) -> Measured:
    return measure_around(PROBLEMS[name], SEEDS.get(name, 16))


def measured(name: str) -> Measured:
    return copy.deepcopy(_measured(name))


LONG = ("mlp", "quadratic", "long")  # half a minute each


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in LONG])
def test_the_closed_forms_pass(name: str) -> None:
    assert_passes(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_the_closed_forms_pass_where_measuring_takes_long(name: str) -> None:
    assert_passes(name)


def assert_passes(name: str) -> None:
    report = compare(PROBLEMS[name], measured(name))
    assert report.failed == []
    verdicts = [c.verdict for c in report.comparisons]
    assert verdicts.count(CheckOutcome.PASS) > len(verdicts) / 2
    json.dumps(report.to_dict(), allow_nan=False)


# For each closed form: its module, a problem in which it matters, and the size with an exponent
# that is made wrong by one. The check must name the term, in the stages where it is measured.
WRONG = [
    (readout, "interference", "attention", "samples", {("recall", "interference")}),
    (readout, "kernel_interference", "quadratic", "dim", {("recall", "kernel_interference")}),
    (readout, "gradient_noise", "attention", "samples", {("first_gradient", "gradient_noise")}),
    (readout, "mean_bias", "attention", "samples", {("recall", "mean_bias")}),
    (readout, "mlp_noise", "mlp", "width", {("recall", "mlp_noise")}),
    (readout, "sampling", "attention", "samples", {("recall", "sampling")}),
    (attention_scores, "memorisation", "attention", "samples", {("attention", "memorisation")}),
    (attention_scores, "cross_talk", "attention", "dim", {("attention", "cross_talk")}),
    (attention_scores, "mean_bias", "long", "length", {("attention", "mean_bias")}),
    (attention_scores, "gradient_noise", "long", "length", {("attention", "gradient_noise")}),
    (attention_scores, "mlp_noise", "mlp", "length", {("attention", "mlp_noise")}),
]


@pytest.mark.parametrize(
    ("module", "term", "name", "size", "expected"),
    [
        each if each[2] not in LONG else pytest.param(*each, marks=pytest.mark.slow)
        for each in WRONG
    ],
)
def test_a_wrong_exponent_fails_by_name(
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    term: str,
    name: str,
    size: str,
    expected: set[tuple[str, str]],
) -> None:
    problem = PROBLEMS[name]
    right = getattr(module, term)
    names = right.__code__.co_varnames[: right.__code__.co_argcount]

    def wrong(*args: Any, **keywords: Any) -> Any:
        given = dict(zip(names, args, strict=False)) | keywords
        factor = np.asarray(given[size]) / getattr(problem, size)
        value = right(*args, **keywords)
        if isinstance(value, attention_scores.Spread):
            return attention_scores.Spread(value.tokens * factor, value.trigger * factor)
        return value * factor

    monkeypatch.setattr(module, term, wrong)
    # Two other modules hold these by name.
    if term in ("cross_talk", "sampling"):
        monkeypatch.setattr(f"recallscope.theory.noise.{term}", wrong)
    failed = set(compare(problem, measured(name)).failed)
    assert expected <= failed
    # No other term fails, except the same one of another stage.
    assert {found for _, found in failed} == {term}


def test_the_signal_fails_if_it_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., Any] = attention_scores.gains

    def wrong(s: Any, h: Any) -> Any:
        gains = right(s, h)
        return gains._replace(signal=gains.signal * (s.dim / 32))

    monkeypatch.setattr(attention_scores, "gains", wrong)
    assert ("attention", "signal") in compare(PROBLEMS["attention"], measured("attention")).failed


def test_too_few_seeds_are_unclear_not_passed() -> None:
    report = check(Problem(vocab=64, samples=256, dim=8, length=16), seeds=2)
    assert CheckOutcome.UNCLEAR in {c.verdict for c in report.comparisons}


def test_monte_carlo_is_a_function_of_problem_and_seed() -> None:
    problem = Problem(vocab=64, samples=256, dim=8, length=4, width=16)
    assert measure(problem, 3) == measure(problem, 3)
    assert measure(problem, 3) != measure(problem, 4)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"embedding": "orthogonal", "dim": 65}, "random embeddings"),
        ({"samples": 10**8}, "choose a smaller problem"),
        ({"length": 1}, "length of at least 2"),
        ({"dim": 2}, "dim of at least 4"),
        ({"samples": 32}, "samples of at least 64"),
        ({"length": 10**6}, "choose a smaller problem"),
        ({"width": 10**6}, "choose a smaller problem"),
        ({"samples": float("inf")}, "choose a smaller problem"),
    ],
)
def test_problems_that_cannot_be_checked(fields: dict, sentence: str) -> None:
    problem = Problem(**({"vocab": 64, "samples": 256, "dim": 8, "length": 4} | fields))
    with pytest.raises(ProblemError, match=sentence):
        check(problem, seeds=2)


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_figure_is_written(tmp_path, suffix: str) -> None:
    report = compare(PROBLEMS["tanh"], measured("tanh"))
    path = tmp_path / f"check.{suffix}"
    save(check_figure(report.to_dict()), path)
    assert path.stat().st_size > 10_000


def test_figures_go_where_they_can(tmp_path) -> None:
    with pytest.raises(ProblemError, match=r"written as \.pdf, \.png, \.svg, not 'a.gif'"):
        check_path(tmp_path / "a.gif")
    with pytest.raises(ProblemError, match="there is no folder"):
        check_path(tmp_path / "nowhere" / "a.png")


# Embedding matrices have a separate theory; its terms are measured in the same way.

TABLES = Problem(
    vocab=192,
    samples=768,
    dim=24,
    length=24,
    embedding="structured",
    common_mean=0.25,
    spectrum=0.5,
    length_spread=0.45,
)


@cache
def measured_on_tables() -> Measured:
    return measure_tables_around(TABLES, None, 12)


def test_the_theory_of_tables_passes() -> None:
    report = compare_tables(TABLES, None, measured_on_tables())
    assert report.failed == []
    judged = {c.term for c in report.comparisons if c.verdict is not CheckOutcome.NEGLIGIBLE}
    assert judged >= {name for _, names in TABLE_TERMS for name in names}


TABLE_TERMS = [
    (
        "attention_terms",
        ("cross_talk", "mean_vector", "lengths", "gradient_noise", "trigger_noise"),
    ),
    ("recall_terms", ("interference", "spectrum", "mean_vector", "sampling")),
]


@pytest.mark.parametrize(
    ("function", "term"), [(function, term) for function, terms in TABLE_TERMS for term in terms]
)
def test_a_wrong_exponent_of_a_term_of_tables_fails_by_name(
    monkeypatch: pytest.MonkeyPatch, function: str, term: str
) -> None:
    right: Callable[..., Any] = getattr(check_tables, function)

    def wrong(table: Any, samples: float, *args: Any) -> Any:
        signal, terms = right(table, samples, *args)
        return signal, terms | {term: terms[term] * samples / TABLES.samples}

    monkeypatch.setattr(check_tables, function, wrong)
    stage = function.removesuffix("_terms")
    assert compare_tables(TABLES, None, measured_on_tables()).failed == [(stage, term)]


@pytest.mark.parametrize("stage", ["attention", "recall"])
def test_a_wrong_signal_of_tables_fails(monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    right: Callable[..., Any] = getattr(check_tables, f"{stage}_terms")

    def wrong(table: Any, samples: float, *args: Any) -> Any:
        signal, terms = right(table, samples, *args)
        return signal * samples / TABLES.samples, terms

    monkeypatch.setattr(check_tables, f"{stage}_terms", wrong)
    assert compare_tables(TABLES, None, measured_on_tables()).failed == [(stage, "signal")]


def test_arrays_are_checked_along_samples_and_length() -> None:
    problem = Problem(vocab=64, samples=256, dim=12, length=8, embedding="structured", spectrum=1.0)
    arrays = draw_embeddings(problem, 0)
    named = Problem(vocab=64, samples=256, dim=12, length=8, embedding=arrays.name)
    report = recallscope.check(named, seeds=2, embeddings=arrays, progress=False)
    assert {each.size for each in report.comparisons} == {"samples", "length"}
    with pytest.raises(ProblemError, match="MLP"):
        recallscope.check(named.replace(width=64), seeds=2, embeddings=arrays, progress=False)
