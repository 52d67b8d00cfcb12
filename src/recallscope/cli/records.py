"""`recallscope records`: list, compact, merge and export the records of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope.cli.commands import COMMANDS
from recallscope.cli.execution import store_from
from recallscope.cli.options import AsJson, Command, named
from recallscope.cli.output import print_either, print_table, say, usual_parts
from recallscope.common.checks import choice
from recallscope.common.errors import ProblemError

if TYPE_CHECKING:
    from recallscope.sweeps.store.store import Store
    from recallscope.sweeps.store.summary import ProblemSummary, StoreSummary

app = typer.Typer(
    name="records", rich_markup_mode=None, add_completion=False, help=COMMANDS["records"]
)

DROPPED = ("failed", "infeasible", "conflicting", "damaged")
Place = Annotated[
    str | None,
    typer.Option("--store", metavar="PLACE", help="The folder or address of the records."),
]


@app.callback()
def _which(
    context: typer.Context,
    store: Annotated[str | None, typer.Option(hidden=True)] = None,
    as_json: Annotated[bool, typer.Option("--json", hidden=True)] = False,
) -> None:
    context.obj = {"store": store, "as_json": as_json}


def _opened(context: typer.Context, place: str | None, as_json: bool) -> tuple[Store, bool]:
    """The store, and whether JSON is wanted; both options may come before or after the command."""
    places = {given for given in (context.obj["store"], place) if given is not None}
    if len(places) != 1:
        once = ", once" if places else ""
        raise ProblemError(f"give the store of the records: --store PLACE{once}")
    store = store_from({"store": places.pop()})
    assert store is not None
    return store, as_json or context.obj["as_json"]


@app.command("list", cls=Command)
def list_records(
    context: typer.Context,
    place: Place = None,
    as_json: AsJson = False,
) -> None:
    """Count the records by status, and show each problem's means with their intervals.

    \b
    Examples:
      recallscope records list --store facts
      recallscope records list --store facts --json
    """
    from recallscope.sweeps.store.summary import store_summary

    store, in_json = _opened(context, place, as_json)
    found = store_summary(store)
    print_either(in_json, found.to_dict(), _print_summary, found)


@app.command(cls=Command)
def compact(
    context: typer.Context,
    drop: Annotated[
        list[str] | None,
        named(
            DROPPED,
            metavar="STATUS",
            help="Drop failed, infeasible or conflicting records, to be run again; once for each.",
        ),
    ] = None,
    place: Place = None,
    as_json: AsJson = False,
) -> None:
    """Put many small files together, and drop records that are to be run again.

    A sweep does the former by itself. Conflicting are two records of one cell with other values.

    \b
    Examples:
      recallscope records compact --store facts
      recallscope records compact --store facts --drop failed
    """
    for status in drop or []:
        choice("what is dropped", status, DROPPED)
    store, in_json = _opened(context, place, as_json)
    before, after = store.compact(drop or [])
    counts = {"files_before": before, "files_after": after}
    print_either(in_json, counts, print, f"Files: {before} before, {after} now.")


@app.command(cls=Command)
def merge(
    context: typer.Context,
    others: Annotated[
        list[str], typer.Argument(metavar="PLACE...", help="The stores to take records from.")
    ],
    place: Place = None,
    as_json: AsJson = False,
) -> None:
    """Add the records of other stores that this one does not have.

    \b
    Examples:
      recallscope records merge facts-of-the-other-machine --store facts
      recallscope records merge facts-* --store facts
    """
    from recallscope.sweeps.store.merging import Merged
    from recallscope.sweeps.store.store import Store

    store, in_json = _opened(context, place, as_json)
    merged = [store.merge(Store(other)) for other in others]
    found = Merged(*(sum(counts) for counts in zip(*merged, strict=True)))
    document = dict(zip(("added", "better_there", "completed", "conflicts"), found, strict=True))
    lines = (
        f"{found.added} records of {', '.join(others)} were added.",
        found.completed
        and f"{found.completed} that are here too brought metrics that were missing here.",
        found.better
        and f"{found.better} that had failed or were infeasible here are ok there, and now here.",
        found.conflicts
        and f"{found.conflicts} that are here too have other values there: one of the two was made "
        "by other code. What is here stays; export both stores to compare them.",
    )
    print_either(in_json, document, say, *lines)
    if found.conflicts:
        raise typer.Exit(1)


@app.command(cls=Command)
def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .csv or .parquet file to write.")],
    place: Place = None,
    as_json: AsJson = False,
) -> None:
    """Write all records to one file.

    \b
    Examples:
      recallscope records export facts.csv --store facts
    """
    store, in_json = _opened(context, place, as_json)
    count = store.export(file)
    document = {"records": count, "file": file}
    print_either(in_json, document, print, f"{count} records were written to {file}.")


def _print_summary(found: StoreSummary) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in found.by_status.items())
    print(
        f"{found.place}: {found.records} records of {found.problems} problems in {found.files} "
        f"file{'' if found.files == 1 else 's'}{': ' if counts else ''}{counts}."
    )
    if not found.shown:
        return
    every = _full_fields(found.shown)
    first = every[0]
    varied = [name for name in first if any(fields[name] != first[name] for fields in every)]
    given = (f"{name}={value}" for name, value in first.items() if value and name not in varied)
    print(", ".join(given))
    rows = []
    for listed, fields in zip(found.shown, every, strict=True):
        counted = [str(listed.by_status.get("ok", 0))]
        counted += [f"{n} {status}" for status, n in listed.by_status.items() if status != "ok"]
        means = [_mean(listed.means.get(f"{name}_accuracy")) for name in ("attention", "recall")]
        rows.append([*(fields[name] or None for name in varied), ", ".join(counted), *means])
    print_table((*varied, "records", "attention", "recall"), rows, right=slice(None))
    print("Means over seeds, with 95 % intervals; export and --json have the rest.")
    if found.problems > len(found.shown):
        print(f"The first {len(found.shown)} of {found.problems} problems; export has them all.")


def _full_fields(shown: list[ProblemSummary]) -> list[dict[str, str]]:
    """All fields that differ from their default in any of the problems, for each problem."""
    every = [listed.fields() for listed in shown]
    usual = usual_parts([listed.problem for listed in shown])
    names = dict.fromkeys(name for fields in every for name in fields if name not in usual)
    return [
        {name: _text(fields.get(name, getattr(listed.problem, name, None))) for name in names}
        for listed, fields in zip(shown, every, strict=True)
    ]


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return "" if value is None else str(value)


def _mean(mean: Any) -> str | None:
    return mean and f"{mean.mean:.3f} ({mean.low:.3f} to {mean.high:.3f})"
