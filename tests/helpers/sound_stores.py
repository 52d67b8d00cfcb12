"""What must hold of every store: each cell is there once, under the key of its content."""

from __future__ import annotations

from deltalake import DeltaTable

from recallscope.sweeps.store.cell_keys import key_of
from recallscope.sweeps.store.schema import to_records


def rows_of(store):
    """How many rows there are, however many say the same."""
    return DeltaTable(store.place).count() if store.exists() else 0


def is_sound(store):
    table = store.table()
    keys = table["key"].to_pylist()
    for key, record in zip(keys, to_records(table), strict=True):
        if (record.test_samples or record.measure) and key_of(record) != key:
            return False
    completed = sum(record.problem.metrics != () for record in store.records())
    return len(set(keys)) == len(keys) >= rows_of(store) - completed
