"""Closed forms, bounds and checks, as tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from recallscope.cli.tables.output import print_problem
from recallscope.problem import Problem

if TYPE_CHECKING:
    from recallscope.theory.capacity import Prediction, Solution
    from recallscope.theory.lower_bound import Bound
    from recallscope.validation.check import CheckReport


def print_prediction(found: Prediction) -> None:
    print_problem(found.problem)
    if found.dominant is None:
        print(f"There is {found.reason}.")
        return
    for name in ("lock_accuracy", "recall_accuracy", "one_step_accuracy"):
        print(f"{name.replace('_', ' '):18} {getattr(found, name):.4f}")
    table = Table("noise", "one step", "lock", "recall")
    for column in table.columns[1:]:
        column.justify = "right"
    for term in dict.fromkeys(term for terms in found.noise.values() for term in terms):
        cells = [found.noise[stage].get(term) for stage in ("one_step", "lock", "recall")]
        if any(cells):
            shown = ["–" if cell is None else f"{cell:.3g}" for cell in cells]
            table.add_row(term.replace("_", " "), *shown)
    Console().print(table)
    stage, term = found.dominant
    law = " · ".join(f"{name}^{power:g}" for name, power in found.exponents.items() if power)
    print(
        "Variances in units of the squared signal. What binds: "
        f"{term.replace('_', ' ')} of {stage.replace('_', ' ')}, as {law or 'a constant'}."
    )
    if not found.in_tested_range:
        print("Not compared with simulation: tested were vocab >= 256, dim >= 16, width >= 64.")


def print_solution(found: Solution) -> None:
    from recallscope.theory.capacity import GROWS

    if found.value is None:
        print(f"No {found.quantity} reaches {found.target:g}: {found.reason}.")
        return
    at = getattr(found.prediction, found.accuracy)
    predicted = "not known" if at is None else f"{at:.4f}"
    extreme = "smallest" if GROWS[found.quantity] else "largest"
    print(
        f"{found.quantity} = {found.value}, the {extreme} that reaches "
        f"{found.accuracy.replace('_', ' ')} {found.target:g} (predicted {predicted})"
    )


def print_bound(problem: Problem, found: Bound) -> None:
    print(
        f"To have {found.accuracy:g} of {problem.vocab} facts right, any reader of the first "
        f"gradient needs N ≥ {math.ceil(found.samples) if found.samples < 1e15 else found.samples}."
    )
    if math.isfinite(problem.samples):
        print(f"From N = {problem.samples:g} none has them right for V above {found.vocab:g}.")
    table = Table("bound", "samples")
    table.columns[1].justify = "right"
    for name in ("gradient", "counting", "coverage"):
        binds = " (binds)" if name == found.binding else ""
        table.add_row(name + binds, f"{getattr(found, f'{name}_samples'):.6g}")
    Console().print(table)
    print(
        f"Needed: {found.information_needed:.6g} nats. The gradient of N = {problem.samples:g} "
        f"tells at most {found.gradient_information:.6g}, in {found.gradient_rank:.6g} dimensions "
        f"with a signal-to-noise of {found.signal_to_noise:.3g} each."
    )
    print(found.assumption)
    print(found.not_covered)


def print_check(report: CheckReport) -> None:
    print_problem(report.problem)
    table = Table("noise", "along", "ratio", "slope", "theory", "verdict")
    for column in table.columns[2:5]:
        column.justify = "right"
    last = None
    for c in report.comparisons:
        name = f"{c.stage}: {c.term}".replace("_", " ")
        table.add_row(
            "" if name == last else name,
            c.size,
            f"{c.ratio:.2f}",
            f"{c.measured_slope:.2f} ± {c.slope_error:.2f}",
            f"{c.predicted_slope:.2f}",
            str(c.verdict),
        )
        last = name
    Console().print(table)
    print(
        f"Ratio: measured over predicted. Slope: measured, of logarithms, ± a standard error, from "
        f"means over {report.seeds} instances; beside it the theory's."
    )
    unclear = sum(str(c.verdict) == "unclear" for c in report.comparisons)
    if unclear:
        print(f"{unclear} of {len(report.comparisons)} comparisons are unclear: take more seeds.")
    if report.failed:
        names = ", ".join(f"{term} of {stage}" for stage, term in report.failed)
        print(f"FAILED: {names.replace('_', ' ')}.")
    else:
        print("No closed form failed.")
