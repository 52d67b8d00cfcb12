"""The commands of sweeps and of the records they leave: options in, tables or JSON out."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope import terminal
from recallscope.options import Json, asks_where_to_run
from recallscope.problem import ProblemError, whole_number
from recallscope.tables import number_or_text

if TYPE_CHECKING:
    from recallscope.measurement.critical import CriticalSearch
    from recallscope.problem import Problem
    from recallscope.record import Record
    from recallscope.sweeps.cell import Settings
    from recallscope.sweeps.executor import Executor
    from recallscope.sweeps.limits import Limits
    from recallscope.sweeps.spec import Sweep
    from recallscope.sweeps.store import Store
    from recallscope.sweeps.sweep import Progress

records = typer.Typer(
    name="records",
    rich_markup_mode=None,
    help="List, check, tidy up, join or hand on the records of a store.",
)


@asks_where_to_run()
def sweep(
    where: dict[str, Any],
    file: Annotated[str, typer.Argument(metavar="FILE", help="A sweep written down in TOML.")],
    shards: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Cut each single cell over so many workers.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what there is to do, and what it takes.")
    ] = False,
    fail_fast: Annotated[
        bool,
        typer.Option("--fail-fast/--keep-going", help="Stop at the first cell that fails, or not."),
    ] = False,
    as_json: Json = False,
) -> int:
    """Run every cell of a sweep that the store has no record of.

    Interrupt it at any time: the same command goes on where it was. Exit code 1 if a cell has no
    record that is ok.

    \b
    Examples:
      recallscope sweep examples/sweep.toml --store facts --dry-run
      recallscope sweep examples/sweep.toml --store facts --executor processes
      recallscope sweep large.toml --store s3://bucket/facts --executor ray --address 10.0.0.1:6379
    """
    from recallscope.sweeps.executors import check_executor
    from recallscope.sweeps.spec import read_sweep

    spec = read_sweep(file)
    if where["store"] is None:
        raise ProblemError("a sweep needs a store to keep its records in; give --store PLACE")
    cut = None if shards is None else whole_number("shards", number_or_text(shards), 1, 10**6)
    check_executor(where["executor"], _workers(where), where["address"])
    if spec.critical is not None:
        if fail_fast:
            raise ProblemError("a search counts its failures itself; leave --fail-fast out")
        return _searches(spec, where, cut, dry_run, as_json)
    if dry_run:
        return _estimate(spec, where, cut, as_json)
    from recallscope.progress import ProgressDisplay
    from recallscope.sweeps.sweep import sweep as run_sweep

    store, workers = _place(where)
    with ProgressDisplay("sweep") as display, stopped_kindly():

        def show(progress: Progress) -> None:
            display.update(progress.seconds_done, progress.seconds, _note(progress))

        found = run_sweep(
            spec.cells(),
            store,
            executor=where["executor"],
            workers=workers,
            address=where["address"],
            engine=spec.settings.engine,
            dtype=spec.settings.dtype,
            test_samples=spec.settings.test_samples,
            device=spec.settings.device,
            shards=cut,
            time_limit=spec.limits.seconds,
            memory_limit=spec.limits.memory,
            fail_fast=fail_fast,
            progress=show,
            failure=lambda record: _tell(display, record),
        )
    if as_json:
        terminal.print_json({"store": store.place} | found._asdict())
    else:
        terminal.print_sweep(store.place, found)
    return 0 if set(found.by_status) <= {"ok"} else 1


def _estimate(spec: Sweep, where: dict[str, Any], cut: int | None, as_json: bool) -> int:
    from dataclasses import replace

    from recallscope.sweeps.estimate import estimate
    from recallscope.sweeps.sweep import check_sharded

    store, workers = _place(where)
    settings = replace(spec.settings, sharded=cut is not None)
    check_sharded(settings, spec.limits)
    found = estimate(spec.cells(), store, settings, where["executor"], workers)
    if as_json:
        terminal.print_json({"store": store.place, "executor": where["executor"]} | found._asdict())
    else:
        terminal.print_estimate(where["executor"], found)
    return 0


def _searches(
    spec: Sweep, where: dict[str, Any], cut: int | None, dry_run: bool, as_json: bool
) -> int:
    from recallscope.record import Status

    if cut is not None:
        raise ProblemError("searches run many cells at once; leave --shards out")
    searches = spec.searches()
    if dry_run:
        most = sum(search.budget for search in searches)
        if as_json:
            terminal.print_json({"searches": len(searches), "most_cells": most})
        else:
            print(f"{len(searches)} searches of at most {most} runs in all.")
        return 0
    carry_out(searches, spec.settings, where, spec.limits)
    found = [search.result() for search in searches]
    if as_json:
        terminal.print_json({"searches": [each.to_dict() for each in found]})
    else:
        terminal.print_searches(found)
    return 0 if all(each.status is Status.OK for each in found) else 1


def carry_out(
    searches: list[CriticalSearch],
    settings: Settings,
    where: dict[str, Any],
    limits: Limits | None = None,
) -> None:
    """Run searches to their end, and show how far they have come."""
    from recallscope.progress import ProgressDisplay
    from recallscope.sweeps import gather
    from recallscope.sweeps.limits import Limits

    what = "1 search" if len(searches) == 1 else f"{len(searches)} searches"
    with ProgressDisplay(what) as display, executor_for(where) as executor:
        gather.carry_out(
            searches,
            executor,
            settings,
            display.update,
            limits=limits or Limits(),
            store=_store(where),
        )


def run_all(
    runs: list[tuple[Problem, int]], settings: Settings, where: dict[str, Any]
) -> list[Record]:
    """Run experiments, and show how far they have come."""
    from recallscope.progress import ProgressDisplay
    from recallscope.sweeps import gather

    with ProgressDisplay(f"{len(runs)} runs") as display, executor_for(where) as executor:
        return gather.run_all(runs, executor, settings, display.update, store=_store(where))


@contextmanager
def executor_for(where: dict[str, Any]) -> Iterator[Executor]:
    """The workers asked for; Ctrl-C and what schedulers send stop them kindly."""
    from recallscope.sweeps.executors import running

    workers = running(where["executor"], _workers(where), where["address"])
    with stopped_kindly(), workers as executor:
        yield executor


def _workers(where: dict[str, Any]) -> int | None:
    if where["workers"] is None:
        return None
    return whole_number("workers", number_or_text(where["workers"]), 1, 10**5)


def _store(where: dict[str, Any]) -> Store | None:
    if where["store"] is None:
        return None
    from recallscope.sweeps.store import Store

    return Store(where["store"])


def _place(where: dict[str, Any]) -> tuple[Store, int | None]:
    store = _store(where)
    assert store is not None
    return store, _workers(where)


@contextmanager
def stopped_kindly() -> Iterator[None]:
    """Let what schedulers send before they kill do what Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        print("\nrecallscope: the same command goes on from here", file=sys.stderr)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _note(progress: Progress) -> str:
    seconds = max(progress.elapsed, 1e-3)
    left = progress.cells - progress.known - progress.done
    load = " ".join(f"{busy / seconds:.2f}" for _, busy in sorted(progress.busy.items())[:16])
    return (
        f"{progress.done} done, {progress.failed} failed, {left} left, "
        f"{progress.done / seconds:.3g} cells/s, load {load}"
    )


