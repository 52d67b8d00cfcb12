"""Tables that are written once and then mapped into memory, in the cache of `datasets`.

`Dataset.map` has a cache too. It recognises a tokenizer by its pickle, which changes when the
tokenizer is used, so it would tokenise again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recallscope.common.extras import missing_explained
from recallscope.common.new_files import written_next_to


def cached(key: str, columns: dict[str, str], batches: Iterable[dict[str, Any]]) -> Any:
    """The Dataset of a key, from the cache, or written from batches of columns.

    Args:
        key: what the table depends on, as a hash.
        columns: names and types of Arrow, as in {"line": "int64", "ids": "list<int32>"}.
        batches: values by column; read only if the table is not there.
    """
    with missing_explained("teach"):
        import datasets
    import pyarrow as pa

    folder = Path(datasets.config.HF_DATASETS_CACHE) / "recallscope"
    path = folder / f"{key}.arrow"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        kinds = {"list<int32>": pa.list_(pa.int32())}
        schema = pa.schema(
            [(name, kinds.get(kind) or pa.type_for_alias(kind)) for name, kind in columns.items()]
        )
        with (
            written_next_to(path, "table of facts") as part,
            pa.OSFile(str(part), "wb") as file,
            pa.ipc.new_stream(file, schema) as writer,
        ):
            for batch in batches:
                writer.write_batch(pa.RecordBatch.from_pydict(batch, schema))
    return datasets.Dataset.from_file(str(path))
