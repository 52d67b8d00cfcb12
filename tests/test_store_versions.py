"""Stores of other versions are read in full or refused in a sentence, and not changed by that."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recallscope import Problem, Store, run, sweep
from recallscope.problem import ProblemError
from recallscope.record import Record, check_metric
from recallscope.store import shard as shard_module
from recallscope.store.files import StoreError
from recallscope.store.schema import SCHEMA, KeyedRecord, to_records, to_table
from recallscope.store.store import MARKER

OLD = Path(__file__).parent / "store-0.1"
"""The runs of the claims that version 0.1 came with."""
PROBLEM = Problem(vocab=32, samples=64, dim=16, length=4)
CELLS = [(PROBLEM, seed) for seed in range(4)]


def put(folder, table, *, about=None, number=1):
    """A shard as another version would have written it."""
    about = {"format": number, "nonce": "", "replaces": []} if about is None else about
    labelled = table.replace_schema_metadata({"recallscope": json.dumps(about)})
    folder.mkdir(exist_ok=True)
    pq.write_table(labelled, folder / "new")
    name = shard_module._name_of((folder / "new").read_bytes())
    (folder / "new").rename(folder / name)
    return folder / name


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def old_table():
    """A part of what version 0.1 wrote."""
    (shard,) = OLD.glob("*.parquet")
    return pq.read_table(shard).slice(0, 200)


@pytest.mark.slow
def test_a_store_of_0_1_is_opened_whole(tmp_path):
    place = tmp_path / "records"
    shutil.copytree(OLD, place)
    before = contents(place)
    assert MARKER not in before
    found = Store(place).verify()
    assert found.sound
    assert not found.marked
    assert found.records == 11_200
    assert sum(1 for _ in Store(place).records()) == 11_200
    assert contents(place) == before


def test_a_column_more_is_kept_and_a_column_fewer_is_null(tmp_path, old_table):
    more = old_table.slice(0, 100).append_column("temperature", pa.array([0.5] * 100))
    fewer = old_table.slice(100).drop_columns(["trigger_cosine", "gamma", "revision"])
    place = tmp_path / "facts"
    put(place, more)
    put(place, fewer)
    before = contents(place)
    store = Store(place)
    assert store.verify().sound
    table = store.table()
    assert table["temperature"].null_count == table["trigger_cosine"].null_count == 100
    assert table["recall_accuracy"].null_count == 0
    assert sum(record.trigger_cosine is None for record in store.records()) == 100
    assert contents(place) == before
    store.upgrade()
    assert store.compact() == (2, 1)
    assert store.table()["temperature"].to_pylist().count(0.5) == 100
    assert store.verify().sound


def test_a_newer_format_is_refused_and_nothing_is_touched(tmp_path, old_table):
    place = tmp_path / "facts"
    put(place, old_table)
    put(place, pa.table({"what": ["nobody knows yet"]}), about={"format": 4, "anything": {}})
    before = contents(place)
    for meets in (
        lambda: list(Store(place).records()),
        lambda: Store(place).verify(),
        lambda: Store(place).upgrade(),
    ):
        with pytest.raises(StoreError, match="there are shards of format 4, and this version"):
            meets()
    with pytest.raises(StoreError, match="not marked as a store"):
        Store(place).compact()
    assert contents(place) == before
    (place / MARKER).write_text('{"format": 4}')
    with pytest.raises(StoreError, match="is of format 4, and this version of recallscope writes"):
        Store(place).compact()
    assert contents(place) == before | {MARKER: b'{"format": 4}'}


@pytest.mark.parametrize("marker", ["", "[]", "{}", '{"format": true}', "[" * 10_000])
def test_a_marker_without_a_format_is_reported(tmp_path, marker):
    (tmp_path / MARKER).write_text(marker)
    with pytest.raises(StoreError, match="does not say which format"), Store(tmp_path).writing():
        pass
    assert contents(tmp_path) == {MARKER: marker.encode()}


def test_a_store_of_0_1_is_added_to_once_it_is_marked(tmp_path, old_table, command):
    place = tmp_path / "facts"
    put(place, old_table)
    before = contents(place)
    with pytest.raises(StoreError, match=r"records --store .* upgrade --yes"):
        sweep(CELLS, place, test_samples=64)
    assert contents(place) == before
    records = ("records", "--store", str(place))
    done = command(*records, "upgrade")
    assert (done.returncode, contents(place)) == (0, before)
    assert "200 records in 1 shards and no marker; upgrade --yes writes one" in done.stdout
    assert command(*records, "upgrade", "--yes").returncode == 0
    assert set(contents(place)) == {*before, MARKER}
    assert "already" in command(*records, "upgrade").stdout
    assert sweep(CELLS, place, test_samples=64).ran == 4
    assert Store(place).verify().records == 204


def test_a_folder_of_something_else_is_never_changed(tmp_path, command):
    """No lock is left in it."""
    for name in ("notes.txt", f"{'0' * 32}.parquet", f".{'0' * 32}.part"):
        (tmp_path / name).write_text("mine")
    before = contents(tmp_path)
    for arguments in (("compact",), ("repair", "--yes"), ("merge", str(OLD))):
        done = command("records", "--store", str(tmp_path), *arguments)
        assert done.returncode == 2
        assert "is not marked as a store, so nothing is changed there" in done.stderr
    done = command("records", "--store", str(tmp_path), "upgrade", "--yes")
    assert done.returncode == 2
    assert "so it is not a store" in done.stderr
    assert contents(tmp_path) == before


def test_named_metrics_come_and_go(tmp_path):
    plain = run(PROBLEM, 0, test_samples=64)
    fields = {name: getattr(plain, name) for name in plain.__dataclass_fields__}

    def record(seed, **metrics):
        return Record(**fields | {"seed": seed, "metrics": metrics, "test_samples": None})

    kept = [
        record(1, loss=0.5),
        record(2, loss=[3.0, 2.0, 1.0]),  # the same name may also be a curve
        record(3, per_class=[], top5=0.25),
        record(4),
    ]
    store = Store(tmp_path)
    with store.writing():
        for each in kept:
            store.append([KeyedRecord(bytes([each.seed]) * 24, each)])
    assert sorted(store.records(), key=lambda each: each.seed) == kept
    store.compact()
    assert sorted(store.records(), key=lambda each: each.seed) == kept
    assert store.table(["metric.loss"])["metric.loss"].null_count == 3
    store.export(tmp_path / "all.csv")
    assert "[3.0, 2.0, 1.0]" in (tmp_path / "all.csv").read_text()
    with pytest.raises(StoreError, match=r"has no column 'metric\.nothing'"):
        store.table(["metric.nothing"])
    with pytest.raises(ProblemError, match="has no metric 'per_class' that is one number"):
        kept[2].metric("per_class")


@pytest.mark.parametrize(
    ("name", "value"),
    [("", 1), ("a\nb", 1), ("a", "x"), ("a", [[1]]), (1, 1)],
)
def test_invalid_metrics_are_refused(name, value):
    with pytest.raises(ProblemError, match="metric"):
        check_metric(name, value)


def test_records_of_0_1_have_the_columns_that_were(old_table):
    since = {"measure", "task", "model", "learner", "metrics", "part_versions"}
    assert set(SCHEMA.names) - set(old_table.column_names) == since
    table = shard_module._completed(old_table)
    first = next(to_records(table))
    assert to_table([KeyedRecord(b"0" * 24, first)]).schema == SCHEMA


@pytest.mark.slow
def test_a_million_old_records_open_about_as_fast_as_they_are_read(tmp_path, old_table):
    """A ratio of two CPU times of one run: 5 seconds on a quiet machine are 20 on a busy one."""
    rows = 2**18
    for part in range(4):
        table = pa.concat_tables([old_table] * (rows // 200 + 1)).slice(0, rows)
        keys = [(part * rows + row).to_bytes(24, "big") for row in range(rows)]
        put(tmp_path / "facts", table.set_column(0, "key", pa.array(keys, pa.binary(24))))
    started = time.process_time()
    assert len(Store(tmp_path / "facts").statuses()) == 4 * rows
    ours = time.process_time() - started
    started = time.process_time()
    for path in (tmp_path / "facts").glob("*.parquet"):
        read = pq.read_table(path)
        assert len(dict(zip(*(read[name].to_pylist() for name in ("key", "status")), strict=True)))
    bare = time.process_time() - started
    assert ours < 2 * bare
