"""A store says its schema: another one is refused in a sentence, and not changed by that."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recallscope import Problem, Store, run, sweep
from recallscope.problem import SCHEMA_VERSION, ProblemError
from recallscope.record import Record, check_metric
from recallscope.store import shard as shard_module
from recallscope.store.files import StoreError
from recallscope.store.schema import KeyedRecord
from recallscope.store.store import MARKER

PROBLEM = Problem(vocab=32, samples=64, dim=16, length=4)
CELLS = [(PROBLEM, seed) for seed in range(4)]


def put(folder, table, *, about=None):
    """A shard as another version would have written it."""
    about = {"schema": SCHEMA_VERSION, "nonce": "", "replaces": []} if about is None else about
    labelled = table.replace_schema_metadata({"recallscope": json.dumps(about)})
    folder.mkdir(exist_ok=True)
    pq.write_table(labelled, folder / "new")
    name = shard_module._name_of((folder / "new").read_bytes())
    (folder / "new").rename(folder / name)
    return folder / name


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """200 records, as an Arrow table."""
    place = tmp_path_factory.mktemp("records")
    sweep([(PROBLEM, seed) for seed in range(200)], place, test_samples=8, progress=False)
    return Store(place).table()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("number", [3, 5, None, "4", True])
def test_another_schema_is_refused_and_nothing_is_touched(number, tmp_path, table):
    place = tmp_path / "facts"
    put(place, table)
    put(place, pa.table({"what": ["nobody knows yet"]}), about={"schema": number, "anything": {}})
    before = contents(place)
    for meets in (lambda: list(Store(place).records()), lambda: Store(place).verify()):
        with pytest.raises(StoreError, match="has schema 4; use the version that wrote it, or run"):
            meets()
    with pytest.raises(StoreError, match="not marked as a store"):
        Store(place).compact()
    marker = json.dumps({"schema": number}).encode()
    (place / MARKER).write_bytes(marker)
    with pytest.raises(StoreError, match="and this version of recallscope has schema 4; use the"):
        Store(place).compact()
    assert contents(place) == before | {MARKER: marker}


@pytest.mark.parametrize("marker", ["", "[]", "{}", '{"format": 3}', "[" * 10_000])
def test_a_marker_without_a_schema_is_refused(tmp_path, marker):
    (tmp_path / MARKER).write_text(marker)
    with pytest.raises(StoreError, match="is of an unknown schema"), Store(tmp_path).writing():
        pass
    assert contents(tmp_path) == {MARKER: marker.encode()}


def test_a_column_more_is_kept_and_a_column_fewer_is_null(tmp_path, table):
    more = table.slice(0, 100).append_column("temperature", pa.array([0.5] * 100))
    fewer = table.slice(100).drop_columns(["trigger_cosine", "gamma", "revision"])
    place = tmp_path / "facts"
    sweep(CELLS[:0], place)
    put(place, more)
    put(place, fewer)
    before = contents(place)
    store = Store(place)
    assert store.verify().sound
    found = store.table()
    assert found["temperature"].null_count == found["trigger_cosine"].null_count == 100
    assert found["recall_accuracy"].null_count == 0
    assert sum(record.trigger_cosine is None for record in store.records()) == 100
    assert contents(place) == before
    assert store.compact() == (2, 1)
    assert store.table()["temperature"].to_pylist().count(0.5) == 100
    assert store.verify().sound


def test_a_folder_of_something_else_is_never_changed(tmp_path, command):
    """No lock is left in it."""
    for name in ("notes.txt", f"{'0' * 32}.parquet", f".{'0' * 32}.part"):
        (tmp_path / name).write_text("mine")
    sweep(CELLS[:1], tmp_path / "other", test_samples=8, progress=False)
    before = contents(tmp_path)
    for arguments in (("compact",), ("repair", "--yes"), ("merge", str(tmp_path / "other"))):
        done = command("records", "--store", str(tmp_path), *arguments)
        assert done.returncode == 2
        assert "is not marked as a store, so nothing is changed there" in done.stderr
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
