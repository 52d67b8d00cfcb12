"""Sweeps and what they will take, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.cli.tables.output import print_table
from recallscope.common.formatting import format_bytes, format_duration

if TYPE_CHECKING:
    from recallscope.sweeps.estimate import Estimate
    from recallscope.sweeps.sweep_result import SweepResult


def print_sweep(found: SweepResult) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in found.by_status.items())
    print(
        f"{found.cells} cells: {found.known} had a record, {found.ran} were run in "
        f"{format_duration(found.seconds)}. Now in {found.store}: {counts or 'none'}."
    )
    missing = found.cells - sum(found.by_status.values())
    if missing:
        print(f"{missing} cells have no record yet; the same command resumes with them.")


def print_estimate(executor: str, found: Estimate, part: tuple[int, int] | None = None) -> None:
    workers = f"{found.workers} worker{'s' if found.workers > 1 else ''}"

    def known(text: str) -> str:
        if not found.unknown:
            return text
        return f"at least {text}" if found.unknown < found.to_run else "not known"

    rows = (
        ("cells" if part is None else f"cells of part {part[0]} of {part[1]}", str(found.cells)),
        ("already done", str(found.done)),
        ("to run", str(found.to_run)),
        ("multiply-adds", known(f"{found.multiply_adds:.3g}")),
        ("memory", known(format_bytes(found.memory_bytes))),
        (f"time, {executor}, {workers}", known(format_duration(found.seconds))),
        ("cost", known(f"{found.core_hours:.3g} core-hours")),
    )
    print_table(("", ""), rows)
    if found.unknown:
        print(f"Without {found.unknown} cells, whose learner does not know its cost.")
    print("Times are for this machine, by a short timing, without other work; no cell was run.")
