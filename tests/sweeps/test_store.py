"""A store keeps its records, however many write to it, and refuses what no experiment gave."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from recallscope import Problem, ProblemError, Status, Store, run, sweep
from recallscope.experiment.cell import Cell, Settings
from recallscope.experiment.experiment import failed_record
from recallscope.experiment.record import Record
from recallscope.problem.metrics import check_metric
from recallscope.sweeps.store import delta
from recallscope.sweeps.store import store as store_module
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.delta import StoreError
from recallscope.sweeps.store.plain_rows import plain_rows
from recallscope.sweeps.store.schema import KeyedRecord, to_records, to_table
from recallscope.sweeps.store.summary import store_summary

PROBLEM = Problem(vocab=32, samples=64, dim=16, length=4)
CELLS = [(PROBLEM, seed) for seed in range(4)]
PROBLEMS = [
    PROBLEM,
    PROBLEM.replace(samples=math.inf),
    PROBLEM.replace(width=24, activation="gelu", trigger_in_values=True),
    PROBLEM.replace(regime="literal", eta=0.1, gamma=50.0),
    PROBLEM.replace(embedding="orthogonal", dim=40),
]
MEASURED = PROBLEM.replace(metrics=("recall-at-k", "recall-per-fact"))


def kept(problem, seed):
    record = run(problem, seed, dtype="float32", test_samples=64)
    return KeyedRecord(CellKeys(Settings(test_samples=64))(Cell(problem, seed)), record)


def kept_failed(problem, seed):
    how = {"engine": "auto", "dtype": "float32", "device": "cpu"}
    key = CellKeys(Settings(test_samples=64))(Cell(problem, seed))
    return KeyedRecord(key, failed_record(problem, seed, "lost", **how))


@pytest.fixture(scope="module")
def records():
    return [kept(problem, seed) for problem in PROBLEMS for seed in range(3)]


def stored(place, *parts):
    store = Store(place)
    for part in parts:
        store.append(part)
    return store


@pytest.fixture
def store(tmp_path, records):
    return stored(tmp_path / "facts", *(records[part : part + 4] for part in range(0, 15, 4)))


def all_of(store):
    return sorted(
        (record.to_dict() for record in store.records()),
        key=lambda fields: (fields["problem_key"], fields["seed"]),
    )


def as_kept(records):
    fields = [record.to_dict() for _, record in records]
    return sorted(fields, key=lambda fields: (fields["problem_key"], fields["seed"]))


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


# Keeping.


def test_records_come_back_to_the_bit(store, records):
    assert all_of(store) == as_kept(records)
    assert {record.problem for record in store.records()} == set(PROBLEMS)


def test_a_failed_record_comes_back_with_its_reason(tmp_path):
    (record,) = stored(tmp_path, [kept_failed(PROBLEM, 3)]).records()
    assert (record.status, record.reason, record.recall_accuracy) == (Status.FAILED, "lost", None)


def test_rows_are_inverse_to_records(records):
    again = list(to_records(to_table(records)))
    assert again == [replace(record) for _, record in records]


def test_named_metrics_come_and_go(tmp_path):
    plain = run(PROBLEM, 0, test_samples=64)
    fields = {name: getattr(plain, name) for name in plain.__dataclass_fields__}

    def record(seed, **metrics):
        return Record(**fields | {"seed": seed, "metrics": metrics, "test_samples": None})

    every = [
        record(1, loss=0.5),
        record(2, loss=[3.0, 2.0, 1.0]),  # the same name may also be a curve
        record(3, per_class=[], top5=0.25),
        record(4),
    ]
    store = Store(tmp_path / "facts")
    for each in every:
        store.append([KeyedRecord(bytes([each.seed]) * 24, each)])
    assert sorted(store.records(), key=lambda each: each.seed) == every
    store.compact()
    assert sorted(store.records(), key=lambda each: each.seed) == every
    assert store.table(["metric.loss"])["metric.loss"].null_count == 3
    store.export(tmp_path / "all.csv")
    assert "[3.0, 2.0, 1.0]" in (tmp_path / "all.csv").read_text()
    with pytest.raises(StoreError, match=r"has no column 'metric\.nothing'"):
        store.table(["metric.nothing"])
    with pytest.raises(ProblemError, match="has no metric 'per_class' that is one number"):
        every[2].metric("per_class")


@pytest.mark.parametrize(
    ("name", "value"), [("", 1), ("a\nb", 1), ("a", "x"), ("a", [[1]]), (1, 1)]
)
def test_invalid_metrics_are_refused(name, value):
    with pytest.raises(ProblemError, match="metric"):
        check_metric(name, value)


def test_compaction_keeps_every_record(store, records):
    assert store.files() == 4
    assert store.compact() == (4, 1)
    assert all_of(store) == as_kept(records)
    assert store.compact() == (1, 1)


def test_many_small_files_are_put_together_by_a_sweep(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "MANY_FILES", 3)
    for seed in range(6):
        sweep([(PROBLEM, seed)], tmp_path, test_samples=8, progress=False)
    assert Store(tmp_path).files() <= 4
    assert Store(tmp_path).by_status() == {"ok": 6}


def test_failed_records_can_be_dropped_to_be_run_again(store, records):
    store.append([kept_failed(PROBLEM, 100 + seed) for seed in range(3)])
    assert store.by_status() == {"failed": 3, "ok": 15}
    store.compact(["failed"])
    assert store.by_status() == {"ok": 15}
    assert all_of(store) == as_kept(records)


def test_a_reader_is_not_disturbed_by_a_compaction(store, records, monkeypatch):
    """Replaced files stay for a week."""
    table = delta.DeltaRows._table

    def then_compacted(rows):
        found = table(rows)
        monkeypatch.undo()
        Store(store.place).compact()
        return found

    monkeypatch.setattr(delta.DeltaRows, "_table", then_compacted)
    assert len(all_of(store)) == 15
    assert store.files() == 1


# Several records of one cell.


def test_a_good_record_counts_rather_than_a_failed_one(tmp_path):
    for order in (1, -1):
        both = [kept(PROBLEM, 0), kept_failed(PROBLEM, 0)][::order]
        store = stored(tmp_path / str(order), *([each] for each in both), [kept_failed(PROBLEM, 1)])
        assert store.by_status() == {"failed": 1, "ok": 1}
        assert sorted(record.status for record in store.records()) == ["failed", "ok"]
        assert sorted(store.statuses().values()) == ["failed", "ok"]


def test_metrics_of_several_records_are_united(tmp_path):
    first, second = (
        kept(PROBLEM.replace(metrics=metric), 0) for metric in ("recall-at-k", "recall-per-fact")
    )
    assert first.key == second.key
    store = stored(tmp_path, [first], [second], [kept(PROBLEM, 1)])
    one, other = sorted(store.records(), key=lambda record: record.seed)
    assert set(one.metrics) == {"recall-at-k", "recall-per-fact"}
    assert one.problem.metrics == ("recall-at-k", "recall-per-fact")
    assert other.metrics == {}
    assert store.index().metrics == {first.key: {"recall-at-k": 1, "recall-per-fact": 1}}


def test_records_that_disagree_are_an_error_that_names_both(tmp_path, command):
    key, record = kept(PROBLEM, 0)
    other = replace(record, recall_accuracy=0.25)
    store = stored(tmp_path / "facts", [KeyedRecord(key, record)], [KeyedRecord(key, other)])
    store.append([kept(PROBLEM, 1)])
    sentence = r"recall_accuracy is 0\.\d+ in the one, written with .* and 0\.\d+ in the other, wr"
    for meets in (lambda: list(store.records()), store.table, lambda: store.export("all.csv")):
        with pytest.raises(StoreError, match=sentence):
            meets()
    done = command("records", "compact", "--drop", "conflicting", "--store", store.place)
    assert done.returncode == 0, done.stderr
    assert [record.seed for record in store.records()] == [1]


def test_a_cell_is_completed_by_another_row(tmp_path):
    assert sweep(CELLS, tmp_path, test_samples=8, progress=False).ran == 4
    measured = [(MEASURED, seed) for seed in range(2)]
    assert sweep(measured, tmp_path, test_samples=8, progress=False).ran == 2
    found = sweep(measured, tmp_path, test_samples=8, progress=False)
    assert (found.ran, found.known) == (0, 2)
    records = sorted(Store(tmp_path).records(), key=lambda record: record.seed)
    assert [len(record.metrics) for record in records] == [2, 2, 0, 0]


# Merging.


def test_merging_adds_what_is_missing_and_nothing_twice(tmp_path, records):
    one, two = (
        stored(tmp_path / str(part.start), records[part]) for part in (slice(0, 10), slice(5, 15))
    )
    assert one.merge(two)[:2] == (5, 0)
    assert one.merge(two)[:2] == (0, 0)
    assert all_of(one) == as_kept(records)
    assert one.files() == 2


def test_merging_brings_better_records_and_metrics_and_counts_conflicts(tmp_path):
    here = stored(tmp_path / "here", [kept_failed(PROBLEM, 0), kept(PROBLEM, 1), kept(PROBLEM, 2)])
    key, record = kept(PROBLEM, 2)
    wrong = KeyedRecord(key, replace(record, recall_accuracy=0.25))
    there = stored(tmp_path / "there", [kept(PROBLEM, 0), kept(MEASURED, 1), wrong])
    assert here.merge(there) == (0, 1, 1, 1)
    found = {record.seed: record for record in here.records()}
    assert found[0].status is Status.OK
    assert set(found[1].metrics) == {"recall-at-k", "recall-per-fact"}
    assert found[2].recall_accuracy == record.recall_accuracy


def test_merging_into_a_new_store(tmp_path, store, records):
    assert Store(tmp_path / "new").merge(store).added == 15
    assert all_of(Store(tmp_path / "new")) == as_kept(records)


# Reading by others.


def test_export(store, tmp_path):
    assert store.export(tmp_path / "all.csv") == 15
    assert store.export(tmp_path / "all.parquet") == 15
    table = polars.read_csv(tmp_path / "all.csv")
    assert table.height == 15
    assert table["samples"].cast(str).to_list().count("inf") == 3
    assert pq.read_table(tmp_path / "all.parquet").num_rows == 15
    with pytest.raises(ProblemError, match=r"written as \.csv, \.parquet, not 'all.txt'"):
        store.export(tmp_path / "all.txt")


def test_others_read_it(store):
    import pyarrow.dataset

    assert polars.scan_delta(store.place).select("dim").collect().height == 15
    files = pyarrow.dataset.dataset(DeltaTable(store.place).file_uris())
    assert files.to_table(columns=["dim"]).num_rows == 15
    assert duckdb.sql("SELECT dim, avg(recall_accuracy) FROM files GROUP BY dim").fetchall()
    assert len(files.to_table(columns=["dim"]).to_pandas()) == 15


def test_a_link_is_not_written_through(store, tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / ".all.csv.part").symlink_to(tmp_path / "mine")
    store.export(tmp_path / "all.csv")
    assert (tmp_path / "mine").read_text() == "precious"


# Listing.


def test_a_field_at_its_default_in_some_records_is_listed_of_all(tmp_path, command):
    short = PROBLEM.replace(learner="gd", steps=3)
    long, other = short.replace(steps=1000), PROBLEM
    assert "steps" not in long.to_dict()  # 1000 is the default
    place = stored(
        tmp_path / "facts", [kept_failed(each, 0) for each in (other, short, long)]
    ).place
    done = command("records", "list", "--store", place)
    assert done.returncode == 0, done.stderr
    rows = {
        tuple(re.findall(r"three-step|gd|–|\b\d+\b", line)[:2]) for line in done.stdout.split("\n")
    }
    assert {("gd", "3"), ("gd", "1000"), ("three-step", "–")} <= rows


def test_a_mean_is_listed_under_its_own_name(tmp_path, records, command):
    key, record = records[0]
    without = KeyedRecord(key, replace(record, attention_accuracy=None, recall_accuracy=0.25))
    done = command("records", "list", "--store", stored(tmp_path / "facts", [without]).place)
    (row,) = [line.split("│") for line in done.stdout.split("\n") if "0.250" in line]
    head = [cell.strip() for cell in done.stdout.split("\n")[3].split("┃")]
    shown = dict(zip(head, (cell.strip() for cell in row), strict=True))
    assert shown["attention"] == "–"
    assert shown["recall"].startswith("0.250 (")


def test_the_same_instance_at_another_precision_is_listed_apart(tmp_path, records):
    again = run(PROBLEM, 0, dtype="float64", test_samples=64)
    key = CellKeys(Settings(test_samples=64, dtype="float64"))((PROBLEM, 0))
    found = store_summary(stored(tmp_path, [*records[:3], KeyedRecord(key, again)]))
    assert [(listed.dtype, listed.by_status) for listed in found.shown] == [
        ("float32", {"ok": 3}),
        ("float64", {"ok": 1}),
    ]


def test_rows_are_what_arrow_gives() -> None:
    texts = pa.array(["a", None, "b", "a", None]).dictionary_encode()
    whole = {
        "text": texts,
        "none": pa.nulls(5, pa.int64()),
        "whole": pa.array([2**62, None, 0, -1, 7]),
        "real": pa.array([math.inf, 0.5, None, -0.0, 1e-300]),
        "flag": pa.array([True, None, False, True, True]),
        "list": pa.array([[1.0], None, [], [2.0, 3.0], [4.0]]),
    }
    for batch in (pa.record_batch(whole), pa.record_batch(whole).slice(1, 3)):
        given, found = batch.to_pylist(), list(plain_rows(batch))
        assert found == given
        types = [[type(value) for row in rows for value in row.values()] for rows in (found, given)]
        assert types[0] == types[1]


# Many writers.

WRITER = """
import sys
from recallscope import Problem, sweep
first, place = int(sys.argv[1]), sys.argv[2]
problem = Problem(vocab=32, samples=64, dim=16, length=4)
for seed in range(first, first + 5):
    sweep([(problem, seed)], place, test_samples=8, progress=False)
