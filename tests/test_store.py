"""A store keeps its records, reports damage, and has one writer at a time."""

from __future__ import annotations

import json
import math
import os
import pickle
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recallscope import Problem, ProblemError, Status, Store, run
from recallscope.cell import Cell, Settings
from recallscope.experiment.run import failed_record
from recallscope.problem import SCHEMA_VERSION
from recallscope.store import files as files_module
from recallscope.store import object_store
from recallscope.store import shard as shard_module
from recallscope.store import store as store_module
from recallscope.store.files import StoreError
from recallscope.store.keys import CellKeys
from recallscope.store.plain_rows import plain_rows
from recallscope.store.schema import KeyedRecord, to_records, to_table
from recallscope.store.store import MARKER, StoreWarning

PROBLEM = Problem(vocab=32, samples=64, dim=16, length=4)
PROBLEMS = [
    PROBLEM,
    PROBLEM.replace(samples=math.inf),
    PROBLEM.replace(width=24, activation="gelu", trigger_in_values=True),
    PROBLEM.replace(regime="literal", eta=0.1, gamma=50.0),
    PROBLEM.replace(embedding="orthogonal", dim=40),
]


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


@pytest.fixture
def store(tmp_path, records):
    store = Store(tmp_path / "facts")
    with store.writing():
        for part in range(0, len(records), 4):
            store.append(records[part : part + 4])
    return store


def all_of(store):
    return sorted(
        (record.to_dict() for record in store.records()),
        key=lambda fields: (fields["problem_key"], fields["seed"]),
    )


def as_kept(records):
    fields = [record.to_dict() for _, record in records]
    return sorted(fields, key=lambda fields: (fields["problem_key"], fields["seed"]))


def shards_of(store):
    return sorted(store.files.path.glob("*.parquet"))


def test_records_come_back_to_the_bit(store, records):
    assert all_of(store) == as_kept(records)
    assert {record.problem for record in store.records()} == set(PROBLEMS)


def test_a_failed_record_comes_back_with_its_reason(tmp_path):
    store = Store(tmp_path)
    with store.writing():
        store.append([kept_failed(PROBLEM, 3)])
    (record,) = store.records()
    assert (record.status, record.reason, record.recall_accuracy) == (Status.FAILED, "lost", None)
    assert store.verify().sound


def test_a_shard_is_named_by_its_content_and_leaves_nothing_else(store):
    names = {path.name for path in store.files.path.iterdir()} - {".lock"}
    assert names == {MARKER, *(path.name for path in shards_of(store))}
    found = store.verify()
    assert (found.sound, found.shards, found.records) == (True, 4, 15)


def test_every_key_is_the_content_of_its_record(store, records):
    wrong = [KeyedRecord(b"0" * 24, records[0].record)]
    with store.writing():
        store.append(wrong)
    found = store.verify()
    assert (found.wrong_keys, found.sound) == (1, False)


def test_repair_puts_records_under_their_own_keys(tmp_path, records):
    """Before 0.3, a result that overtook another on a Ray cluster was stored under its key."""
    one, two, three = records[:3]
    store = Store(tmp_path)
    with store.writing():
        store.append([KeyedRecord(two.key, one.record), KeyedRecord(one.key, two.record)])
        store.append([KeyedRecord(b"0" * 24, three.record), three])
    store.repair()
    found = store.verify()
    assert (found.sound, found.records) == (True, 3)
    assert {record.seed for record in store.records()} == {e.record.seed for e in (one, two, three)}
    assert store.repair() == []


def test_an_empty_store_is_repaired(tmp_path):
    with Store(tmp_path).writing():
        pass
    assert Store(tmp_path).repair() == []


