"""Critical sizes, laws, phase diagrams and ablations, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.cli.tables.output import capital, print_problem, print_table, say
from recallscope.cli.tables.theory import print_extrapolated, print_solved_if_trained
from recallscope.parts.axes import axis_field
from recallscope.theory.scope import exposures, scope

if TYPE_CHECKING:
    from recallscope.measurement.ablation import Ablations
    from recallscope.measurement.critical_size import CriticalSize
    from recallscope.measurement.phase_diagram import PhaseDiagram, PhaseDiagrams
    from recallscope.measurement.scaling import Scaling
    from recallscope.statistics.expected_law import ExpectedLaw
    from recallscope.statistics.power_law import Separable
    from recallscope.theory.phase_map import PhaseMap


def print_critical(found: CriticalSize) -> None:
    print_solved_if_trained(found.problem, found.quantity, found.target, found.accuracy)
    print_problem(found.problem, found.quantity)
    if found.value is None:
        result = f"{found.status}: {found.reason}."
    else:
        low, high = (
            "outside of the range" if end is None else end for end in (found.low, found.high)
        )
        what = f"{found.accuracy.replace('_', ' ')} crosses {found.target:g}"
        if found.seeds_passing is not None:
            what = f"{100 * found.seeds_passing:g} % of seeds reach {found.target:g}"
        result = (
            f"{found.quantity} = {found.value}, where {what} (95 % interval from {low} to {high}); "
            f"{exposures(found.problem.replace(**{found.quantity: found.value}))}"
        )
    predicted = "not at any size" if found.theory is None else found.theory
    say(
        scope(found.problem),
        result,
        f"{capital(found.without_theory)}."
        if found.without_theory
        else f"Predicted by closed forms: {predicted}.",
    )
    if not found.without_theory:
        print_extrapolated(found.predicted_at)
    ends = "" if found.ended is None else f": {found.ended}"
    say(
        f"From {found.evaluations} runs, each with a seed of its own{ends}.",
        found.all_or_nothing
        and f"Seeds are all-or-nothing here: {found.all_or_nothing}."
        + (" --seeds-passing 0.9 searches for where nine in ten do." * (not found.seeds_passing)),
        (found.failures or found.infeasible)
        and f"{found.failures} of them failed and {found.infeasible} were infeasible; "
        "they are left out.",
    )


def _end(size: float | None) -> str:
    return "outside of the range" if size is None else str(size)


def print_searches(found: list[CriticalSize]) -> None:
    if not found:
        print("There are fewer searches than parts: none is in this one.")
        return
    names = [
        name
        for name in ("vocab", "samples", "dim", "length", "width")
        if name != found[0].quantity and getattr(found[0].problem, name) is not None
    ]
    rows = []
    for each in found:
        ends = map(_end, (each.low, each.high))
        measured = each.status if each.value is None else each.value
        theory = "–" if each.theory is None else each.theory
        sizes = (getattr(each.problem, name) for name in names)
        cells = (*sizes, measured, " to ".join(ends), theory, each.evaluations)
        rows.append([str(cell) for cell in cells])
    head = (*names, f"{found[0].quantity}, measured", "95 % interval", "predicted", "runs")
    print_table(head, rows, right=slice(None))
    kind = found[0].accuracy.replace("_", " ")
    print(f"The {found[0].quantity} at which {kind} crosses {found[0].target:g}.")
    print_extrapolated(problem for each in found for problem in each.predicted_at)


_POOR = 0.05  # the p-value below which critical sizes scatter by more than their errors


def print_law(found: Scaling) -> None:
    from recallscope.statistics.power_law import FitStatus

    law = found.law
    fitted = law.status is not FitStatus.UNDETERMINED
    rows = []
    for name, power in law.exponents.items():
        theory = found.theory.get(name)
        value, ends = f"{power.value:.3f}", f"{power.low:.3f} to {power.high:.3f}"
        predicted = "–" if theory is None else f"{theory:.3f}"
        rows.append((name, *((value, ends) if fitted else "––"), predicted))
    print(
        f"The law of {found.quantity} at {found.accuracy.replace('_', ' ')} {found.target:g}, "
        f"from {law.reached} critical sizes and {law.bounds} bounds:"
    )
    print_table(("size", "exponent", "95 % interval", "closed forms"), rows)
    lost = sum(row["status"] in ("failed", "infeasible") for row in found.sizes)
    say(
        f"{law.status}: {law.status.advice}",
        lost and f"{lost} searches failed or were infeasible and are left out.",
        fitted
        and f"Goodness of fit: p = {law.p_value:.2g}; "
        + (
            f"scatter beyond their errors: {law.scatter:.1%}."
            if law.p_value < _POOR
            else "the critical sizes scatter no more than their errors."
        ),
    )
    if (test := found.expected) is not None:
        told = ", ".join(f"{name} {power:g}" for name, power in test.exponents.items())
        say(f"Expected exponents, {told}: {_verdict(test)} (joint test, p = {test.p_value:.2g}).")
    if (rival := law.separable) is not None:
        depends = f"That {found.quantity} depends on none of these"
        say(f"{depends}: {_verdict(rival)} (p = {rival.p_value:.2g}).")
    if found.collapse is not None:
        raw, by_law, own, seeds = found.collapse
        say(
            f"Collapse, rms of accuracy about one curve: {by_law:.3f} against the size over the "
            f"law's, {raw:.3f} against the size itself, {own:.3f} over each one's own critical "
            f"size; {seeds:.3f} about each one's own curve."
        )


def _verdict(test: ExpectedLaw | Separable) -> str:
    return "rejected" if test.rejected else "not rejected"


def print_phase_map(found: PhaseMap) -> None:
    """The noises that bind, and where: the plane itself is in the figure and the table."""
    print(f"{found!r}.")
    bound = [row for row in found.rows() if row["term"] is not None]
    named = [f"{row['stage']}: {row['term']}".replace("_", " ") for row in bound]
    counted = [(name, str(named.count(name))) for name in sorted(set(named), key=named.count)]
    if counted:  # a law may have no noises
        print_table(("what binds", "points"), counted[::-1])
    print_extrapolated(found.corners, "corners")


def print_phase(found: PhaseDiagrams) -> None:
    for diagram in found.diagrams:
        _print_phase(diagram)


def _print_phase(diagram: PhaseDiagram) -> None:
    from recallscope.measurement.phase_diagram import TOLERANCE

    print(", ".join(f"{name}={each}" for name, each in diagram.shared.items() if each is not None))
    if diagram.no_boundary:
        say(f"{capital(diagram.no_boundary)}.")
    else:
        _print_boundary(diagram)
    if diagram.without_theory:
        cells = f"{diagram.known} cells were measured, of {diagram.seeds} seeds each."
        say(f"{capital(diagram.without_theory)}. {cells}")
    else:
        share = f" ({diagram.disagreeing / diagram.compared:.1%})" if diagram.compared else ""
        say(
            f"Theory is off by more than {TOLERANCE:g} beyond the 95 % interval in "
            f"{diagram.disagreeing} of {diagram.compared} cells{share}, of {diagram.seeds} seeds "
            "each."
        )
        print_extrapolated(diagram.problems)
    lost = diagram.failed or diagram.infeasible
    said = f"{diagram.failed} runs failed and {diagram.infeasible} were infeasible"
    say(lost and f"{said}; they are left out.")


def _print_boundary(diagram: PhaseDiagram) -> None:
    field = axis_field(diagram.y.name, diagram.problem.parts())
    digits = ".0f" if type(field.default) is int else ".3g"
    kind = diagram.accuracy.replace("_", " ")
    rows = []
    first, last = diagram.y.values[0], diagram.y.values[-1]
    for x, found, predicted in zip(
        diagram.x.values, diagram.boundary, diagram.theory_boundary, strict=True
    ):
        low = f"under {first}" if found.low is None else f"{found.low:{digits}}"
        high = f"over {last}" if found.high is None else f"{found.high:{digits}}"
        measured = str(found.status) if found.value is None else f"{found.value:{digits}}"
        ends = f"{low} to {high}"
        if found.low is None and found.high is None:
            ends = "unknown"
        elif found.value is None:
            ends = f"over {low}" if found.high is None else f"under {high}"
        theory = "none" if predicted is None else str(predicted)
        rows.append((str(x), measured, ends, "–" if diagram.without_theory else theory))
    head = (diagram.x.name, f"{diagram.y.name}, measured", "95 % interval", "predicted")
    print_table(head, rows, right=slice(None))
    print(f"The {diagram.y.name} at which {kind} crosses {diagram.target:g}.")


def print_ablations(ablations: Ablations) -> None:
    found = ablations.results
    print_problem(ablations.problem)
    rows = []
    for each in found:
        name, a, b, _ = each.ablation
        means = ["–" if mean is None else f"{mean.mean:.3f}" for mean in (each.a, each.b)]
        seen = "–"
        if each.difference is not None:
            mean, low, high = each.difference
            seen = f"{mean:+.3f}\n{low:+.3f} to {high:+.3f}"
        rows.append((f"{name}\n{a.label} → {b.label}", *means, seen, str(each.verdict)))
    print_table(("ablation", "A", "B", "B − A, 95 % interval", "verdict"), rows, slice(1, 4))
    for each in found:
        name = each.ablation.name
        say(
            each.ablation.note and f"{name}: {each.ablation.note}.",
            str(each.verdict) == "no difference seen"
            and f"{name}: a difference of up to {each.largest:.3f} is not excluded.",
            (each.failed or each.infeasible)
            and f"{name}: {each.failed} pairs with a failed and {each.infeasible} with an "
            "infeasible run are left out.",
        )
    print(
        f"Means over {max(each.pairs for each in found)} seeds, the same in both arms, tested on "
        f"{max(each.tests for each in found)} fresh samples each."
    )
