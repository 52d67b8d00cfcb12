"""The commands of closed forms: predict, solve, bound, check."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from recallscope.cli import output
from recallscope.cli.options import Asked, takes
from recallscope.cli.parsing import closed_form_problem, fill_in, problem_to_run
from recallscope.cli.progress import ProgressDisplay
from recallscope.cli.sentences import said
from recallscope.common.csv_files import number_or_text
from recallscope.common.formatting import format_duration
from recallscope.parts.axes import axis_field
from recallscope.problem import Problem, ProblemError, whole_number
from recallscope.results.labels import accuracy_label
from recallscope.theory.choosing import choose, law_named
from recallscope.theory.scope import exposures, scope

if TYPE_CHECKING:
    from recallscope.theory.budgets import Allocation
    from recallscope.theory.capacity import Solution
    from recallscope.theory.lower_bound import Bound
    from recallscope.theory.prediction import Prediction
    from recallscope.validation.check import CheckReport

_PATIENCE = 10.0  # seconds that a command may be silent
_OF_THE_LABEL = "sampling"  # a noise of the right label alone
_STEPS = "This is after three gradient steps."


@takes("problem", "output", "predict", arrays=True)
def predict(asked: Asked, law: str | None) -> int:
    """Predict the accuracies by a law, and explain them; exit 1 if no law applies.

    With --learner adam (or gd, muon, converged) it predicts recall at the end of training, by a
    fitted law.

    \b
    Examples:
      recallscope predict --vocab 512 --samples 8192 --dim 64 --length 32
      recallscope predict --vocab 512 --samples 8192 --dim 64 --length 32 --learner adam
      recallscope predict --vocab 1e9 --samples 1e13 --dim 16384 --length 1e6 --json
      recallscope predict --vocab 512 --samples 4096 --dim 64 --length 8 \\
        --embedding structured --field common_mean=0.7
    """
    from recallscope.api.predict import predict as find

    problem, arrays = problem_to_run(asked.problem)
    with ProgressDisplay("tables") as display:
        choice = choose(problem, law=law)
        seconds = 0.0 if choice.name is None else choice.law.seconds(problem)
        if seconds > _PATIENCE:  # products of large matrices report no progress
            display.say(f"the prediction takes about {format_duration(seconds)}")
        found = find(problem, embeddings=arrays, law=law, progress=display.update)
    asked.output.show(found, _print_prediction, lambda: if_trained(problem))
    return 0 if found.law is not None else 1


def if_trained(problem: Problem, *sought: Any) -> dict[str, Any]:
    """The recall after training, or the size that it needs, for JSON next to three steps."""
    from recallscope.theory.if_trained import predict_if_trained, solve_if_trained

    found = solve_if_trained(problem, *sought) if sought else predict_if_trained(problem)
    return {} if found is None else {"if_trained": found.to_dict()}


@takes("problem", "output", "solve")
def solve(
    asked: Asked,
    quantity: str | None,
    target: str,
    accuracy: str,
    within: str | None,
    law: str | None,
) -> int:
    """Find the size that reaches a target accuracy, all else given.

    It is the smallest samples, dim or width, or the largest vocab or length; exit 1 if there is
    none.

    With --within, find the best sizes within a budget. Parameters are spent on dim and width (or no
    MLP), tokens (samples × length) on samples, and compute (parameters × tokens) on all three.
    Parameters include frozen ones and embeddings: 2(V+1)d + 2d² for attention alone, and
    2(V+1)d + d² + 2md with an MLP.

    \b
    Examples:
      recallscope solve --for samples --target 0.9 --vocab 512 --dim 128 --length 16
      recallscope solve --for vocab --samples 1e6 --dim 256 --length 64
      recallscope solve --for samples --vocab 256 --dim 64 --length 8 \\
        --embedding structured --field common_mean=0.5
      recallscope solve --within parameters=1e5 --vocab 512 --samples 8192 --length 16
    """
    from recallscope.api import theory
    from recallscope.theory.budgets import FREE, budget_from

    if quantity is None and within is None:
        raise ProblemError("Missing option '--for' or '--within'; see recallscope solve --help")
    for size in [quantity] if quantity else FREE[budget_from(within or "")[0]]:
        fill_in(asked.problem, size)
    problem, arrays = problem_to_run(asked.problem)
    find: Any = theory.solve
    how = {"accuracy": accuracy, "within": within, "embeddings": arrays, "law": law}
    with ProgressDisplay("sizes" if within else "tables") as display:
        found = find(problem, quantity, number_or_text(target), **how, progress=display.update)
    if within is not None:
        asked.output.show(found, _print_allocation)
        return 0
    target_of = quantity, found.target, found.accuracy
    asked.output.show(found, _print_solution, lambda: if_trained(problem, *target_of))
    return 0 if found.status == "ok" else 1


@takes("problem", "output", "bound")
def bound(asked: Asked, target: str) -> None:
    """Lower bound for estimators that see only the first gradient.

    \b
    Examples:
      recallscope bound --vocab 512 --samples 8192 --dim 64 --length 32
      recallscope bound --vocab 512 --samples 8192 --dim 64 --length 16 --width 256 --target 0.9
    """
    from recallscope.api.theory import bound as find

    # The bound on N needs no N; given one, it also bounds V.
    asked.problem["samples"] = asked.problem["samples"] or "inf"
    asked.output.show(
        find(closed_form_problem(asked.problem), number_or_text(target)), _print_bound
    )


@takes("problem", "output", "check", vocab="256", samples="1024", dim="32", length="48")
def check(asked: Asked, seeds: str) -> int:
    """Compare every closed form with Monte Carlo, around one small problem.

    Each size is halved and doubled; levels and slopes are compared. Exit code 1 if a term fails.

    \b
    Examples:
      recallscope check --figure check.png
      recallscope check --width 256 --trigger-in-values --json
      recallscope check --embedding structured --field spectrum=1
    """
    from recallscope.api.check import check as measure

    problem, arrays = problem_to_run(asked.problem)
    count = whole_number("seeds", number_or_text(seeds), 2)
    with ProgressDisplay(f"{count} seeds") as display:
        report = measure(problem, count, embeddings=arrays, progress=display.update)
    asked.output.show(report, _print_check)
    return 1 if report.failed else 0


def _print_prediction(found: Prediction) -> None:
    output.print_problem(found.problem)
    _print_both(found)
    if found.law is None:
        print(f"There is {found.reason}.")
        _print_nearest(found)
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
        [accuracy_label(name), f"{value:.4f}", *(each.get(name) for each in known.values())]
        for name, value in found.accuracies.items()
    ]
    output.print_table(("accuracy", "predicted", *known), rows)
    texts = [f"{exposures(found.problem)}."]
    texts += [said("errors", error) for error in list(found.recorded_error.values())[:1]]
    print(" ".join(texts))
    output.print_extrapolated([found.problem])
    if found.factors:
        factors = [
            [accuracy_label(name), f"{value:.3f}", origin]
            for name, (value, origin) in found.factors.items()
        ]
        output.print_table(("factor", "value", "from"), factors, slice(1, 2))
    if found.quantities:
        rows = [[accuracy_label(name), f"{value:.5g}"] for name, value in found.quantities.items()]
        output.print_table(("quantity", "value"), rows)
    if found.noise:
        _print_noise(found.noise)
    if text := law.explain(found.problem, found):
        print(text)


def _interval(low: float, high: float) -> str:
    return f"{low:.4f} to {high:.4f}"


def _print_both(found: Prediction) -> None:
    """Print recall after three steps and after training, each in a row with its name."""
    from recallscope.theory.if_trained import predict_if_trained

    trained = predict_if_trained(found.problem)
    if trained is None:
        return
    rows: list[list[str | None]] = []
    after = (("three gradient steps", found), (f"training by {trained.problem.learner}", trained))
    for name, each in after:
        if each.law is None:
            rows.append([name, None, None, each.reason or ""])
            continue
        recall, low, high, _ = each.estimates["recall_accuracy"]
        interval = None if low is None else _interval(low, high or 1.0)
        rows.append([name, f"{recall:.4f}", interval, str(each.status)])
    output.print_table(("after", "recall", "90 % interval", "status"), rows, slice(1, 3))


def print_solved_if_trained(problem: Problem, quantity: str, target: float, accuracy: str) -> None:
    """The same for a size that reaches a target."""
    from recallscope.theory.if_trained import solve_if_trained, trained_instead

    other = trained_instead(problem)
    if other is None:
        return
    trained = solve_if_trained(problem, quantity, target, accuracy)
    if trained is None:
        # A law of training may lack this accuracy, or take too long.
        print(f"{_STEPS} For a trained model give --learner {other.learner}.")
        return
    found = "none" if trained.value is None else f"{quantity} = {trained.value}"
    low, high = ("none" if end is None else end for end in trained.range)
    between = "" if trained.value is None else f" ({low} to {high})"
    print(f"{_STEPS} Trained by {other.learner}: {found}{between}, {trained.prediction.status}.")


def _print_nearest(found: Prediction) -> None:
    """Print the nearest problem with an answer, by the fields that differ."""
    if found.nearest is None:
        return
    there, here = found.nearest.to_dict(), found.problem.to_dict()
    changed = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    fields = ", ".join(f"{name} {getattr(found.nearest, name, 'left out')}" for name in changed)
    print(f"The nearest problem with an answer has {fields}.")


def _print_noise(noise: Mapping[str, Mapping[str, float]]) -> None:
    """Print the variances of every stage; noise of the right label alone is not in the sum."""

    def row(name: str, values: Iterable[float | None]) -> list[str | None]:
        return [accuracy_label(name), *(output.number(each, ".3g") for each in values)]

    terms = dict.fromkeys(term for named in noise.values() for term in named)
    rows: list[list[str | None] | None] = [
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
    output.print_table(("noise", *map(accuracy_label, noise)), rows)


def _print_solution(found: Solution) -> None:
    print_solved_if_trained(found.problem, found.quantity, found.target, found.accuracy)
    print(scope(found.problem))
    if found.value is None:
        print(f"No {found.quantity} reaches {found.target:g}: {found.reason}.")
        output.print_extrapolated([found.problem])
        return
    at = found.prediction.accuracies.get(found.accuracy)
    predicted = "not known" if at is None else f"{at:.4f}"
    grows = axis_field(found.quantity, found.problem.parts()).grows
    extreme = "smallest" if grows else "largest"
    name = "vocab (facts)" if found.quantity == "vocab" else found.quantity
    how = {"accuracy": found.accuracy.replace("_", " "), "predicted": predicted}
    print(said("solved", found, name=name, extreme=extreme, **how))
    if found.reason:
        print(f"{output.capital(found.reason)}.")
    if found.range != (None, None):
        low, high = ("none" if end is None else end for end in found.range)
        print(said("range", found, low=low, high=high))
    print(f"{exposures(found.problem)}. Law: {found.prediction.law}, {found.prediction.kind}.")
    output.print_extrapolated([found.problem])


def _print_allocation(found: Allocation) -> None:
    from recallscope.theory.budgets import COUNTED

    print(scope(found.problem))
    print(f"The highest {accuracy_label(found.accuracy)} within {found.limit:,} {found.budget}:")
    rows = []
    for row, each in zip(found.rows(), found.predictions, strict=True):
        value, low, high, _ = each.estimates[found.accuracy]
        between = None if low is None or high is None else _interval(low, high)
        sizes = (row[name] or "none" for name in found.sizes)
        rows.append((*sizes, f"{row['spent']:,}", f"{value:.4f}", between, each.status))
    output.print_table((*found.sizes, found.budget, "predicted", "90 % interval", "status"), rows)
    print(COUNTED)
    print(f"{exposures(found.problem)}. Law: {each.law}, {each.kind}.")
    output.print_extrapolated([found.problem])


def _print_bound(found: Bound) -> None:
    problem = found.problem
    least = math.ceil(found.samples) if found.samples < 1e15 else found.samples
    print(said("least", found, least=least))
    if math.isfinite(problem.samples):
        print(f"From N = {problem.samples:g} none has them right for V above {found.vocab:g}.")
    rows = []
    for name in ("gradient", "counting", "coverage"):
        dominant = " (dominant)" if name == found.binding else ""
        rows.append((name + dominant, f"{getattr(found, f'{name}_samples'):.6g}"))
    output.print_table(("bound", "samples"), rows)
    _print_needed(found)
    print(said("information", found))
    print(found.assumption)
    print(found.not_covered)


def _print_needed(found: Bound) -> None:
    """Print what the bound is to be compared with, by closed forms."""
    from recallscope.theory.capacity import solve as solved

    readers = (("the first-gradient readout", "one_step"), ("three steps", "recall"))
    rows = []
    for name, accuracy in readers:
        asked = (found.problem, "samples", found.accuracy, f"{accuracy}_accuracy")
        try:
            value = solved(*asked).value
        except ProblemError:  # no closed form
            return
        rows.append((name, "none reaches it" if value is None else f"{value:,.0f}"))
    output.print_table(("what needs how many, by closed forms", "samples"), rows)
    print(
        "Three steps may need less than the bound: it is about readers of the first gradient, and "
        "the second and third gradients see which token is marked."
    )


def _print_check(report: CheckReport) -> None:
    output.print_problem(report.problem)
    rows, last = [], None
    for c in report.comparisons:
        name = f"{c.stage}: {c.term}".replace("_", " ")
        slopes = (f"{c.measured_slope:.2f} ± {c.slope_error:.2f}", f"{c.predicted_slope:.2f}")
        label = "" if name == last else name
        rows.append((label, c.size, f"{c.ratio:.2f}", *slopes, c.verdict))
        last = name
    output.print_table(("noise", "along", "ratio", "slope", "theory", "verdict"), rows, slice(2, 5))
    print(said("checked", report))
    unclear = sum(c.verdict == "unclear" for c in report.comparisons)
    names = ", ".join(f"{term} of {stage}" for stage, term in report.failed)
    output.say(
        unclear
        and f"{unclear} of {len(report.comparisons)} comparisons are unclear: take more seeds.",
        f"FAILED: {names.replace('_', ' ')}." if names else "No closed form failed.",
    )
