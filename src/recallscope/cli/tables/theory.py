"""Closed forms, bounds and checks, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from recallscope.cli.tables.output import capital, print_problem, print_table, say
from recallscope.parts.axes import axis_field
from recallscope.problem import Problem
from recallscope.theory.choosing import law_named, say_extrapolated
from recallscope.theory.scope import exposures, scope

if TYPE_CHECKING:
    from recallscope.theory.budgets import Allocation
    from recallscope.theory.capacity import Solution
    from recallscope.theory.lower_bound import Bound
    from recallscope.theory.prediction import Prediction
    from recallscope.validation.check import CheckReport

_OF_THE_LABEL = "sampling"  # a noise of the right label alone


_STEPS = "This is after three gradient steps."


def print_prediction(found: Prediction) -> None:
    _print_if_trained(found.problem)
    print_problem(found.problem)
    if found.law is None:
        print(f"There is {found.reason}.")
        print_nearest(found)
        return
    law = law_named(found.law)
    print(f"{scope(found.problem)} Law: {found.law}, {found.kind}, {found.status}.")
    errors = found.recorded_error
    columns = {
        "90 % interval": {name: _interval(*ends) for name, ends in found.intervals.items()},
        "mean error": {name: f"{error.mean:.4f}" for name, error in errors.items()},
        "median error": {name: f"{error.median:.4f}" for name, error in errors.items()},
        "numerical error": {name: f"{error:.4f}" for name, error in found.errors.items()},
    }
    known = {name: numbers for name, numbers in columns.items() if numbers}
    rows = [
        [_spelt(name), f"{value:.4f}", *(each.get(name, "–") for each in known.values())]
        for name, value in found.accuracies.items()
    ]
    print_table(("accuracy", "predicted", *known), rows)
    said = f"{exposures(found.problem)}."
    for error in list(found.recorded_error.values())[:1]:
        said += (
            f" Errors: predicted minus measured, at the {error.problems} measured problems nearest "
            "to this one."
        )
    print(said)
    print_extrapolated([found.problem])
    if found.factors:
        shares = [
            [_spelt(name), f"{value:.3f}", origin]
            for name, (value, origin) in found.factors.items()
        ]
        print_table(("factor", "share", "from"), shares, slice(1, 2))
    if found.quantities:
        rows = [[_spelt(name), f"{value:.5g}"] for name, value in found.quantities.items()]
        print_table(("quantity", "value"), rows)
    if found.noise:
        _print_noise(found.noise)
    if text := law.explain(found.problem, found):
        print(text)


def _interval(low: float, high: float) -> str:
    return f"{low:.4f} to {high:.4f}"


def _print_if_trained(problem: Problem) -> None:
    """Say in the first line that three steps are no training, and what training comes to."""
    from recallscope.theory.if_trained import predict_if_trained

    trained = predict_if_trained(problem)
    if trained is None:
        return
    if trained.law is None:
        print(f"{_STEPS} Trained by {trained.problem.learner}: {trained.reason}.")
        return
    recall = trained.estimates["recall_accuracy"]
    between = "" if recall.low is None else f" ({_interval(recall.low, recall.high or 1.0)})"
    print(
        f"{_STEPS} Trained by {trained.problem.learner}: recall {recall.value:.4f}{between}, "
        f"{trained.status}."
    )


def print_solved_if_trained(problem: Problem, quantity: str, target: float, accuracy: str) -> None:
    """The same of a size that reaches a target."""
    from recallscope.theory.if_trained import solve_if_trained, trained_instead

    other = trained_instead(problem)
    if other is None:
        return
    trained = solve_if_trained(problem, quantity, target, accuracy)
    if trained is None:
        # A law of training may know nothing of this accuracy, or take too long next to an answer.
        print(f"{_STEPS} For a trained model give --learner {other.learner}.")
        return
    found = "none" if trained.value is None else f"{quantity} = {trained.value}"
    low, high = ("none" if end is None else end for end in trained.range)
    between = "" if trained.value is None else f" ({low} to {high})"
    print(f"{_STEPS} Trained by {other.learner}: {found}{between}, {trained.prediction.status}.")


def print_nearest(found: Prediction) -> None:
    """Say which problem could be answered, by what is other in it."""
    if found.nearest is None:
        return
    there, here = found.nearest.to_dict(), found.problem.to_dict()
    changed = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    said = ", ".join(f"{name} {getattr(found.nearest, name, 'left out')}" for name in changed)
    print(f"The nearest problem with an answer has {said}.")


def _spelt(name: str) -> str:
    return name.removesuffix("_accuracy").replace("_", " ")


def _print_noise(noise: Mapping[str, Mapping[str, float]]) -> None:
    """The variances of every stage; what is of the right label alone is no part of the sum."""

    def row(name: str, values: Iterable[float | None]) -> list[str]:
        return [_spelt(name), *("–" if each is None else f"{each:.3g}" for each in values)]

    terms = dict.fromkeys(term for named in noise.values() for term in named)
    rows: list[list[str] | None] = [
        row(term, cells)
        for term in terms
        if any(cells := [named.get(term) for named in noise.values()]) and term != _OF_THE_LABEL
    ]
    others = [
        sum(variance for term, variance in named.items() if term != _OF_THE_LABEL)
        for named in noise.values()
    ]
    rows.append(row("together", others))
    if _OF_THE_LABEL in terms:
        rows += [None, row(_OF_THE_LABEL, [each.get(_OF_THE_LABEL) for each in noise.values()])]
    print_table(("noise", *map(_spelt, noise)), rows)


def print_extrapolated(problems: Iterable[Problem], called: str = "") -> None:
    """Say where closed forms are used outside of what they were compared with, if anywhere."""
    if said := say_extrapolated(problems, called):
        print(f"{said}. The law was not compared with experiments there.")


def print_solution(found: Solution) -> None:
    print_solved_if_trained(found.problem, found.quantity, found.target, found.accuracy)
    print(scope(found.problem))
    if found.value is None:
        print(f"No {found.quantity} reaches {found.target:g}: {found.reason}.")
        print_extrapolated([found.problem])
        return
    at = found.prediction.accuracies.get(found.accuracy)
    predicted = "not known" if at is None else f"{at:.4f}"
    grows = axis_field(found.quantity, found.problem.parts()).grows
    extreme = "smallest" if grows else "largest"
    name = "vocab (facts)" if found.quantity == "vocab" else found.quantity
    print(
        f"{name} = {found.value}, the {extreme} that reaches "
        f"{found.accuracy.replace('_', ' ')} {found.target:g} (predicted {predicted})"
    )
    if found.reason:
        print(f"{capital(found.reason)}.")
    if found.range != (None, None):
        ends = ["none" if end is None else str(end) for end in found.range]
        print(
            f"From {ends[0]} to {ends[1]}, if the prediction is off by as much as at the measured "
            "problems nearest to this one."
        )
    print(f"{exposures(found.problem)}. Law: {found.prediction.law}, {found.prediction.kind}.")
    print_extrapolated([found.problem])


def print_allocation(found: Allocation) -> None:
    from recallscope.theory.budgets import COUNTED

    print(scope(found.problem))
    print(f"The highest {_spelt(found.accuracy)} within {found.limit:,} {found.budget}:")
    rows = []
    for row, each in zip(found.rows(), found.predictions, strict=True):
        value, low, high, _ = each.estimates[found.accuracy]
        between = "–" if low is None or high is None else _interval(low, high)
        sizes = [str(row[name] or "none") for name in found.sizes]
        rows.append((*sizes, f"{row['spent']:,}", f"{value:.4f}", between, str(each.status)))
    print_table((*found.sizes, found.budget, "predicted", "90 % interval", "status"), rows)
    print(COUNTED)
    print(f"{exposures(found.problem)}. Law: {each.law}, {each.kind}.")
    print_extrapolated([found.problem])


def print_bound(found: Bound) -> None:
    problem = found.problem
    print(
        f"To have {found.accuracy:g} of {problem.vocab} facts right, any reader of the first "
        f"gradient needs N ≥ {math.ceil(found.samples) if found.samples < 1e15 else found.samples}."
    )
    if math.isfinite(problem.samples):
        print(f"From N = {problem.samples:g} none has them right for V above {found.vocab:g}.")
    rows = []
    for name in ("gradient", "counting", "coverage"):
        binds = " (binds)" if name == found.binding else ""
        rows.append((name + binds, f"{getattr(found, f'{name}_samples'):.6g}"))
    print_table(("bound", "samples"), rows)
    print(
        f"Needed: {found.information_needed:.6g} nats. The gradient of N = {problem.samples:g} "
        f"tells at most {found.gradient_information:.6g}, in {found.gradient_rank:.6g} dimensions "
        f"with a signal-to-noise of {found.signal_to_noise:.3g} each."
    )
    print(found.assumption)
    print(found.not_covered)


def print_check(report: CheckReport) -> None:
    print_problem(report.problem)
    rows, last = [], None
    for c in report.comparisons:
        name = f"{c.stage}: {c.term}".replace("_", " ")
        slopes = (f"{c.measured_slope:.2f} ± {c.slope_error:.2f}", f"{c.predicted_slope:.2f}")
        label = "" if name == last else name
        rows.append((label, c.size, f"{c.ratio:.2f}", *slopes, str(c.verdict)))
        last = name
    print_table(("noise", "along", "ratio", "slope", "theory", "verdict"), rows, slice(2, 5))
    print(
        f"Ratio: measured over predicted. Slope: measured, of logarithms, ± a standard error, from "
        f"means over {report.seeds} instances; beside it the theory's."
    )
    unclear = sum(str(c.verdict) == "unclear" for c in report.comparisons)
    names = ", ".join(f"{term} of {stage}" for stage, term in report.failed)
    say(
        unclear
        and f"{unclear} of {len(report.comparisons)} comparisons are unclear: take more seeds.",
        f"FAILED: {names.replace('_', ' ')}." if names else "No closed form failed.",
    )
