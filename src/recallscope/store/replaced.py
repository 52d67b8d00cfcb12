"""Shards that were written in the place of others, which they name."""

from __future__ import annotations

from collections.abc import Iterable

from recallscope.record import Status
from recallscope.store.shard import Shard
from recallscope.store.tables import texts_of


def in_force(shards: Iterable[Shard]) -> tuple[list[Shard], frozenset[str]]:
    """The shards that no other replaces, and the names of all that are replaced."""
    shards = list(shards)
    replaced = frozenset[str]().union(*(shard.replaces for shard in shards))
    return [shard for shard in shards if shard.name not in replaced], replaced


def disown_false_replacements(shards: dict[str, Shard], left_out: dict[str, str]) -> None:
    """Leave out a shard that says it replaces another and does not have all of its good records.

    Both are there only after a crash, between the writing of the one and the removal of the other.
    """
    for name, shard in list(shards.items()):
        old = [shards[each] for each in shard.replaces if each in shards and each != name]
        missing = name in shard.replaces
        if old and not missing:
            has = set(shard.table["key"].to_pylist())
            missing = any(
                status == Status.OK and key not in has
                for each in old
                for key, status in zip(
                    each.table["key"].to_pylist(), texts_of(each.table["status"]), strict=True
                )
            )
        if missing:
            del shards[name]
            left_out[name] = "not a shard: it claims to replace records that it does not have"
