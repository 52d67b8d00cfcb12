"""The check of a store: `verify`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from recallscope.store.keys import key_of
from recallscope.store.schema import to_records
from recallscope.store.shard import Shard
from recallscope.store.tables import texts_of


@dataclass(frozen=True)
class StoreCheck:
    """The findings of `verify`: shards and records, and all that is not as it should be."""

    shards: int
    records: int
    by_status: dict[str, int]
    left_out: dict[str, str] = field(default_factory=dict)
    """Shards that cannot be used, and why."""
    duplicated: int = 0
    wrong_keys: int = 0
    set_aside: list[str] = field(default_factory=list)
    """Files that `repair` has put aside."""
    strange: list[str] = field(default_factory=list)
    """Files that do not belong to a store."""
    marked: bool = True
    """Whether there is the file without which nothing is changed here."""
    bad_marker: str = ""
    """The fault of that file."""

    @property
    def sound(self) -> bool:
        """Whether nothing is left out, duplicated or under a wrong key."""
        return not (self.left_out or self.duplicated or self.wrong_keys or self.bad_marker)


def check_shards(shards: Iterable[Shard]) -> StoreCheck:
    """Count the records of shards, and look whether each is there once and under its key."""
    keys, statuses = Counter[bytes](), Counter[str]()
    count = wrong = 0
    for shard in shards:
        count += 1
        own = shard.table["key"].to_pylist()
        keys.update(own)
        statuses.update(texts_of(shard.table["status"]))
        wrong += sum(key != right for key, right in zip(own, right_keys(shard.table), strict=True))
    return StoreCheck(
        shards=count,
        records=keys.total(),
        by_status=dict(sorted(statuses.items())),
        duplicated=keys.total() - len(keys),
        wrong_keys=wrong,
    )


def right_keys(table: pa.Table) -> list[bytes]:
    """The key that each record should be under; its own, if what it was run as is not known."""
    right = []
    for key, record in zip(table["key"].to_pylist(), to_records(table), strict=True):
        tested = record.test_samples is not None or record.measure is not None
        right.append(key_of(record) if tested else key)
    return right