@pytest.mark.parametrize("harm", ["cut", "flip", "empty"])
def test_a_corrupt_shard_is_reported_until_it_is_repaired(store, harm, tmp_path):
    shard = shards_of(store)[0]
    content = bytearray(shard.read_bytes())
    rows = pq.read_metadata(shard).num_rows
    if harm == "flip":
        content[len(content) // 3] ^= 1
    shard.write_bytes(content if harm == "flip" else content[: len(content) // 2 * (harm == "cut")])
    files = {path: path.read_bytes() for path in shards_of(store)}

    def is_reported():
        found = store.verify()
        assert (list(found.left_out), found.sound) == ([shard.name], False)
        assert "corrupt: its bytes do not match" in found.left_out[shard.name]
        assert shard.read_bytes() == files[shard]
        return found.records == 15 - rows

    assert is_reported()
    with pytest.warns(StoreWarning, match=f"left out: {shard.name}"), store.writing() as index:
        assert len(index.statuses) == 15 - rows
    assert is_reported()
    for meets in (
        lambda: list(store.records()),
        lambda: store.table(["dim"]),
        lambda: store.statuses(),
        lambda: store.export(tmp_path / "all.csv"),
        lambda: Store(tmp_path / "other").merge(store),
        lambda: store.merge(Store(tmp_path / "other")),
        lambda: store.compact(),
    ):
        with pytest.warns(StoreWarning, match="cannot be used and are left out"):
            meets()
        assert is_reported()
    assert store.repair() == [shard.name]
    found = store.verify()
    assert found.sound
    (aside,) = found.set_aside
    assert (store.files.path / aside).read_bytes() == files[shard]


def test_partial_files_are_ignored_and_then_removed(store):
    parts = [store.files.path / f".{'0' * 32}{end}" for end in (".part", ".parquet.part")]
    foreign = store.files.path / ".mine.part"
    for part in (*parts, foreign):
        part.write_bytes(b"half")
    assert store.verify().records == 15
    with store.writing():
        assert not any(part.exists() for part in parts)
    assert foreign.exists()


def test_foreign_files_are_not_changed(store):
    other = store.files.path / "mine.parquet"
    pq.write_table(pa.table({"a": [1]}), other)
    with store.writing():
        pass
    assert other.exists()
    assert store.verify().strange == ["mine.parquet"]


def test_a_complete_file_that_is_not_a_shard_is_left_out(store):
    content = b"not parquet"
    name = shard_module._name_of(content)
    (store.files.path / name).write_bytes(content)
    assert list(store.verify().left_out) == [name]


def test_compaction_keeps_every_record(store, records):
    assert store.compact() == (4, 1)
    assert all_of(store) == as_kept(records)
    assert store.compact() == (1, 1)
    assert store.verify().sound


def test_failed_records_can_be_dropped_to_be_run_again(store, records):
    more = [kept_failed(PROBLEM, 100 + seed) for seed in range(3)]
    with store.writing():
        store.append(more)
    assert store.by_status() == {"failed": 3, "ok": 15}
    store.compact(["failed"])
    assert store.by_status() == {"ok": 15}
    assert all_of(store) == as_kept(records)


def test_a_crash_during_a_compaction_doubles_nothing(store, records, monkeypatch):
    """The new shard is there, and the old ones are too."""
    monkeypatch.setattr(store.files, "remove", lambda name: None)
    store.compact()
    assert len(shards_of(store)) == 5
    assert all_of(store) == as_kept(records)
    assert store.verify().sound
    monkeypatch.undo()
    with store.writing() as index:
        assert len(index.statuses) == 15
    assert len(shards_of(store)) == 1
    assert all_of(store) == as_kept(records)


def test_a_reader_is_not_disturbed_by_a_compaction(store, records):
    """Shards vanish between the listing and the reading: it looks again."""
    names = store.files.names
    once = []

    def and_compact():
        found = names()
        if not once:
            once.append(True)
            Store(store.place).compact()
        return found

    store.files.names = and_compact
    assert all_of(store) == as_kept(records)


@pytest.mark.slow
@pytest.mark.parametrize("drop", [(), ("failed",)])
def test_a_crash_at_any_moment_of_a_compaction_loses_and_doubles_nothing(
    drop, tmp_path, records, monkeypatch
):
    """It stops before the k-th change of a file, for every k."""
    kept_records = [*records, kept_failed(PROBLEM, 100)]
    for k in range(100):
        store = Store(tmp_path / str(k))
        with store.writing():
            for part in range(0, len(kept_records), 4):
                store.append(kept_records[part : part + 4])
        changes = []

        def before(name, changes=changes, store=store, k=k):
            change = getattr(store.files, name)

            def wrapped(*arguments):
                changes.append(name)
                if len(changes) > k:
                    raise KeyboardInterrupt
                change(*arguments)

            return wrapped

        for name in ("write", "remove", "rename"):
            monkeypatch.setattr(store.files, name, before(name))
        ended = True
        try:
            store.compact(drop)
        except KeyboardInterrupt:
            ended = False
        again = Store(store.place)
        found = again.verify()
        assert found.sound
        assert found.by_status["ok"] == 15
        with again.writing() as index:
            assert len(index.statuses) in ((16, 15) if drop else (16,))
        assert results_of(again) == as_kept(records)
        if ended:
            assert k >= 2
            return
    raise AssertionError("it never came to its end")


def results_of(store):
    fields = [record.to_dict() for record in store.records() if record.status is Status.OK]
    return sorted(fields, key=lambda fields: (fields["problem_key"], fields["seed"]))


def test_a_shard_is_on_the_disk_before_it_has_its_name(store, records, monkeypatch):
    """Written under another name, flushed, renamed, and the folder flushed."""
    done = []
    fsync, replace_path = os.fsync, Path.replace

    def note_fsync(descriptor):
        done.append(("fsync", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        fsync(descriptor)

    def note_replace(path, target):
        done.append(("replace", path.name, Path(target).name))
        return replace_path(path, target)

    monkeypatch.setattr(files_module.os, "fsync", note_fsync)
    monkeypatch.setattr(files_module.Path, "replace", note_replace)
    before = {path.name for path in shards_of(store)}
    with store.writing():
        store.append([kept_failed(PROBLEM, 7)])
    (name,) = {path.name for path in shards_of(store)} - before
    (_, part), *rest = done
    assert re.fullmatch(r"\.[0-9a-f]{32}\.part", part)
    assert rest == [("replace", part, name), ("fsync", store.files.path.name)]


def test_a_reader_with_an_inconsistent_listing_lists_again(store, records):
    """The old shards were gone already, and the new one was not there yet."""
    names, first = store.files.names, []

    def listed():
        if first:
            return names()
        first.append(True)
        Store(store.place).compact()
        return []

    store.files.names = listed
    assert all_of(store) == as_kept(records)


def test_many_small_shards_are_merged_automatically(tmp_path, records, monkeypatch):
    monkeypatch.setattr(store_module, "_MOST_SMALL", 5)
    store = Store(tmp_path)
    with store.writing():
        for each in records:
            store.append([each])
    assert len(shards_of(store)) <= 6
    assert all_of(store) == as_kept(records)


def test_a_shard_harmed_while_it_is_written_to_is_left_for_the_next_to_open_it(
    tmp_path, records, monkeypatch
):
    monkeypatch.setattr(store_module, "_MOST_SMALL", 3)
    store = Store(tmp_path)
    with store.writing():
        for each in records[:3]:
            store.append([each])
        corrupt = shards_of(store)[0]
        corrupt.write_bytes(b"damaged")
        for each in records[3:]:
            store.append([each])
    assert list(store.verify().left_out) == [corrupt.name]
    with pytest.warns(StoreWarning), store.writing() as index:
        assert len(index.statuses) == len(records) - 1


def test_merging_adds_what_is_missing_and_nothing_twice(tmp_path, records):
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    for store, part in ((one, records[:10]), (two, records[5:])):
        with store.writing():
            store.append(part)
    assert one.merge(two)[:2] == (5, 0)
    assert one.merge(two)[:2] == (0, 0)
    assert all_of(one) == as_kept(records)
    assert one.verify().sound


def test_merging_reports_better_records_of_the_other_store(tmp_path, records):
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    with here.writing():
        here.append([kept_failed(PROBLEM, 0)])
    with there.writing():
        there.append(records)
    assert here.merge(there)[:2] == (14, 1)
    here.compact(["failed"])
    assert here.merge(there)[:2] == (1, 0)
    assert all_of(here) == as_kept(records)


def test_a_lock_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / ".lock").symlink_to(tmp_path / "mine")
    with (
        pytest.raises(StoreError, match="cannot be written to"),
        Store(tmp_path / "facts").writing(),
    ):
        pass
    assert (tmp_path / "mine").read_text() == "precious"


def test_export(store, tmp_path):
    assert store.export(tmp_path / "all.csv") == 15
    assert store.export(tmp_path / "all.parquet") == 15
    table = polars.read_csv(tmp_path / "all.csv")
    assert table.height == 15
    assert table["samples"].cast(str).to_list().count("inf") == 3
    assert pq.read_table(tmp_path / "all.parquet").num_rows == 15
    with pytest.raises(ProblemError, match=r"written as \.csv, \.parquet, not 'all.txt'"):
        store.export(tmp_path / "all.txt")


def stored(place, *records):
    store = Store(place)
    with store.writing():
        store.append(records)
    return store.place


def test_a_field_at_its_default_in_some_records_is_listed_of_all(tmp_path, command):
    short = PROBLEM.replace(learner="gd", steps=3)
    long, other = short.replace(steps=1000), PROBLEM
    assert "steps" not in long.to_dict()  # 1000 is the default
    place = stored(tmp_path / "facts", *(kept_failed(each, 0) for each in (other, short, long)))
    done = command("records", "list", "--store", place)
    assert done.returncode == 0, done.stderr
    rows = {
        tuple(re.findall(r"three-step|gd|–|\b\d+\b", line)[:2]) for line in done.stdout.split("\n")
    }
    assert {("gd", "3"), ("gd", "1000"), ("three-step", "–")} <= rows


def test_a_mean_is_listed_under_its_own_name(tmp_path, records, command):
    key, record = records[0]
    without = KeyedRecord(key, replace(record, attention_accuracy=None, recall_accuracy=0.25))
    done = command("records", "list", "--store", stored(tmp_path / "facts", without))
    (row,) = [line.split("│") for line in done.stdout.split("\n") if "0.250" in line]
    head = [cell.strip() for cell in done.stdout.split("\n")[3].split("┃")]
    shown = dict(zip(head, (cell.strip() for cell in row), strict=True))
    assert shown["attention"] == "–"
    assert shown["recall"].startswith("0.250 (")


def test_others_read_it_in_one_line(store):
    found = duckdb.sql(f"SELECT count(*) FROM '{store.place}/*.parquet'").fetchall()
    assert found == [(15,)]
    table = polars.read_parquet(f"{store.place}/*.parquet")
    assert table.height == 15
    means = duckdb.sql(
        f"SELECT dim, avg(recall_accuracy) FROM '{store.place}/*.parquet' GROUP BY dim ORDER BY dim"
    ).fetchall()
    assert [dim for dim, _ in means] == [16, 40]


def test_there_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="there is no store at"):
        list(Store(tmp_path / "nothing").records())
    with pytest.raises(StoreError, match="there is no store at"):
        Store(tmp_path / "nothing").compact()
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(StoreError, match="a store needs a place"):
        Store("")


def test_the_same_instance_at_another_precision_is_listed_apart(tmp_path, records):
    from recallscope.store.summary import store_summary

    store = Store(tmp_path)
    again = run(PROBLEM, 0, dtype="float64", test_samples=64)
    key = CellKeys(Settings(test_samples=64, dtype="float64"))((PROBLEM, 0))
    with store.writing():
        store.append([*records[:3], KeyedRecord(key, again)])
    found = store_summary(store)
    assert [(listed.dtype, listed.by_status) for listed in found.shown] == [
        ("float32", {"ok": 3}),
        ("float64", {"ok": 1}),
    ]


def test_one_writer_at_a_time(store):
    with store.writing():
        with (
            pytest.raises(StoreError, match="in use by another process; wait for it"),
            Store(store.place).writing(),
        ):
            pass
        assert sum(1 for _ in Store(store.place).records()) == 15  # readers need no lock
    with Store(store.place).writing():
        pass


def test_the_lock_of_a_killed_writer_is_free_at_once(store):
    code = (
        "import sys, time; from recallscope import Store\n"
        f"with Store({store.place!r}).writing():\n    print('in', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"in\n"
        with pytest.raises(StoreError, match="in use"), store.writing():
            pass
        writer.kill()
    with store.writing():
        pass


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match="cannot be written to"),
        Store(tmp_path / "file").writing(),
    ):
        pass


def test_a_full_disk_leaves_no_partial_file(store, records, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files_module.os, "fsync", full)
    with store.writing(), pytest.raises(StoreError, match="No space left on device"):
        store.append(records[:1])
    monkeypatch.undo()
    assert store.verify().records == 15
    assert not list(store.files.path.glob(".*.part"))


def test_a_store_that_would_run_code_does_not(tmp_path):
    """A pickle in the place of a shard is never loaded."""
    store = Store(tmp_path / "facts")
    with store.writing():
        pass

    class Bomb:
        def __reduce__(self):
            return (os.system, (f"touch {tmp_path}/ran",))

    content = pickle.dumps(Bomb())
    (tmp_path / "facts" / shard_module._name_of(content)).write_bytes(content)
    about = json.dumps({"schema": SCHEMA_VERSION, "nonce": "", "replaces": []})
    table = to_table([]).replace_schema_metadata({"recallscope": about})
    table = table.append_column("more", pa.array([], pa.binary()))
    with (tmp_path / "facts" / "x").open("wb") as file:
        pq.write_table(table, file)
    content = (tmp_path / "facts" / "x").read_bytes()
    (tmp_path / "facts" / "x").rename(tmp_path / "facts" / shard_module._name_of(content))
    assert len(store.verify().left_out) == 1  # an additional column is accepted
    with pytest.warns(StoreWarning), store.writing():
        pass
    assert not (tmp_path / "ran").exists()


def test_rows_are_inverse_to_records(records):
    again = list(to_records(to_table(records)))
    assert again == [replace(record) for _, record in records]


@pytest.mark.filterwarnings("ignore:the store .* has a lock")
def test_two_writers_never_both_lock_an_object_store(monkeypatch):
    monkeypatch.setattr(object_store, "_BEAT", 0.2)
    inside, most, refused = [], [0], []

    def want():
        try:
            with Store("memory://both").writing():
                inside.append(1)
                most[0] = max(most[0], len(inside))
                threading.Event().wait(1.5)
                inside.pop()
        except StoreError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=want) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] <= 1
    assert len(refused) >= 2
    with Store("memory://both").writing():
        pass


