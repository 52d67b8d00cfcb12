"""What a store holds, and if it is sound, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recallscope.cli.tables.output import print_table, say
from recallscope.common.formatting import printable

if TYPE_CHECKING:
    from recallscope.store.store import StoreCheck
    from recallscope.store.summary import ProblemSummary, StoreSummary


def print_store_summary(found: StoreSummary) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in found.by_status.items())
    print(
        f"{found.place}: {found.records} records of {found.problems} problems in {found.shards} "
        f"shard{'' if found.shards == 1 else 's'}{': ' if counts else ''}{counts}."
    )
    if not found.shown:
        return
    told = _full_fields(found.shown)
    first = told[0]
    varied = [name for name in first if any(fields[name] != first[name] for fields in told)]
    given = (f"{name}={value}" for name, value in first.items() if value and name not in varied)
    print(", ".join(given))
    rows = []
    for listed, fields in zip(found.shown, told, strict=True):
        counted = [str(listed.by_status.get("ok", 0))]
        counted += [f"{n} {status}" for status, n in listed.by_status.items() if status != "ok"]
        means = [_mean(listed.means.get(f"{name}_accuracy")) for name in ("lock", "recall")]
        rows.append([*(fields[name] or "–" for name in varied), ", ".join(counted), *means])
    print_table((*varied, "records", "lock", "recall"), rows, right=slice(None))
    print("Means over seeds, with 95 % intervals; export and --json have the rest.")
    if found.problems > len(found.shown):
        print(f"The first {len(found.shown)} of {found.problems} problems; export has them all.")


def _full_fields(shown: list[ProblemSummary]) -> list[dict[str, str]]:
    """The fields that any of the problems tells, of each: those at their defaults are not told."""
    told = [listed.fields() for listed in shown]
    names = dict.fromkeys(name for fields in told for name in fields)
    return [
        {name: _text(fields.get(name, getattr(listed.problem, name, None))) for name in names}
        for listed, fields in zip(shown, told, strict=True)
    ]


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return "" if value is None else str(value)


def _mean(mean: Any) -> str:
    return "–" if mean is None else f"{mean.mean:.3f} ({mean.low:.3f} to {mean.high:.3f})"


def print_store_check(place: str, found: StoreCheck) -> None:
    twice, wrong = found.duplicated, found.wrong_keys
    say(
        f"{place}: {found.records} records in {found.shards} shards.",
        *(f"cannot be used: {shard} ({why})" for shard, why in found.left_out.items()),
        twice and f"{twice} records are there more than once.",
        wrong and f"{wrong} records are not under their own key.",
        *(f"put aside by repair: {printable(name)}" for name in found.set_aside),
        *(f"not a shard, and left alone: {printable(name)}" for name in found.strange),
        found.bad_marker and printable(found.bad_marker),
        not found.marked and "Not marked as a store, so that nothing can be added: see upgrade.",
        "Store OK." if found.sound else "Store NOT OK.",
    )
