"""`recallscope sweep`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from recallscope.cli import output
from recallscope.cli.execution import check_time, place_from, resumable, workers_from
from recallscope.cli.options import (
    Address,
    AsJson,
    Executor,
    Figure,
    FigureWidth,
    NoCaption,
    Store,
    Table,
    Workers,
    Yes,
)
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.checks import whole_number
from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_bytes, format_duration
from recallscope.problem.axes import SIZES

if TYPE_CHECKING:
    from recallscope.experiment.record import Record
    from recallscope.measure.critical_size import CriticalSize
    from recallscope.measure.sweep_file import Sweep
    from recallscope.sweeps.estimate import Estimate
    from recallscope.sweeps.run_sweep import SweepProgress
    from recallscope.sweeps.sweep_result import SweepResult


_MOST_PRINTED = 5  # cells that are not ok


class _Plan(NamedTuple):
    spec: Sweep
    where: dict[str, Any]
    cut: int | None
    part: tuple[int, int] | None


def _print_schema(wanted: bool) -> None:
    if wanted:
        from recallscope.measure.sweep_file import schema

        output.print_json(schema())
        raise typer.Exit


def sweep(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A sweep file, in TOML.")],
    store: Store = None,
    executor: Executor = "serial",
    workers: Workers = None,
    address: Address = None,
    shards: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="Split every single cell over this many workers."),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            metavar="K/N",
            help="Run part K of N only: 3/8, for one of eight jobs; see --dry-run.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and its cost; run nothing.")
    ] = False,
    fail_fast: Annotated[
        bool,
        typer.Option("--fail-fast/--keep-going", help="Stop at the first cell that fails, or not."),
    ] = False,
    table: Table = None,
    figure: Figure = None,
    figure_width: FigureWidth = None,
    no_caption: NoCaption = False,
    as_json: AsJson = False,
    yes: Yes = False,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            callback=_print_schema,
            is_eager=True,
            help="Print the JSON schema of sweep files, for editors.",
        ),
    ] = False,
) -> int:
    """Run every cell of a sweep that the store has no record of.

    Interrupt it at any time: the same command resumes. Exit code 1 if a cell has no
    ok record.

    \b
    Examples:
      recallscope sweep examples/sweep.toml --store facts --dry-run
      recallscope sweep examples/sweep.toml --store facts --executor processes
      recallscope sweep large.toml --store facts-3 --part 3/8
      recallscope sweep large.toml --store s3://bucket/facts --executor ray --address 10.0.0.1:6379
    """
    from recallscope.measure.sweep_file import read_sweep
    from recallscope.sweeps.executors.workers import check_executor

    options = dict(context.params)
    shown = output.output_from(options)
    spec = read_sweep(file)
    where = {name: options[name] for name in ("store", "executor", "workers", "address")}
    if store is None:
        raise ProblemError("a sweep needs a store to keep its records in; give --store PLACE")
    cut = None if shards is None else whole_number("shards", number_or_text(shards), 1, 10**6)
    plan = _Plan(spec, where, cut, None if part is None else _part_from(part))
    check_executor(where["executor"], workers_from(where), where["address"])
    if spec.critical is not None:
        if fail_fast:
            raise ProblemError("a search counts its failures itself; leave --fail-fast out")
        return _searches(plan, dry_run, shown)
    if dry_run:
        return _print_estimate(plan, shown.as_json)
    place = place_from(where)  # first: without the extra for stores it says so
    from recallscope.sweeps.run_sweep import run_sweep

    if not yes:  # the estimate of a large sweep takes a while
        check_time(_estimated(plan).seconds, yes, "see --dry-run", say=False)
    with ProgressDisplay("sweep") as display, resumable():

        def show(progress: SweepProgress) -> None:
            done, total = progress.seconds_done, progress.seconds
            display.update(done, total, _note(progress), progress.elapsed)

        result = run_sweep(
            spec.cells(),
            settings=spec.settings,
            limits=spec.limits,
            **place,
            shards=cut,
            part=plan.part,
            fail_fast=fail_fast,
            progress=show,
            callback=_reporter(display, where["store"]),
        )
    shown.show(result, _print_sweep)
    return 0 if set(result.by_status) <= {"ok"} else 1


def _part_from(text: str) -> tuple[int, int]:
    from recallscope.sweeps.job_array import check_part

    number, slash, count = text.partition("/")
    if not slash:
        raise ProblemError(f"a part is its number and how many there are, as in 3/8, not {text!r}")
    return check_part((number_or_text(number), number_or_text(count)))


def _estimated(plan: _Plan, pace: float = 1.0) -> Estimate:
    from dataclasses import replace

    from recallscope.sweeps.estimate import estimate
    from recallscope.sweeps.run_sweep import check_sharded
    from recallscope.sweeps.store.store import Store

    spec, where = plan.spec, plan.where
    settings = replace(spec.settings, sharded=plan.cut is not None)
    check_sharded(settings, spec.limits)
    place = where["executor"], workers_from(where)
    return estimate(spec.cells(), Store(where["store"]), settings, *place, plan.part, pace)


def _print_estimate(plan: _Plan, as_json: bool) -> int:
    from recallscope.sweeps.estimate import measured_pace

    estimate = _estimated(plan, measured_pace(plan.spec.settings.dtype))
    place, executor = plan.where["store"], plan.where["executor"]
    document = {"store": place, "executor": executor, "part": plan.part} | estimate._asdict()
    output.print_either(as_json, document, print_estimate, executor, estimate, plan.part)
    return 0


def _searches(plan: _Plan, dry_run: bool, to: output.Output) -> int:
    from recallscope.measure.sweep import SearchesResult
    from recallscope.measure.sweep import sweep as search

    spec, where = plan.spec, plan.where
    if plan.cut is not None:
        raise ProblemError("searches run many cells at once; leave --shards out")
    searches = spec.searches(plan.part)
    if dry_run:
        most = sum(search.budget for search in searches)
        text = f"{len(searches)} searches of at most {most} runs in all."
        document = {"searches": len(searches), "most_cells": most}
        output.print_either(to.as_json, document, print, text)
        return 0
    with ProgressDisplay(f"{len(searches)} searches") as display, resumable():
        result = search(spec, part=plan.part, progress=display.update, **place_from(where))
    assert isinstance(result, SearchesResult)
    to.show(result, lambda result: _print_searches(result.searches))
    return 0 if all(search.status == "ok" for search in result.searches) else 1


def _note(progress: SweepProgress) -> str:
    seconds = max(progress.elapsed, 1e-3)
    left = progress.cells - progress.known - progress.done
    load = " ".join(f"{busy / seconds:.2f}" for _, busy in sorted(progress.busy.items())[:16])
    return (
        f"{progress.done} done, {progress.failed} failed, {left} left, "
        f"{progress.done / seconds:.3g} cells/s, load {load}"
    )


def _reporter(display: Any, store: str) -> Callable[[Record], None]:
    """Reports the first few cells that are not ok, since there may be a million of them."""
    places = itertools.count(1)

    def report(record: Record) -> None:
        if record.status == "ok" or (place := next(places)) > _MOST_PRINTED:
            return
        sizes = ", ".join(
            f"{name}={value}"
            for name, value in record.problem.to_dict().items()
            if name in SIZES and value is not None
        )
        display.say(f"recallscope: {record.status}: {sizes}, seed {record.seed}: {record.reason}")
        if place == _MOST_PRINTED:
            display.say(
                "recallscope: further cells that are not ok are in the store: recallscope records "
                f"--store {store} list"
            )

    return report


def _print_sweep(result: SweepResult) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in result.by_status.items())
    took = format_duration(result.seconds)
    print(
        f"{result.cells} cells: {result.known} had a record, {result.ran} were run in {took}. Now "
        f"in {result.store}: {counts or 'none'}."
    )
    missing = result.cells - sum(result.by_status.values())
    if missing:
        print(f"{missing} cells have no record yet; the same command resumes with them.")


def print_estimate(executor: str, estimate: Estimate, part: tuple[int, int] | None = None) -> None:
    workers = f"{estimate.workers} worker{'s' if estimate.workers > 1 else ''}"

    def known(text: str) -> str:
        if not estimate.unknown:
            return text
        return f"at least {text}" if estimate.unknown < estimate.to_run else "not known"

    rows = (
        ("cells" if part is None else f"cells of part {part[0]} of {part[1]}", estimate.cells),
        ("already done", estimate.done),
        ("to run", estimate.to_run),
        ("multiply-adds", known(f"{estimate.multiply_adds:.3g}")),
        ("memory", known(format_bytes(estimate.memory_bytes))),
        (f"time, {executor}, {workers}", known(format_duration(estimate.seconds))),
        ("cost", known(f"{estimate.core_hours:.3g} core-hours")),
    )
    output.print_table(("", ""), rows)
    if estimate.unknown:
        print(f"Without {estimate.unknown} cells: their learner does not report its cost.")
    print("Times are for this machine, by a short timing, without other work; no cell was run.")


def _print_searches(critical_sizes: list[CriticalSize]) -> None:
    if not critical_sizes:
        print("There are fewer searches than parts: none is in this one.")
        return
    names = [
        name
        for name in SIZES
        if name != critical_sizes[0].quantity and critical_sizes[0].problem[name] is not None
    ]
    rows = []
    for size in critical_sizes:
        ends = ("outside of the range" if end is None else end for end in (size.low, size.high))
        measured = size.status if size.value is None else size.value
        sizes = (size.problem[name] for name in names)
        between = "{} to {}".format(*ends)
        rows.append((*sizes, measured, between, size.theory, size.evaluations))
    head = (*names, f"{critical_sizes[0].quantity}, measured", "95 % interval", "predicted", "runs")
    output.print_table(head, rows, right=slice(None))
    kind = critical_sizes[0].accuracy.replace("_", " ")
    print(f"The {critical_sizes[0].quantity} at which {kind} crosses {critical_sizes[0].target:g}.")
    output.print_extrapolated(problem for size in critical_sizes for problem in size.predicted_at)