def test_an_object_store_keeps_records_and_frees_the_lock_of_the_dead(records, monkeypatch):
    monkeypatch.setattr(object_store, "_BEAT", 0.1)
    store = Store("memory://facts")
    with store.writing():
        store.append(records[:5])
        store.append(records[5:])
    assert all_of(store) == as_kept(records)
    store.files.write(".lock-dead", b"{}")
    with pytest.warns(StoreWarning, match="waiting 0 s to see whether its owner still runs"):
        assert store.compact() == (2, 1)
    assert store.verify().sound
    assert store.files._listed() == store.files.names()


def test_a_lock_that_was_given_away_is_noticed(records):
    store = Store("memory://lost")
    with store.writing():
        store.files.remove(next(name for name in store.files._listed() if ".lock-" in name))
        with pytest.raises(StoreError, match="gave its lock to another process"):
            store.append(records[:1])


@pytest.mark.filterwarnings("ignore:the store .* has a lock")
def test_a_lock_that_was_given_away_is_not_taken_back_by_a_late_renewal(records, monkeypatch):
    """The driver stops between its last check and its put, and another takes over."""
    monkeypatch.setattr(object_store, "_BEAT", 0.2)
    store, stands, goes_on = Store("memory://late"), threading.Event(), threading.Event()
    put = store.files.write

    def late(name, content):
        if threading.current_thread() is not threading.main_thread():
            stands.set()
            goes_on.wait()
        put(name, content)

    with store.writing():
        store.files.write = late
        assert stands.wait(5)
        with Store("memory://late").writing():
            goes_on.set()
            threading.Event().wait(0.3)
            assert sum(".lock-" in name for name in store.files._listed()) == 2
        with pytest.raises(StoreError, match="gave its lock to another process"):
            store.append(records[:1])
    assert store.files._listed() == [MARKER]


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
