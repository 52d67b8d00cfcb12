"""The audit of a checkpoint of gigabytes: memory, and time relative to a bare read and product.

    python studies/large_checkpoint.py 1000000 4096 --csv studies/large_checkpoint.csv

The numbers are rows and dimensions of a table of bfloat16 numbers that is written, read
and removed. The bare run reads the same bytes in tiles of the same size, turns them into float32
numbers and adds up one Gram matrix. The audit looks for rows in use, and makes the moments and
statistics of the table; how many facts fit depends on a sample of rows alone, and is not timed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import shutil
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from recallscope.audits.table_statistics import table_statistics
from recallscope.audits.used_rows import tile_rows, used_rows
from recallscope.checkpoints.open_checkpoint import open_checkpoint
from recallscope.common.csv_files import write_csv

NAME = "model.embed_tokens.weight"
SPARE = 2**31  # bytes that must be left on the disk


def write_shard(path: Path, rows: int, dim: int) -> None:
    """Random rows with a mean, as the upper halves of float32 numbers."""
    about = {NAME: {"dtype": "BF16", "shape": [rows, dim], "data_offsets": [0, 2 * rows * dim]}}
    header = json.dumps(about).encode()
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for start in range(0, rows, 4096):
            drawn = rng.standard_normal((min(4096, rows - start), dim), dtype=np.float32) + 0.1
            file.write((drawn.view(np.uint32) >> 16).astype("<u2").tobytes())


def write_model(folder: Path, rows: int, dim: int) -> None:
    """The table in one shard, a small matrix in another, and their index."""
    write_shard(folder / "model-00001-of-00002.safetensors", rows, dim)
    header = json.dumps({"b": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}).encode()
    second = folder / "model-00002-of-00002.safetensors"
    second.write_bytes(struct.pack("<Q", len(header)) + header + bytes(16))
    places = {NAME: "model-00001-of-00002.safetensors", "b": second.name}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))


def bare(folder: Path) -> float:
    """One read and one product."""
    table = open_checkpoint(folder).tables.inputs
    gram = np.zeros((table.dim, table.dim), dtype=np.float32)
    step = tile_rows(table.dim)
    for start in range(0, table.rows, step):
        rows = table.read(start, start + step)
        gram += rows.T @ rows
    return float(gram.trace())


def audited(folder: Path) -> float:
    """What the audit does with every row."""
    found, _ = table_statistics(used_rows(open_checkpoint(folder).tables.inputs))
    return found.effective_dim["raw"]


def timed(what: Callable[[Path], float], folder: Path, answers: multiprocessing.Queue) -> None:  # type: ignore[type-arg]
    """In a separate process: seconds, the peak of its memory, and the result."""
    started = time.perf_counter()
    found = what(folder)
    seconds = time.perf_counter() - started
    status = Path("/proc/self/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+)", status)
    answers.put((seconds, int(peak.group(1)) / 2**10 if peak else 0.0, found))


def main() -> None:
    """Write, read twice, remove, and say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("dim", type=int)
    parser.add_argument("--csv", help="write what was seen to a table")
    given = parser.parse_args()
    size = 2 * given.rows * given.dim
    if shutil.disk_usage(tempfile.gettempdir()).free < size + SPARE:
        parser.error(f"the disk has no space for {size} bytes")
    seen = []
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as place:
        write_model(Path(place), given.rows, given.dim)
        for what in (bare, audited):
            answers = context.Queue()
            child = context.Process(target=timed, args=(what, Path(place), answers))
            child.start()
            seconds, peak, found = answers.get()
            child.join()
            seen.append(
                {
                    "what": what.__name__,
                    "rows": given.rows,
                    "dim": given.dim,
                    "file_gigabytes": round(size / 1e9, 3),
                    "seconds": round(seconds, 1),
                    "peak_mebibytes": round(peak),
                    "found": found,
                }
            )
            print(seen[-1], flush=True)
    print(f"speed relative to the bare run: {seen[0]['seconds'] / seen[1]['seconds']:.2f}")
    if given.csv:
        write_csv(seen, given.csv)


if __name__ == "__main__":
    main()
