"""What people read: results as lines and tables on the terminal, or as one JSON document."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from recallscope.machine import duration, gibibytes
from recallscope.problem import Problem

if TYPE_CHECKING:
    from recallscope.checks import CheckReport
    from recallscope.measurement.ablation import Comparison
    from recallscope.measurement.critical import CriticalSize
    from recallscope.measurement.phase import PhaseDiagram
    from recallscope.measurement.scaling import Scaling
    from recallscope.paper.claim import Claim, Finding
    from recallscope.record import Record
    from recallscope.sweeps.estimate import Estimate
    from recallscope.sweeps.listing import Listing
    from recallscope.sweeps.store import Verdict
    from recallscope.sweeps.sweep import Swept
    from recallscope.theory.capacity import Prediction, Solution
    from recallscope.theory.lower_bound import Bound


def print_json(document: dict[str, Any] | list[dict[str, Any]]) -> None:
    print(json.dumps(document, indent=2, allow_nan=False))


def print_run(problem: Problem, records: list[Record], summary: dict[str, Any]) -> None:
    console = Console()
    made = records[0].provenance
    print_problem(problem)
    console.print(
        f"key {problem.key}, {made.engine} engine, {made.dtype}, "
        f"{sum(record.provenance.elapsed_seconds for record in records):.2f} s",
        highlight=False,
        soft_wrap=True,
    )
    table = Table("seed", "status", "lock", "recall", "one step", "signal", "noise", "cos(α, t)")
    table.columns[0].overflow = "fold"
    for column in table.columns[2:]:
        column.justify = "right"
    for record in records:
        cells = [
            record.lock_accuracy,
            record.recall_accuracy,
            record.one_step_accuracy,
            record.score_signal,
            record.score_noise,
            record.trigger_cosine,
        ]
        shown = ["–" if cell is None else f"{cell:.3f}" for cell in cells]
        table.add_row(str(record.seed), str(record.status), *shown)
    console.print(table)
    for record in records:
        if record.reason:
            print(f"recallscope: seed {record.seed}: {record.reason}", file=sys.stderr)
    tested = [record for record in records if record.test_samples]
    for name, mean in summary.items():
        console.print(
            f"{name.replace('_', ' '):18} {mean['mean']:.4f}  "
            f"(95 % interval {mean['low']:.4f} to {mean['high']:.4f})",
            highlight=False,
        )
    if tested:
        seeds = f"{len(tested)} seeds" if len(tested) > 1 else "one seed"
        print(
            f"Intervals are for the mean over all seeds, from {seeds} "
            f"tested on {tested[0].test_samples} fresh samples each."
        )


def print_prediction(found: Prediction) -> None:
    print_problem(found.problem)
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
        print("Not held against simulation: tested were vocab >= 256, dim >= 16, width >= 64.")


def print_solution(found: Solution) -> None:
    from recallscope.theory.capacity import GROWS

    if found.value is None:
        print(f"No {found.quantity} reaches {found.target:g}: {found.reason}.")
        return
    at = getattr(found.prediction, found.accuracy)
    extreme = "smallest" if GROWS[found.quantity] else "largest"
    print(
        f"{found.quantity} = {found.value}, the {extreme} that reaches "
        f"{found.accuracy.replace('_', ' ')} {found.target:g} (predicted {at:.4f})"
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
        f"means over {report.seeds} worlds; beside it the theory's."
    )
    unclear = sum(str(c.verdict) == "unclear" for c in report.comparisons)
    if unclear:
        print(f"{unclear} of {len(report.comparisons)} comparisons are unclear: take more seeds.")
    if report.failed:
        names = ", ".join(f"{term} of {stage}" for stage, term in report.failed)
        print(f"FAILED: {names.replace('_', ' ')}.")
    else:
        print("No closed form failed.")


def print_phase(diagram: PhaseDiagram) -> None:
    given = ", ".join(f"{name}={each}" for name, each in diagram.shared.items() if each is not None)
    Console().print(given, highlight=False, soft_wrap=True)
    kind = diagram.accuracy.replace("_", " ")
    table = Table(diagram.x.name, f"{diagram.y.name}, measured", "95 % interval", "predicted")
    for column in table.columns:
        column.justify = "right"
    first, last = diagram.y.values[0], diagram.y.values[-1]
    for x, found, predicted in zip(
        diagram.x.values, diagram.boundary, diagram.theory_boundary, strict=True
    ):
        low = f"under {first}" if found.low is None else f"{found.low:.0f}"
        high = f"over {last}" if found.high is None else f"{found.high:.0f}"
        measured = str(found.status) if found.value is None else f"{found.value:.0f}"
        ends = f"{low} to {high}"
        if found.low is None and found.high is None:
            ends = "unknown"
        elif found.value is None:
            ends = f"over {found.low:.0f}" if found.high is None else f"under {found.high:.0f}"
        theory = "none" if predicted is None else str(predicted)
        table.add_row(str(x), measured, ends, theory)
    Console().print(table)
    print(f"The {diagram.y.name} at which {kind} crosses {diagram.target:g}.")
    share = f" ({diagram.disagreeing / diagram.compared:.1%})" if diagram.compared else ""
    print(
        f"Theory lies outside the 95 % interval in {diagram.disagreeing} of {diagram.compared} "
        f"cells{share}, of {diagram.seeds} seeds each; by chance it would in one of twenty."
    )
    if diagram.failed or diagram.infeasible:
        print(
            f"{diagram.failed} runs failed and {diagram.infeasible} were infeasible; "
            "they are left out."
        )


def print_critical(found: CriticalSize) -> None:
    from recallscope.theory.setting import has_closed_form

    print_problem(found.problem, found.quantity)
    kind = found.accuracy.replace("_", " ")
    if found.value is None:
        print(f"{found.status}: {found.reason}.")
    else:
        low, high = (
            f"{word} {end}" if end is not None else f"{word} outside of the range"
            for word, end in (("from", found.low), ("to", found.high))
        )
        print(
            f"{found.quantity} = {found.value}, where {kind} crosses {found.target:g} "
            f"(95 % interval {low} {high})"
        )
    if has_closed_form(found.problem):
        said = "not at any size" if found.theory is None else found.theory
        print(f"Predicted by closed forms: {said}.")
    print(f"From {found.evaluations} runs, each with a seed of its own.")
    if found.failures or found.infeasible:
        print(
            f"{found.failures} of them failed and {found.infeasible} were infeasible; "
            "they are left out."
        )


def print_law(found: Scaling) -> None:
    from recallscope.measurement.law import FitStatus

    law = found.law
    fitted = law.status is not FitStatus.UNDETERMINED
    table = Table("size", "exponent", "95 % interval", "closed forms")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, power in law.exponents.items():
        theory = found.theory.get(name)
        table.add_row(
            name,
            f"{power.value:.3f}" if fitted else "–",
            f"{power.low:.3f} to {power.high:.3f}" if fitted else "–",
            "–" if theory is None else f"{theory:.3f}",
        )
    print(
        f"The law of {found.quantity} at {found.accuracy.replace('_', ' ')} {found.target:g}, "
        f"from {law.reached} critical sizes and {law.bounds} bounds:"
    )
    Console().print(table)
    print(f"{law.status}: {law.status.advice}")
    lost = sum(row["status"] in ("failed", "infeasible") for row in found.rows)
    if lost:
        print(f"{lost} searches failed or were infeasible and are left out.")
    if fitted:
        print(
            f"Chance of points this far from a law: {law.chance:.2g}; "
            f"scatter beyond their errors: {law.scatter:.1%}."
        )
    if law.separable is not None:
        verdict = "rejected" if law.separable.rejected else "not rejected"
        print(
            f"That {found.quantity} depends on none of these: {verdict} "
            f"(chance {law.separable.chance:.2g})."
        )
    if found.collapse is not None:
        raw, by_law, own, seeds = found.collapse
        print(
            f"Collapse, rms of accuracy about one curve: {by_law:.3f} against the size over the "
            f"law's, {raw:.3f} against the size itself, {own:.3f} over each one's own critical "
            f"size; {seeds:.3f} about each one's own curve."
        )


def print_ablations(problem: Problem, found: list[Comparison]) -> None:
    print_problem(problem)
    table = Table("ablation", "A", "B", "B − A, 95 % interval", "verdict")
    for column in table.columns[1:4]:
        column.justify = "right"
    for each in found:
        name, a, b, _ = each.ablation
        means = ["–" if mean is None else f"{mean.mean:.3f}" for mean in (each.a, each.b)]
        seen = "–"
        if each.difference is not None:
            mean, low, high = each.difference
            seen = f"{mean:+.3f}\n{low:+.3f} to {high:+.3f}"
        table.add_row(f"{name}\n{a.label} → {b.label}", *means, seen, str(each.verdict))
    Console().print(table)
    for each in found:
        if each.ablation.note:
            print(f"{each.ablation.name}: {each.ablation.note}.")
        if str(each.verdict) == "no difference seen":
            print(
                f"{each.ablation.name}: a difference of up to {each.largest:.3f} is not excluded."
            )
        if each.failed or each.infeasible:
            print(
                f"{each.ablation.name}: {each.failed} pairs with a failed and {each.infeasible} "
                "with an infeasible run are left out."
            )
    print(
        f"Means over {max(each.pairs for each in found)} seeds, the same in both arms, tested on "
        f"{max(each.tests for each in found)} fresh samples each."
    )


def print_problem(problem: Problem, sought: str | None = None) -> None:
    """The fields of a problem, without a size that is sought and so has no value."""
    given = ", ".join(
        f"{name}={value}"
        for name, value in problem.to_dict().items()
        if value is not None and name != sought
    )
    Console().print(given, highlight=False, soft_wrap=True)


def print_bench(result: dict[str, Any]) -> None:
    problem, seconds = result["problem"], result["seconds"]
    print(
        f"V={problem['vocab']} N={problem['samples']} d={problem['dim']} L={problem['length']}, "
        f"{result['dtype']} on {result['device']}, {result['threads']} threads"
    )
    table = Table("three steps by", "seconds", "ratio", "of")
    table.columns[1].justify = table.columns[2].justify = "right"
    rows = (
        (f"{result['engine']} engine", "engine", "speedup_over_autograd", "autograd's speed"),
        ("its bare torch operations", "bare", "fraction_of_bare", "reached by the engine"),
        ("literal engine", "literal", "literal_speedup_over_autograd", "autograd's speed"),
        (
            "its bare matrix products",
            "literal_bare",
            "literal_fraction_of_bare",
            "reached by the engine",
        ),
    )
    for label, time, ratio, of in rows:
        table.add_row(label, f"{seconds[time]:.3f}", f"{result[ratio]:.2f}", of)
    table.add_row("autograd", f"{seconds['autograd']:.3f}", "", "")
    Console().print(table)


def print_sweep(place: str, found: Swept) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in found.by_status.items())
    print(
        f"{found.cells} cells: {found.known} had a record, {found.ran} were run in "
        f"{duration(found.seconds)}. Now in {place}: {counts or 'none'}."
    )
    missing = found.cells - sum(found.by_status.values())
    if missing:
        print(f"{missing} cells have no record yet; the same command goes on with them.")
    if found.set_aside:
        print(f"{len(found.set_aside)} torn shards were set aside, and their cells run again.")


def print_estimate(executor: str, found: Estimate) -> None:
    table = Table("", "", show_header=False)
    table.columns[1].justify = "right"
    workers = f"{found.workers} worker{'s' if found.workers > 1 else ''}"
    for name, value in (
        ("cells", str(found.cells)),
        ("already done", str(found.done)),
        ("to run", str(found.to_run)),
        ("multiply-adds", f"{found.multiply_adds:.3g}"),
        ("memory", gibibytes(found.memory_bytes)),
        (f"time, {executor}, {workers}", duration(found.seconds)),
        ("cost", f"{found.core_hours:.3g} core-hours"),
    ):
        table.add_row(name, value)
    Console().print(table)
    print("Estimates for a core of a server of 2023; nothing was run.")


def print_searches(found: list[CriticalSize]) -> None:
    names = [
        name
        for name in ("vocab", "samples", "dim", "length", "width")
        if name != found[0].quantity and getattr(found[0].problem, name) is not None
    ]
    table = Table(*names, f"{found[0].quantity}, measured", "95 % interval", "predicted", "runs")
    for column in table.columns:
        column.justify = "right"
    for each in found:
        ends = [
            "outside of the range" if end is None else str(end) for end in (each.low, each.high)
        ]
        table.add_row(
            *(str(getattr(each.problem, name)) for name in names),
            str(each.status) if each.value is None else str(each.value),
            " to ".join(ends),
            "–" if each.theory is None else str(each.theory),
            str(each.evaluations),
        )
    Console().print(table)
    kind = found[0].accuracy.replace("_", " ")
    print(f"The {found[0].quantity} at which {kind} crosses {found[0].target:g}.")


def print_listing(found: Listing) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in found.by_status.items())
    print(
        f"{found.place}: {found.records} records of {found.problems} problems in {found.shards} "
        f"shard{'' if found.shards == 1 else 's'}{': ' if counts else ''}{counts}."
    )
    if found.torn:
        print(f"{found.torn} shards are torn and left out; the sweep that wrote them mends that.")
    if not found.shown:
        return
    first = found.shown[0].fields()
    varied = [
        name
        for name in first
        if any(listed.fields()[name] != first[name] for listed in found.shown)
    ]
    fixed = {name: value for name, value in first.items() if name not in varied}
    given = (f"{name}={value}" for name, value in fixed.items() if value is not None)
    Console().print(", ".join(given), highlight=False, soft_wrap=True)
    table = Table(*varied, "records", "lock", "recall")
    for column in table.columns:
        column.justify = "right"
    for listed in found.shown:
        sizes = [str(listed.fields()[name]) for name in varied]
        counted = [str(listed.by_status.get("ok", 0))]
        counted += [f"{n} {status}" for status, n in listed.by_status.items() if status != "ok"]
        means = [
            f"{mean.mean:.3f} ({mean.low:.3f} to {mean.high:.3f})"
            for name, mean in listed.means.items()
            if name in ("lock_accuracy", "recall_accuracy")
        ]
        table.add_row(*sizes, ", ".join(counted), *(means or ["–"] * 2))
    Console().print(table)
    print("Means over seeds, with 95 % intervals; export and --json have the rest.")
    if found.problems > len(found.shown):
        print(f"The first {len(found.shown)} of {found.problems} problems; export has them all.")


def print_verdict(place: str, found: Verdict) -> None:
    print(f"{place}: {found.records} records in {found.shards} shards.")
    for shard in found.torn:
        print(f"torn: {shard}")
    if found.duplicated:
        print(f"{found.duplicated} records are there more than once.")
    if found.wrong_keys:
        print(f"{found.wrong_keys} records are not under their own key.")
    for name in found.strange:
        print(f"not a shard, and left alone: {name}")
    print("Everything is as it was written." if found.sound else "NOT SOUND.")


def print_claims(claims: list[tuple[str, dict[str, Any]]]) -> None:
    """Each claim with its title, its verdict, and how its predictions fared."""
    table = Table("name", "claim", "verdict", "hold")
    for title, claim in claims:
        held = sum(each["verdict"] == "supported" for each in claim["evidence"])
        fared = f"{held} of {len(claim['evidence'])}" if claim["evidence"] else "–"
        table.add_row(claim["name"], title, claim["verdict"], fared)
    Console().print(table)
    print("hold: how many of a claim's predictions are supported.")


def print_finding(claim: Claim, found: Finding | None) -> None:
    """A claim, what was found, and each prediction with its interval."""
    from recallscope.paper.verdict import LEVEL
    from recallscope.pictures.words import plain, plain_range

    console = Console()
    verdict = "not yet measured" if found is None else found.verdict
    console.print(f"\n{claim.title}: {verdict}", highlight=False, style="bold")
    console.print(claim.statement, highlight=False)
    if found is None:
        return
    interval_of = f"{100 * LEVEL:g} % interval"
    table = Table("prediction", "measured", interval_of, "must lie", "verdict")
    for each in found.judgements:
        mean, low, high = each.measured
        interval = plain_range(low, high)
        table.add_row(each.what, plain(mean), interval, each.expected, str(each.verdict))
    console.print(table)
    console.print(found.answer, highlight=False)
    if found.lost:
        console.print(f"{found.lost} runs failed or are infeasible, and are no evidence.")