def _tell(display: Any, record: Record) -> None:
    sizes = ", ".join(
        f"{name}={value}"
        for name, value in record.problem.to_dict().items()
        if name in ("vocab", "samples", "dim", "length", "width") and value is not None
    )
    display.say(f"recallscope: {record.status}: {sizes}, seed {record.seed}: {record.reason}")


@records.callback()
def _which(
    context: typer.Context,
    store: Annotated[
        str | None, typer.Option(metavar="PLACE", help="The folder or address of the records.")
    ] = None,
    as_json: Json = False,
) -> None:
    context.obj = {"store": store, "json": as_json}


def _opened(context: typer.Context, as_json: bool) -> tuple[Store, bool]:
    store = _store(context.obj)
    if store is None:
        raise ProblemError("give the store whose records are meant: --store PLACE")
    return store, as_json or context.obj["json"]


@records.command("list")
def list_records(context: typer.Context, as_json: Json = False) -> None:
    """Count the records by status, and show each problem's means with their intervals.

    \b
    Examples:
      recallscope records --store facts list
      recallscope records --store facts --json list
    """
    from recallscope.sweeps.listing import listing

    store, in_json = _opened(context, as_json)
    found = listing(store)
    if in_json:
        terminal.print_json(found.to_dict())
    else:
        terminal.print_listing(found)


@records.command()
def verify(context: typer.Context, as_json: Json = False) -> int:
    """Read every shard, and hold it against its hash, its keys and the others.

    Exit code 1 if a shard is torn, or a record is there twice or under a wrong key. A sweep sets
    torn shards aside and runs their cells again.
    """
    store, in_json = _opened(context, as_json)
    found = store.verify()
    if in_json:
        terminal.print_json(asdict(found) | {"sound": found.sound})
    else:
        terminal.print_verdict(store.place, found)
    return 0 if found.sound else 1


@records.command()
def compact(
    context: typer.Context,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATUS", help="Drop failed or infeasible records, to be run again; repeatable."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make few large shards of many small ones.

    \b
    Examples:
      recallscope records --store facts compact
      recallscope records --store facts compact --drop failed
    """
    for status in drop or []:
        if status not in ("failed", "infeasible"):
            raise ProblemError(f"only failed or infeasible records can be dropped, not {status!r}")
    store, in_json = _opened(context, as_json)
    before, after = store.compact(drop or [])
    if in_json:
        terminal.print_json({"shards_before": before, "shards_after": after})
    else:
        print(f"{before} shards are now {after}.")


@records.command()
def merge(
    context: typer.Context,
    other: Annotated[str, typer.Argument(metavar="PLACE", help="The store to take records from.")],
    as_json: Json = False,
) -> None:
    """Add the records of another store that this one does not have.

    \b
    Examples:
      recallscope records --store facts merge facts-of-the-other-machine
    """
    from recallscope.sweeps.store import Store

    store, in_json = _opened(context, as_json)
    added, better = store.merge(Store(other))
    if in_json:
        terminal.print_json({"added": added, "better_there": better})
    else:
        print(f"{added} records of {other!r} were added.")
        if better:
            print(
                f"{better} that are ok there have failed or are infeasible here and were left; "
                "compact --drop failed, and merge again."
            )


@records.command()
def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .csv or .parquet file to write.")],
    as_json: Json = False,
) -> None:
    """Write all records to one file.

    \b
    Examples:
      recallscope records --store facts export facts.csv
    """
    store, in_json = _opened(context, as_json)
    count = store.export(file)
    if in_json:
        terminal.print_json({"records": count, "file": file})
    else:
        print(f"{count} records were written to {file}.")
