"""Give the store thousands of hostile shards and folders, and check that nothing fails.

    python studies/hostile_stores.py 20000 0 --csv studies/hostile_stores.csv

Each folder has a small sound store and one to four hostile things: shards with changed bytes, right
names over forged content, bombs, links, pipes, markers and old files. Every command that reads is
tried in this process, and every command that writes in a copy of the folder. An error must be a
sentence. Nothing may take ten seconds or two gibibytes. All sound records must be found. Only
`repair` and the writer of the store may touch a file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import struct
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recallscope import Problem, ProblemError, Store, sweep
from recallscope.common.csv_files import write_csv
from recallscope.store import shard as shards
from recallscope.store.store import MARKER, StoreWarning
from recallscope.store.summary import store_summary

CELLS = [
    (Problem(vocab=32, samples=64, dim=dim, length=4), seed) for dim in (8, 16) for seed in (0, 1)
]
LONGEST, MOST_MEMORY = 10.0, 2 * 2**30
COUNTED = ("tracebacks", "hangs", "above 2 GiB", "records lost", "touched", "not a sentence")
TEXTS = ["[/b]", "\x1b[2J", "=1+1", "", "é" * 3000, "\0", "ok", "../..", "a" * 10**5]
NUMBERS = [-1, 0, 1, 7, 2**31, 2**53, 2**63 - 1, -(2**63)]
FLOATS = [-1.0, 7.0, float("nan"), float("inf"), float("-inf"), 1e300, 0.5]


class Hostile:
    """Makes hostile things from one sound shard."""

    def __init__(self, shard: Path, rng: random.Random) -> None:
        self.content = shard.read_bytes()
        self.table = pq.read_table(shard).replace_schema_metadata(None)
        self.rng = rng
        self.kinds: list[Callable[[Path], None]] = [
            self.changed_bytes,
            self.changed_bytes_right_name,
            self.changed_footer,
            self.forged_rows,
            self.forged_rows,
            self.forged_columns,
            self.forged_columns,
            self.forged_about,
            self.nested,
            self.random_bytes,
            self.bomb,
            self.no_file,
            self.marker,
            self.leftovers,
        ]

    def put(self, folder: Path, content: bytes) -> None:
        (folder / shards._name_of(content)).write_bytes(content)

    def put_table(self, folder: Path, table: pa.Table, about: object = None, **how: object) -> None:
        header = {"format": 2, "nonce": str(self.rng.random()), "replaces": []}
        text = json.dumps(header if about is None else about)
        sink = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata({"recallscope": text}), sink, **how)
        self.put(folder, sink.getvalue().to_pybytes())

    def mutated(self) -> bytes:
        content = bytearray(self.content)
        for _ in range(self.rng.choice([1, 1, 2, 8, 64])):
            place = self.rng.randrange(len(content))
            match self.rng.randrange(4):
                case 0:
                    content[place] ^= 1 << self.rng.randrange(8)
                case 1:
                    content[place] = self.rng.choice([0, 1, 127, 128, 255])
                case 2:
                    del content[place : place + self.rng.choice([1, 4, 100])]
                case _:
                    content[place:place] = self.rng.randbytes(self.rng.choice([1, 4, 100]))
            if len(content) < 2:
                break
        return bytes(content)

    def changed_bytes(self, folder: Path) -> None:
        (folder / shards._name_of(self.content + self.rng.randbytes(4))).write_bytes(self.mutated())

    def changed_bytes_right_name(self, folder: Path) -> None:
        self.put(folder, self.mutated())

    def changed_footer(self, folder: Path) -> None:
        length = struct.unpack("<I", self.content[-8:-4])[0]
        content = bytearray(self.content)
        for _ in range(self.rng.choice([1, 2, 5, 20])):
            place = len(content) - 8 - self.rng.randrange(length + 8)
            content[place] = self.rng.randrange(256)
        self.put(folder, bytes(content))

    def forged_rows(self, folder: Path) -> None:
        table = self.table
        for _ in range(self.rng.choice([1, 1, 3])):
            index = self.rng.randrange(table.num_columns)
            field = table.schema.field(index)
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if pa.types.is_string(kind):
                pool: list[object] = list(TEXTS)
            elif pa.types.is_floating(kind):
                pool = list(FLOATS)
            elif pa.types.is_integer(kind):
                pool = [n for n in NUMBERS if kind != pa.int32() or abs(n) < 2**31]
            elif pa.types.is_boolean(kind):
                pool = [True, False]
            else:
                pool = [b"0" * 24, b"\xff" * 24]
            values = [self.rng.choice([*pool, None]) for _ in range(table.num_rows)]
            column = pa.array(values, kind)
            table = table.set_column(index, field.name, column.cast(field.type))
        self.put_table(folder, table)

    def forged_columns(self, folder: Path) -> None:
        table = self.table
        for _ in range(self.rng.choice([1, 2, 5])):
            index = self.rng.randrange(table.num_columns)
            name = table.column_names[index]
            match self.rng.randrange(5):
                case 0:
                    table = table.remove_column(index)
                case 1:
                    kind = self.rng.choice([pa.string(), pa.float32(), pa.binary(), pa.int8()])
                    table = table.set_column(index, name, pa.nulls(table.num_rows, kind))
                case 2:
                    table = table.append_column(name, table.column(index))
                case 3:
                    odd = self.rng.choice(["metric.", "metric.[]", "metric.a[][]", "", "a\0b", "x"])
                    table = table.append_column(odd, pa.array([[1.0]] * table.num_rows))
                case _:
                    table = table.rename_columns(
                        [self.rng.choice([each, each.upper()]) for each in table.column_names]
                    )
            if not table.num_columns:
                break
        self.put_table(folder, table)

    def forged_about(self, folder: Path) -> None:
        sound = [path.name for path in folder.glob("*.parquet")]
        about = self.rng.choice(
            [
                {},
                [],
                None,
                "x",
                {"format": self.rng.choice([None, "2", 0, -1, 2.5, True, [2]]), "replaces": []},
                {"format": 2},
                {"format": 2, "replaces": self.rng.choice(["all", [1], [None], ["../x"], {}])},
                {"format": 2, "replaces": sound},
                {"format": 1, "replaces": [*sound, "0" * 32 + ".parquet"] * 100},
            ]
        )
        self.put_table(folder, self.table.slice(0, self.rng.randrange(3)), about or {"x": 1})

    def nested(self, folder: Path) -> None:
        kind: pa.DataType = pa.int64()
        for _ in range(self.rng.choice([1, 5, 50])):
            kind = self.rng.choice([pa.list_, lambda inner: pa.struct([("a", inner)])])(kind)
        table = self.table
        if self.rng.random() < 0.5:
            table = table.set_column(1, table.column_names[1], pa.nulls(table.num_rows, kind))
        else:
            table = table.append_column("deep", pa.nulls(table.num_rows, kind))
        self.put_table(folder, table)

    def random_bytes(self, folder: Path) -> None:
        middle = self.rng.randbytes(self.rng.choice([0, 10, 1000, 10**5]))
        self.put(folder, self.rng.choice([middle, b"PAR1" + middle + b"PAR1"]))

    def bomb(self, folder: Path) -> None:
        """Few bytes that say they are many; most are small, as the large ones take their time."""
        rows = self.rng.choice([10**4] * 100 + [10**6, 3 * 10**6])
        table = self.table.take(pa.array([0] * rows))
        match self.rng.randrange(3):
            case 0:
                text = "a" * self.rng.choice([10, 1000, 10**5])
                column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), [text])
                index = table.column_names.index("reason")
                table = table.set_column(index, "reason", column)
            case 1:
                length = 10 if rows > 10**4 else self.rng.choice([10, 100, 10**3])
                offsets = pa.array(range(0, rows * length + 1, length), pa.int64())
                values = pa.array(np.zeros(rows * length, dtype=np.int8))
                lists = pa.LargeListArray.from_arrays(offsets, values)
                table = table.append_column("metric.a[]", lists)
            case _:
                pass
        self.put_table(folder, table, compression="zstd")

    def no_file(self, folder: Path) -> None:
        path = folder / f"{self.rng.randbytes(16).hex()}.parquet"
        match self.rng.randrange(5):
            case 0:
                os.mkfifo(path)
            case 1:
                path.symlink_to("/dev/zero")
            case 2:
                path.symlink_to(folder / "nowhere")
            case 3:
                path.mkdir()
            case _:
                with path.open("wb") as file:
                    file.truncate(self.rng.choice([0, 2**29 + 1, 2**40]))

    def marker(self, folder: Path) -> None:
        marker = folder / MARKER
        marker.unlink(missing_ok=True)
        match self.rng.randrange(4):
            case 0:
                return
            case 1:
                marker.symlink_to("/dev/zero")
            case 2:
                marker.write_text(self.rng.choice(["", "[]", "[" * 10**5, '{"format": 9}', "{}"]))
            case _:
                marker.write_bytes(self.rng.randbytes(100))

    def leftovers(self, folder: Path) -> None:
        for name in ("notes.txt", "\x1b[31m", f".{'0' * 32}.part", "x.parquet", ".lock"):
            if self.rng.random() < 0.5 and not (folder / name).exists():
                (folder / name).write_text("mine")


READS: dict[str, Callable[[Store], object]] = {
    "verify": Store.verify,
    "records": lambda store: sum(1 for _ in store.records()),
    "table": lambda store: store.table(["dim", "recall_accuracy"]),
    "statuses": Store.statuses,
    "list": store_summary,
    "export": lambda store: store.export(Path(store.place).parent / "all.csv"),
}
WRITES: dict[str, Callable[[Store], object]] = {
    "compact": Store.compact,
    "sweep": lambda store: sweep(CELLS, store, test_samples=64),
    "repair": Store.repair,
    "upgrade": Store.upgrade,
}


def snapshot(folder: Path) -> dict[str, object]:
    """What is in a folder, without opening what is no file."""
    found: dict[str, object] = {}
    for path in folder.iterdir():
        about = path.lstat()
        found[path.name] = (about.st_mode, about.st_size, about.st_mtime_ns)
    return found


def tried(name: str, call: Callable[[Store], object], store: Store, count: Counter[str]) -> str:
    """Make one call; count what must not happen, and say how it ended."""
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    try:
        call(store)
        ended = "ok"
    except ProblemError as error:
        ended = "refused"
        if "\n" in str(error) or not str(error):
            count["not a sentence"] += 1
            print(f"{name}: {error!r}", flush=True)
    except Exception as error:
        ended = "traceback"
        count["tracebacks"] += 1
        print(f"{name}: {type(error).__name__}: {error}", flush=True)
    took = time.monotonic() - started
    if took > LONGEST:
        count["hangs"] += 1
        print(f"{name} took {took:.1f} s", flush=True)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if after > before and after * 1024 > MOST_MEMORY:
        count["above 2 GiB"] += 1
        print(f"{name} reached {after / 2**20:.2f} GiB", flush=True)
    return ended


def main() -> None:
    """Try so many folders from a seed, and say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--csv", help="write the counts to a table")
    given = parser.parse_args()
    warnings.simplefilter("ignore", StoreWarning)
    rng = random.Random(given.seed)
    count: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as work:
        sound = Path(work, "sound")
        sweep(CELLS, sound, test_samples=64)
        (shard,) = sound.glob("*.parquet")
        hostile = Hostile(shard, rng)
        started = time.monotonic()
        for number in range(given.folders):
            parent = Path(work, "tried")
            shutil.copytree(sound, parent / "facts")
            folder = parent / "facts"
            for _ in range(rng.choice([1, 1, 1, 2, 4])):
                kind = rng.choice(hostile.kinds)
                kinds[kind.__name__] += 1
                kind(folder)
            (parent / "outside").write_text("precious")
            (parent / ".all.csv.part").symlink_to(parent / "outside")
            before = snapshot(folder)
            for name, call in rng.sample(list(READS.items()), 2):
                tried(name, call, Store(folder), count)
                if snapshot(folder) != before:
                    count["touched"] += 1
                    print(f"{name} changed the folder", flush=True)
            try:
                usable = {each.name for each in Store(folder)._scan()[0]}
            except ProblemError:
                usable = set()
            name, call = rng.choice(list(WRITES.items()))
            tried(name, call, Store(folder), count)
            # Only shards that were joined, and what the writer of a store left half done.
            own = {*usable, ".lock", f".{'0' * 32}.part"}
            gone = set(before) - set(snapshot(folder)) - own
            if gone and name != "repair":
                count["touched"] += 1
                print(f"{name} removed {gone}", flush=True)
            left = Store(folder)
            ended = tried("statuses", lambda store: store.statuses(), left, count)
            if ended == "ok" and not set(Store(sound).statuses()) <= set(left.statuses()):
                count["records lost"] += 1
            count["touched"] += (parent / "outside").read_text() != "precious"
            shutil.rmtree(parent)
            if (number + 1) % 500 == 0:
                print(f"{number + 1} folders, {time.monotonic() - started:.0f} s: ", end="")
                print(dict(count), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{given.folders} folders, {kinds.total()} hostile things; peak {peak:.2f} GiB")
    print(dict(count))
    if given.csv:
        rows = [{"what": name, "count": number} for name, number in sorted(count.items())]
        rows += [{"what": f"put: {name}", "count": n} for name, n in sorted(kinds.items())]
        write_csv(rows, given.csv)


if __name__ == "__main__":
    main()
