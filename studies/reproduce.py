"""Run records of the bundle again: every number must come out the same, to the bit.

    python studies/reproduce.py [COUNT] [SEED]

COUNT records (500) are drawn from those that come with the package. The keys of all of them are
computed again too. Needs the versions that made the bundle: another torch may round otherwise.
"""

from __future__ import annotations

import random
import sys

from recallscope import Store, run
from recallscope.cell import Cell, Settings
from recallscope.paper.bundle import BUNDLE
from recallscope.record import Record
from recallscope.store.keys import CellKeys

MADE_OTHERWISE = ("elapsed_seconds", "versions", "revision")


def settings_of(record: Record) -> Settings:
    made = record.provenance
    return Settings(
        engine="auto", dtype=made.dtype, test_samples=record.test_samples or 0, device=made.device
    )


def same(record: Record) -> bool:
    """Whether a run gives this record again, but for when and by what version it was made."""
    how = settings_of(record)
    again = run(
        record.problem,
        record.seed,
        engine=how.engine,
        dtype=how.dtype,
        test_samples=how.test_samples,
        device=how.device,
    )
    numbers, before = again.to_dict(), record.to_dict()
    return all(numbers[name] == before[name] for name in before if name not in MADE_OTHERWISE)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    table = Store(BUNDLE / "records").table(["key"])
    stored = set(table["key"].to_pylist())
    records = list(Store(BUNDLE / "records").records())
    found = {CellKeys(settings_of(each))(Cell(each.problem, each.seed)) for each in records}
    print(f"{len(found & stored)} of {len(stored)} keys found", flush=True)
    equal = 0
    for done, record in enumerate(rng.sample(records, count), start=1):
        equal += same(record)
        if done % 50 == 0 or done == count:
            print(f"{equal} of {done} records equal, to the bit", flush=True)
    sys.exit(0 if equal == count and found == stored else 1)


if __name__ == "__main__":
    main()