"""


def test_writers_at_once_lose_and_double_nothing(tmp_path):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(first), str(tmp_path / "facts")])
        for first in (0, 5, 10)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    store = Store(tmp_path / "facts")
    assert sorted(record.seed for record in store.records()) == list(range(15))
    assert DeltaTable(store.place).count() == 15


def test_writers_that_add_columns_at_once(tmp_path):
    code = (
        "import sys; from recallscope import Problem, sweep\n"
        "problem = Problem(vocab=32, samples=64, dim=16, length=4, metrics=sys.argv[1])\n"
        "for seed in range(int(sys.argv[2]), int(sys.argv[2]) + 3):\n"
        "    sweep([(problem, seed)], sys.argv[3], test_samples=8, progress=False)"
    )
    every = ("recall-at-k", "recall-per-fact", "facts-never-seen")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", code, metric, str(10 * number), str(tmp_path / "f")]
        )
        for number, metric in enumerate(every)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    found = [record.metrics for record in Store(tmp_path / "f").records()]
    assert sorted(name for each in found for name in each) == sorted([*every] * 3)


def test_a_killed_writer_leaves_what_it_committed(tmp_path):
    code = WRITER.replace("first + 5", "first + 1000")
    with subprocess.Popen([sys.executable, "-c", code, "0", str(tmp_path / "facts")]) as writer:
        while not (tmp_path / "facts" / "_delta_log" / f"{3:020}.json").exists():
            time.sleep(0.02)
        writer.send_signal(signal.SIGKILL)
    seeds = sorted(record.seed for record in Store(tmp_path / "facts").records())
    assert seeds == list(range(len(seeds)))
    assert len(seeds) >= 3
    assert sweep(CELLS, tmp_path / "facts", test_samples=8, progress=False).known >= 3


def test_cells_that_others_have_run_are_skipped(tmp_path, monkeypatch):
    from recallscope.sweeps import writer

    monkeypatch.setattr(writer, "_FIRST_COMMIT", 0.0)
    monkeypatch.setattr(writer, "_BETWEEN_COMMITS", 0.0)
    monkeypatch.setattr(writer, "_SHARE_OF_READING", math.inf)
    cells = [(PROBLEM, seed) for seed in range(12)]
    others = []

    def while_it_runs(record):
        if not others:
            others.append(True)
            sweep(cells[6:], tmp_path, test_samples=8, progress=False)

    found = sweep(cells, tmp_path, test_samples=8, progress=False, callback=while_it_runs)
    assert found.ran + found.known == 12
    assert 3 <= found.known <= 6
    assert found.by_status == {"ok": 12}
    assert Store(tmp_path).by_status() == {"ok": 12}


# What cannot be.


def test_there_is_no_store(tmp_path):
    for meets in (lambda store: list(store.records()), lambda store: store.compact()):
        with pytest.raises(StoreError, match="there is no store at"):
            meets(Store(tmp_path / "nothing"))
    assert not (tmp_path / "nothing").exists()
    assert Store(tmp_path / "nothing").index().statuses == {}


def test_a_folder_of_something_else_is_never_changed(tmp_path, command):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    sweep(CELLS[:1], tmp_path / "other", test_samples=8, progress=False)
    before, other = contents(tmp_path / "mine"), str(tmp_path / "other")
    for arguments in (("compact",), ("list",), ("merge", other)):
        done = command("records", "--store", str(tmp_path / "mine"), *arguments)
        assert done.returncode == 2
        assert re.search("has files and is no store|there is no store at", done.stderr)
    with pytest.raises(StoreError, match="is no store"):
        sweep(CELLS[:1], tmp_path / "mine", progress=False)
    assert contents(tmp_path / "mine") == before


def test_a_table_of_something_else_is_never_changed(tmp_path):
    write_deltalake(tmp_path, pa.table({"a": [1]}))
    before = contents(tmp_path)
    for meets in (lambda: list(Store(tmp_path).records()), lambda: Store(tmp_path).compact()):
        with pytest.raises(StoreError, match="is None, None, and this version reads 'recallscope'"):
            meets()
    with pytest.raises(StoreError, match="use another folder"):
        sweep(CELLS, tmp_path, progress=False)
    assert contents(tmp_path) == before


def test_another_schema_is_refused(store, monkeypatch):
    monkeypatch.setattr(delta, "SCHEMA_VERSION", 5)
    with pytest.raises(StoreError, match="'records, schema 4', and this version reads"):
        list(Store(store.place).records())


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="it is no folder"):
        sweep(CELLS, tmp_path / "file", progress=False)
    for place in (
        "",
        "s3:",
        "s3://",
        "s3:/bucket/facts",
        "gs:///",
        "a\0b",
        "a[b]",
        "a%20b",
        "a\\b",
    ):
        with pytest.raises(StoreError, match=r"needs a place|cannot be at"):
            Store(place)
    for place in ("ftp://a/b", "nothing://a/b"):
        with pytest.raises(StoreError, match="cannot be read"):
            Store(place).exists()


def own_table(store):
    files = [pq.read_table(path) for path in DeltaTable(store.place).file_uris()]
    return pa.concat_tables(files, promote_options="permissive")


def with_column(table, name, values, kind=None):
    index = table.column_names.index(name)
    return table.set_column(index, name, pa.array(values, kind or table.schema.field(name).type))


FORGED = {
    "a negative seed": lambda table: with_column(table, "seed", [-1, 1, 2, 3]),
    "an accuracy of seven": lambda table: with_column(table, "recall_accuracy", [7.0] * 4),
    "an accuracy that is no number": lambda t: with_column(
        t, "attention_accuracy", [float("nan")] * 4
    ),
    "no key": lambda table: with_column(table, "key", [None] * 4),
    "a short key": lambda table: with_column(table, "key", [b"0"] * 4, pa.binary()),
    "markup": lambda table: with_column(table, "dtype", ["[/b]"] * 4),
    "an escape code": lambda table: with_column(table, "device", ["\x1b[2J"] * 4),
    "another status": lambda table: with_column(table, "status", ["excellent"] * 4),
    "no problem": lambda table: with_column(table, "vocab", [1] * 4),
    "an activation of nothing": lambda table: with_column(table, "activation", ["gelu"] * 4),
    "no seed": lambda table: table.drop_columns(["seed"]),
    "texts for numbers": lambda table: with_column(table, "dim", ["a"] * 4, pa.string()),
    "nests": lambda table: with_column(table, "dim", [[[1]]] * 4, pa.list_(pa.list_(pa.int64()))),
    "a strange metric": lambda table: table.append_column("metric.a/b", pa.array([1.0] * 4)),
    "a metric of texts": lambda table: table.append_column("metric.a", pa.array(["x"] * 4)),
    "a field of another type": lambda t: t.append_column("field.a:int", pa.array(["x"] * 4)),
}


@pytest.fixture
def forged(tmp_path):
    """A table in the name of ours, with four rows that were changed."""

    def forge(change):
        sweep(CELLS, tmp_path / "real", test_samples=8, progress=False)
        about = {"name": "recallscope", "description": "records, schema 4"}
        write_deltalake(tmp_path / "forged", change(own_table(Store(tmp_path / "real"))), **about)
        return Store(tmp_path / "forged")

    return forge


@pytest.mark.parametrize("what", FORGED)
def test_forged_rows_are_refused(forged, what):
    store = forged(FORGED[what])
    before = contents(store.place)
    with pytest.raises(StoreError, match=r"no experiment gave|cannot be read"):
        list(store.records())
    assert contents(store.place) == before


def test_a_column_more_is_kept_and_a_column_fewer_is_null(forged):
    def change(table):
        more = table.append_column("temperature", pa.array([0.5] * 4))
        return more.drop_columns(["trigger_cosine", "gamma", "revision"])

    store = forged(change)
    assert store.table()["temperature"].to_pylist() == [0.5] * 4
    assert all(record.trigger_cosine is None for record in store.records())


def test_no_text_of_a_table_is_a_formula(forged, tmp_path):
    evil = '=HYPERLINK("http://a.b")'
    store = forged(
        lambda table: with_column(table, "reason", [evil] * 4).append_column(
            "=1+1", pa.array([1] * 4)
        )
    )
    store.export(tmp_path / "all.csv")
    assert """"'=1+1\"""" in (tmp_path / "all.csv").read_text()
    assert "'=HYPERLINK" in (tmp_path / "all.csv").read_text()
    assert ',"=HYPERLINK' not in (tmp_path / "all.csv").read_text()


