"""`recallscope sweep`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from recallscope.cli.execution import check_time, place_from, resumable, workers_from
from recallscope.cli.options import Asked, Yes, takes
from recallscope.cli.output import Output, output_from
from recallscope.cli.tables.measurement import print_searches
from recallscope.cli.tables.output import print_either, print_json
from recallscope.cli.tables.sweeps import print_estimate, print_sweep
from recallscope.common.csv_files import number_or_text
from recallscope.problem import ProblemError, whole_number

if TYPE_CHECKING:
    from recallscope.record import Record
    from recallscope.sweeps.estimate import Estimate
    from recallscope.sweeps.spec import Sweep
    from recallscope.sweeps.sweep import SweepProgress


_MOST_TOLD = 5  # cells that are not ok


class _Plan(NamedTuple):
    spec: Sweep
    where: dict[str, Any]
    cut: int | None
    part: tuple[int, int] | None


def _print_schema(wanted: bool) -> None:
    if wanted:
        from recallscope.sweeps.spec import schema

        print_json(schema())
        raise typer.Exit


@takes("where", "output", "sweep")
def sweep(
    asked: Asked,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A sweep file, in TOML.")],
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            callback=_print_schema,
            is_eager=True,
            help="Print the JSON schema of sweep files, for editors.",
        ),
    ] = False,
    yes: Yes = False,
) -> int:
    """Run every cell of a sweep that the store has no record of.

    Interrupt it at any time: the same command resumes. Exit code 1 if a cell has no
    record that is ok.

    \b
    Examples:
      recallscope sweep examples/sweep.toml --store facts --dry-run
      recallscope sweep examples/sweep.toml --store facts --executor processes
      recallscope sweep large.toml --store facts-3 --part 3/8
      recallscope sweep large.toml --store s3://bucket/facts --executor ray --address 10.0.0.1:6379
    """
    from recallscope.executors.registry import check_executor
    from recallscope.sweeps.spec import read_sweep

    to, spec, where = output_from(asked.output), read_sweep(file), asked.where
    if where["store"] is None:
        raise ProblemError("a sweep needs a store to keep its records in; give --store PLACE")
    shards, part, dry_run, fail_fast = asked.sweep.values()
    cut = None if shards is None else whole_number("shards", number_or_text(shards), 1, 10**6)
    plan = _Plan(spec, where, cut, None if part is None else _part_from(part))
    check_executor(where["executor"], workers_from(where), where["address"])
    if spec.critical is not None:
        if fail_fast:
            raise ProblemError("a search counts its failures itself; leave --fail-fast out")
        return _searches(plan, dry_run, to)
    if dry_run:
        return _print_estimate(plan, to.as_json)
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.sweeps.sweep import run_sweep

    if not yes:  # of a large sweep, an estimate takes a while
        check_time(_estimated(plan).seconds, yes, "see --dry-run", say=False)
    with ProgressDisplay("sweep") as display, resumable():

        def show(progress: SweepProgress) -> None:
            done, total = progress.seconds_done, progress.seconds
            display.update(done, total, _note(progress), progress.elapsed)

        found = run_sweep(
            spec.cells(),
            settings=spec.settings,
            limits=spec.limits,
            **place_from(where),
            shards=cut,
            part=plan.part,
            fail_fast=fail_fast,
            progress=show,
            callback=_teller(display, where["store"]),
        )
    to.show(found, print_sweep)
    return 0 if set(found.by_status) <= {"ok"} else 1


def _part_from(text: str) -> tuple[int, int]:
    from recallscope.sweeps.job_array import check_part

    number, slash, count = text.partition("/")
    if not slash:
        raise ProblemError(f"a part is its number and how many there are, as in 3/8, not {text!r}")
    return check_part((number_or_text(number), number_or_text(count)))


def _estimated(plan: _Plan, pace: float = 1.0) -> Estimate:
    from dataclasses import replace

    from recallscope.store.store import Store
    from recallscope.sweeps.estimate import estimate
    from recallscope.sweeps.sweep import check_sharded

    spec, where = plan.spec, plan.where
    settings = replace(spec.settings, sharded=plan.cut is not None)
    check_sharded(settings, spec.limits)
    place = where["executor"], workers_from(where)
    return estimate(spec.cells(), Store(where["store"]), settings, *place, plan.part, pace)


def _print_estimate(plan: _Plan, as_json: bool) -> int:
    from recallscope.sweeps.estimate import measured_pace

    found = _estimated(plan, measured_pace(plan.spec.settings.dtype))
    place, executor = plan.where["store"], plan.where["executor"]
    document = {"store": place, "executor": executor, "part": plan.part} | found._asdict()
    print_either(as_json, document, print_estimate, executor, found, plan.part)
    return 0


def _searches(plan: _Plan, dry_run: bool, to: Output) -> int:
    from recallscope.api.sweep import sweep as search
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.record import Status

    spec, where = plan.spec, plan.where
    if plan.cut is not None:
        raise ProblemError("searches run many cells at once; leave --shards out")
    searches = spec.searches(plan.part)
    if dry_run:
        most = sum(search.budget for search in searches)
        said = f"{len(searches)} searches of at most {most} runs in all."
        document = {"searches": len(searches), "most_cells": most}
        print_either(to.as_json, document, print, said)
        return 0
    with ProgressDisplay(f"{len(searches)} searches") as display, resumable():
        found = search(spec, part=plan.part, progress=display.update, **place_from(where))
    to.show(found, lambda found: print_searches(found.searches))
    return 0 if all(each.status is Status.OK for each in found.searches) else 1


def _note(progress: SweepProgress) -> str:
    seconds = max(progress.elapsed, 1e-3)
    left = progress.cells - progress.known - progress.done
    load = " ".join(f"{busy / seconds:.2f}" for _, busy in sorted(progress.busy.items())[:16])
    return (
        f"{progress.done} done, {progress.failed} failed, {left} left, "
        f"{progress.done / seconds:.3g} cells/s, load {load}"
    )


def _teller(display: Any, place: str) -> Callable[[Record], None]:
    """Tells of cells that are not ok: of the first few, as there may be a million of them."""
    told = 0

    def tell(record: Record) -> None:
        nonlocal told
        if record.status == "ok":
            return
        told += 1
        if told > _MOST_TOLD:
            return
        sizes = ", ".join(
            f"{name}={value}"
            for name, value in record.problem.to_dict().items()
            if name in ("vocab", "samples", "dim", "length", "width") and value is not None
        )
        display.say(f"recallscope: {record.status}: {sizes}, seed {record.seed}: {record.reason}")
        if told == _MOST_TOLD:
            display.say(
                "recallscope: further cells that are not ok are in the store: "
                f"recallscope records --store {place} list"
            )

    return tell
