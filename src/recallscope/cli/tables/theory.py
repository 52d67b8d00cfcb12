"""Closed forms, bounds and checks, as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from recallscope.cli.tables.output import print_problem, print_table
from recallscope.problem import Problem
from recallscope.theory.scope import exposures, scope
from recallscope.theory.tested_range import say_extrapolated

if TYPE_CHECKING:
    from recallscope.theory.capacity import Solution
    from recallscope.theory.end_prediction import EndPrediction
    from recallscope.theory.lower_bound import Bound
    from recallscope.theory.prediction import Prediction
    from recallscope.theory.table_capacity import TableSolution
    from recallscope.theory.table_prediction import TablePrediction
    from recallscope.validation.check import CheckReport


def print_prediction(found: Prediction) -> None:
    print_problem(found.problem)
    if found.dominant is None:
        print(f"There is {found.reason}.")
        return
    from recallscope.theory.recorded_error import recorded_error

    print(scope(found.problem))
    accuracies = []
    for name in ("lock_accuracy", "recall_accuracy", "one_step_accuracy"):
        error = recorded_error(found.problem, name)
        short = name.removesuffix("_accuracy").replace("_", " ")
        numbers = (getattr(found, name), error.mean, error.most)
        accuracies.append([short, *(f"{number:.4f}" for number in numbers)])
    print_table(("accuracy", "predicted", "mean error", "90 % within"), accuracies)
    print(
        f"{exposures(found.problem)}. Errors: predicted minus simulated, at the {error.problems} "
        "simulated problems nearest to this one."
    )
    print_extrapolated([found.problem])
    rows: list[list[str] | None] = []
    stages = ("one_step", "lock", "recall")
    for term in dict.fromkeys(term for terms in found.noise.values() for term in terms):
        cells = [found.noise[stage].get(term) for stage in stages]
        if any(cells) and term != "sampling":
            shown = ["–" if cell is None else f"{cell:.3g}" for cell in cells]
            rows.append([term.replace("_", " "), *shown])
    sums = [
        sum(variance for term, variance in found.noise[stage].items() if term != "sampling")
        for stage in stages
    ]
    rows += [["together", *(f"{each:.3g}" for each in sums)], None]
    sampling = [found.noise[stage].get("sampling") for stage in stages]
    rows.append(["sampling", *("–" if each is None else f"{each:.3g}" for each in sampling)])
    print_table(("noise", *(stage.replace("_", " ") for stage in stages)), rows)
    stage, term = found.dominant
    law = " · ".join(f"{name}^{power:g}" for name, power in found.exponents.items() if power)
    print(
        "Variances in units of the squared signal of a fact seen as often as the average. Together:"
        " of a wrong label's logit, for lock of a token's attention score. Sampling: of the right"
        " label, by how often its fact happened to be seen. What binds: "
        f"{term.replace('_', ' ')} of {stage.replace('_', ' ')}, as {law or 'a constant'}."
    )


def print_end(found: EndPrediction) -> None:
    print_problem(found.problem)
    if found.parameters is None or found.edge is None:
        print(f"There is {found.reason}.")
        return
    error = found.recorded_error
    learns = found.problem.learner != "converged"
    rows = [
        [
            "attention finds the mark",
            f"{found.lock_accuracy:.3f}",
            "measured law" if learns else "given",
        ],
        ["facts seen", f"{found.facts_seen:.3f}", "how often facts are drawn"],
        ["memory", f"{found.memory_accuracy:.3f}", "derived; its edge is right to a few per cent"],
        None,
        ["recall after training", f"{found.recall_accuracy:.3f}", "their product"],
    ]
    print(f"{scope(found.problem)} At the end of training, by a law:")
    print_table(("", "share", "from"), rows, slice(1, 2))
    full = "more" if found.parameters > found.edge else "fewer"
    print(
        f"{exposures(found.problem)}. The memory has {found.parameters} parameters, {full} than "
        f"the {found.edge:.0f} that hold every fact that attention finds. Error of recall at the "
        f"{error.problems} trainings nearest to this one: {error.mean:.3f} on average, 90 % within "
        f"{error.most:.3f}."
    )


def print_table_prediction(found: TablePrediction) -> None:
    print_problem(found.problem)
    if found.recall_accuracy is None:
        print(f"There is {found.reason}.")
        return
    print(f"{scope(found.problem)} For these very embeddings:")
    rows = [
        [
            name.removesuffix("_accuracy").replace("_", " "),
            f"{getattr(found, name):.3f}",
            f"{error:.3f}",
        ]
        for name, error in found.errors.items()
    ]
    print_table(("accuracy", "predicted", "numerical error"), rows)
    print(f"{exposures(found.problem)}.")
    dims = [
        [name, *(f"{found.effective_dims[f'{name}_{how}']:.1f}" for how in ("raw", "centred"))]
        for name in ("tokens", "outputs")
    ]
    print_table(("effective dimension", "raw", "centred"), dims)
    terms = list(dict.fromkeys(term for named in found.noise.values() for term in named))
    noises = [
        [term.replace("_", " ")]
        + ["–" if term not in named else f"{named[term]:.3g}" for named in found.noise.values()]
        for term in terms
    ]
    print_table(("noise", *found.noise), noises)
    print(
        "Variances in units of the squared signal. Mean vector: what the mean of all rows costs, "
        "which centring would save; spectrum: what uneven directions cost beyond random ones of "
        f"the same {found.problem.dim} dimensions."
    )


def print_extrapolated(problems: Iterable[Problem]) -> None:
    """Say where closed forms are used outside of what they were compared with, if anywhere."""
    if said := say_extrapolated(problems):
        print(f"{said}. Closed forms were not compared with simulation there.")


def print_table_solution(found: TableSolution) -> None:
    print(f"{found!r}.")
    print_table_prediction(found.prediction)


def print_solution(found: Solution) -> None:
    from recallscope.theory.sizes import GROWS

    print(scope(found.problem))
    if found.value is None:
        print(f"No {found.quantity} reaches {found.target:g}: {found.reason}.")
        print_extrapolated([found.problem])
        return
    at = getattr(found.prediction, found.accuracy)
    predicted = "not known" if at is None else f"{at:.4f}"
    extreme = "smallest" if GROWS[found.quantity] else "largest"
    name = "vocab (facts)" if found.quantity == "vocab" else found.quantity
    print(
        f"{name} = {found.value}, the {extreme} that reaches "
        f"{found.accuracy.replace('_', ' ')} {found.target:g} (predicted {predicted})"
    )
    ends = ["none" if end is None else str(end) for end in found.range]
    print(
        f"From {ends[0]} to {ends[1]}, if the prediction is off by as much as at the simulated "
        f"problems nearest to this one. {exposures(found.problem)}."
    )
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
    if unclear:
        print(f"{unclear} of {len(report.comparisons)} comparisons are unclear: take more seeds.")
    if report.failed:
        names = ", ".join(f"{term} of {stage}" for stage, term in report.failed)
        print(f"FAILED: {names.replace('_', ' ')}.")
    else:
        print("No closed form failed.")