OUTSIDE = (
    "../outside.parquet",
    "a/../../outside.parquet",
    "/etc/passwd",
    "file:///etc/passwd",
    "%2e%2e/outside.parquet",
    "s3://bucket/object",
)


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_log_that_names_files_elsewhere_is_refused(store, path):
    log = Path(store.place) / "_delta_log" / f"{0:020}.json"
    last = sorted(log.parent.glob("*.json"))[-1]
    lines = [json.loads(line) for line in last.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["path"] = path
    last.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(StoreError, match=r"names a file outside of it|cannot be read"):
        list(Store(store.place).records())
    with pytest.raises(StoreError, match=r"names a file outside of it|cannot be read"):
        store.append([kept(PROBLEM, 100)])


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_log_is_refused_in_a_sentence(store, seed):
    random = np.random.default_rng(seed)
    files = sorted((Path(store.place) / "_delta_log").glob("*.json"))
    file = files[random.integers(len(files))]
    content = bytearray(file.read_bytes())
    for place in random.integers(len(content), size=3):
        content[place] ^= 1 << random.integers(8)
    file.write_bytes(content)
    try:
        found = len(list(Store(store.place).records()))
    except ProblemError as error:
        found = 0 if "\n" not in str(error) else None
    assert found in range(16)


def test_a_damaged_file_of_rows_is_refused_or_read_as_it_is(store):
    """A flipped byte may go unnoticed: the documentation says so."""
    random, noticed = np.random.default_rng(0), 0
    file = next(Path(store.place).glob("*.parquet"))
    whole = file.read_bytes()
    for _ in range(40):
        content = bytearray(whole)
        content[random.integers(len(content))] ^= 1 << random.integers(8)
        file.write_bytes(content)
        try:
            list(Store(store.place).records())
        except ProblemError:
            noticed += 1
    assert noticed >= 10


def test_a_damaged_file_is_not_put_together_with_others(store):
    """Which would end the process."""
    damaged = next(Path(store.place).glob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-9])
    with pytest.raises(StoreError, match=f"{damaged.name!r} of the store .* cannot be read"):
        store.compact(["failed"])
    store.compact(["damaged"])
    assert store.files() == 1
    assert 0 < len(list(store.records())) < 15


def test_a_file_that_is_missing_is_reported(store):
    next(Path(store.place).glob("*.parquet")).unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        list(Store(store.place).records())


def test_foreign_files_are_not_changed_by_a_compaction(store):
    other = Path(store.place) / "mine.parquet"
    other.write_text("mine")
    os.utime(other, (0, 0))
    store.compact()
    assert other.read_text() == "mine"


def test_a_store_that_cannot_be_written_is_read(store, records):
    """A sweep that has nothing to run writes nothing."""
    before = contents(store.place)
    cells = [(problem, seed) for problem in PROBLEMS for seed in range(3)]
    assert sweep(cells, store.place, test_samples=64, dtype="float32", progress=False).known == 15
    assert contents(store.place) == before


def test_a_store_without_a_record_can_be_read(tmp_path):
    """As a driver leaves it that is killed before its first commit."""
    store = Store(tmp_path)
    store.make()
    assert store.by_status() == {}
    assert store.table(["status", "dim"]).num_rows == 0
    assert list(store.records()) == []
    with pytest.raises(StoreError, match=r"has no column 'metric\.loss'"):
        store.table(["metric.loss"])
