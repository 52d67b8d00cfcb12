"""What a store holds, and if it is sound, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.cli.tables.output import print_table
from recallscope.common.formatting import printable

if TYPE_CHECKING:
    from recallscope.store.store import StoreCheck
    from recallscope.store.summary import StoreSummary


def print_store_summary(found: StoreSummary) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in found.by_status.items())
    print(
        f"{found.place}: {found.records} records of {found.problems} problems in {found.shards} "
        f"shard{'' if found.shards == 1 else 's'}{': ' if counts else ''}{counts}."
    )
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
    print(", ".join(given))
    rows = []
    for listed in found.shown:
        sizes = [str(listed.fields()[name]) for name in varied]
        counted = [str(listed.by_status.get("ok", 0))]
        counted += [f"{n} {status}" for status, n in listed.by_status.items() if status != "ok"]
        means = [
            f"{mean.mean:.3f} ({mean.low:.3f} to {mean.high:.3f})"
            for name, mean in listed.means.items()
            if name in ("lock_accuracy", "recall_accuracy")
        ]
        rows.append([*sizes, ", ".join(counted), *(means or ["–"] * 2)])
    print_table((*varied, "records", "lock", "recall"), rows, right=slice(None))
    print("Means over seeds, with 95 % intervals; export and --json have the rest.")
    if found.problems > len(found.shown):
        print(f"The first {len(found.shown)} of {found.problems} problems; export has them all.")


def print_store_check(place: str, found: StoreCheck) -> None:
    print(f"{place}: {found.records} records in {found.shards} shards.")
    for shard, why in found.left_out.items():
        print(f"cannot be used: {shard} ({why})")
    if found.duplicated:
        print(f"{found.duplicated} records are there more than once.")
    if found.wrong_keys:
        print(f"{found.wrong_keys} records are not under their own key.")
    for name in found.set_aside:
        print(f"put aside by repair: {printable(name)}")
    for name in found.strange:
        print(f"not a shard, and left alone: {printable(name)}")
    if found.bad_marker:
        print(printable(found.bad_marker))
    if not found.marked:
        print("Not marked as a store, so that nothing can be added: see upgrade.")
    print("Store OK." if found.sound else "Store NOT OK.")
