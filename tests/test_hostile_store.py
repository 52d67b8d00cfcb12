"""Forged shards and other files in a store are reported, left out and not changed."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recallscope import Problem, Store, sweep
from recallscope.problem import SCHEMA_VERSION
from recallscope.store import files as files_module
from recallscope.store import shard as shard_module
from recallscope.store.files import StoreError
from recallscope.store.store import StoreWarning
from test_store_schema import contents, put

PROBLEM = Problem(vocab=32, samples=64, dim=16, length=4)
CELLS = [(PROBLEM, seed) for seed in range(4)]


@pytest.fixture
def store(tmp_path):
    sweep(CELLS, tmp_path / "facts", test_samples=64)
    return Store(tmp_path / "facts")


def own_table(store):
    (shard,) = store.files.path.glob("*.parquet")
    return pq.read_table(shard).replace_schema_metadata(None)


def with_column(table, name, values, kind=None):
    index = table.column_names.index(name)
    return table.set_column(index, name, pa.array(values, kind or table.schema.field(name).type))


CONTENTS = {
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
    "bad text": lambda t: with_column(t, "reason", pa.array([b"\xff"] * 4).view(pa.string())),
    "a column twice": lambda table: table.append_column("dim", table["dim"]),
    "many rows": lambda table: table.take(pa.array([0] * (2**21 + 1))),
    "long texts": lambda table: with_column(
        table.take(pa.array([0] * 2**17)), "reason", ["a" * 10_000] * 2**17
    ),
}


def test_no_change_of_a_footer_ends_the_process(store):
    # Arrow once crashed when it read the sizes of columns with forged statistics.
    table = own_table(store).select(["key", "seed"])
    about = {"schema": SCHEMA_VERSION, "replaces": []}
    buffer = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({"recallscope": json.dumps(about)}), buffer)
    content = buffer.getvalue().to_pybytes()
    length = int.from_bytes(content[-8:-4], "little")
    reasons = set()
    for place in range(len(content) - 8 - length, len(content) - 8):
        changed = content[:place] + bytes([content[place] ^ 2]) + content[place + 1 :]
        with pytest.raises((shard_module.BadShardError, StoreError)) as refusal:
            shard_module.read_shard(shard_module._name_of(changed), changed)
        reasons.add(str(refusal.value))
    assert {"not a shard: without the column status"} < reasons


@pytest.mark.parametrize("what", CONTENTS)
def test_a_forged_shard_is_refused_alone(store, what):
    forged = put(store.files.path, CONTENTS[what](own_table(store)))
    before = contents(store.files.path)
    found = store.verify()
    assert (list(found.left_out), found.records, found.sound) == ([forged.name], 4, False)
    with pytest.warns(StoreWarning, match=forged.name):
        assert len(list(store.records())) == 4
    with pytest.warns(StoreWarning):
        assert sweep(CELLS, store, test_samples=64).known == 4
    after = contents(store.files.path)
    assert {name: after[name] for name in before if name != ".lock"} == {
        name: content for name, content in before.items() if name != ".lock"
    }
    assert store.repair() == [forged.name]
    assert store.verify().sound


@pytest.mark.parametrize(
    "about",
    [
        [],
        {"schema": SCHEMA_VERSION, "replaces": "all"},
        {"schema": SCHEMA_VERSION, "replaces": ["../../mine"]},
        {"schema": SCHEMA_VERSION, "replaces": [{}]},
    ],
)
def test_metadata_of_a_shard_is_not_trusted(store, about):
    forged = put(store.files.path, own_table(store).slice(0, 0), about=about)
    assert list(store.verify().left_out) == [forged.name]


def test_a_shard_of_a_hundred_thousand_brackets(store):
    table = own_table(store).replace_schema_metadata({"recallscope": "[" * 10**5})
    pq.write_table(table, store.files.path / "new")
    name = shard_module._name_of((store.files.path / "new").read_bytes())
    (store.files.path / "new").rename(store.files.path / name)
    assert list(store.verify().left_out) == [name]


def test_a_shard_that_replaces_others_without_their_records(store):
    (real,) = store.files.path.glob("*.parquet")
    forged = put(
        store.files.path,
        own_table(store).slice(0, 1),
        about={"schema": SCHEMA_VERSION, "nonce": "", "replaces": [real.name]},
    )
    with pytest.warns(StoreWarning, match=forged.name), store.writing() as index:
        assert len(index.statuses) == 4
    assert real.exists()


def test_a_shard_that_appears_while_a_writer_opens_is_not_deleted(store, tmp_path):
    """It was renamed into the folder after the listing."""
    sweep([(PROBLEM, seed) for seed in range(10, 13)], tmp_path / "other", test_samples=64)
    (other,) = (tmp_path / "other").glob("*.parquet")
    names, calls = store.files.names, []

    def listed():
        found = names()
        calls.append(1)
        if len(calls) == 4:
            other.rename(store.files.path / other.name)
        return found

    store.files.names = listed
    with store.writing():
        pass
    assert (store.files.path / other.name).exists()
    assert Store(store.place).verify().records == 7


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has none")
@pytest.mark.parametrize("what", ["fifo", "zero", "link", "dangling", "folder", "large"])
def test_links_pipes_and_large_files_are_left_out(store, what, tmp_path, monkeypatch):
    path = store.files.path / f"{'a' * 32}.parquet"
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "large":
        monkeypatch.setattr(files_module, "MOST_BYTES", 10**6)
        with path.open("wb") as file:
            file.truncate(10**6 + 1)
    else:
        (real,) = store.files.path.glob("*.parquet")
        targets = {"zero": "/dev/zero", "link": real, "dangling": tmp_path / "nowhere"}
        path.symlink_to(targets[what])
    found = store.verify()
    assert (list(found.left_out), found.records) == ([path.name], 4)
    with pytest.warns(StoreWarning), store.writing():
        pass
    assert os.path.lexists(path)
    assert store.repair() == [path.name]
    assert store.verify().sound


def test_a_link_is_not_written_through(store, tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / ".all.csv.part").symlink_to(tmp_path / "mine")
    store.export(tmp_path / "all.csv")
    assert (tmp_path / "mine").read_text() == "precious"


def test_only_the_owner_may_write_files(tmp_path):
    before = os.umask(0)
    try:
        sweep(CELLS, tmp_path / "facts", test_samples=64)
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "facts").iterdir()}
    assert modes == {0o644}


def test_no_text_of_a_table_is_a_formula(store, tmp_path):
    evil = '=HYPERLINK("http://a.b")'
    table = with_column(own_table(store), "reason", [evil] * 4)
    put(store.files.path, table.append_column("=1+1", pa.array([1] * 4)))
    store.export(tmp_path / "all.csv")
    assert """"'=1+1\"""" in (tmp_path / "all.csv").read_text()
    assert "'=HYPERLINK" in (tmp_path / "all.csv").read_text()
    assert ',"=HYPERLINK' not in (tmp_path / "all.csv").read_text()


def test_names_of_files_are_not_acted_on_by_a_terminal(store, command):
    (store.files.path / "\x1b[31mred").write_text("")
    done = command("records", "--store", store.place, "verify")
    assert "\x1b" not in done.stdout
    assert r"left alone: \x1b[31mred" in done.stdout


@pytest.mark.parametrize("kind", ["ftp", "jupyter", "generic", "zip", "arrow_hdfs", "nothing"])
def test_places_that_cannot_be_reached_are_reported(kind):
    with pytest.raises(StoreError, match="cannot be"):
        Store(f"{kind}://a/b").verify()


@pytest.mark.parametrize("place", ["a" * 300, "a\0b"])
def test_impossible_places_are_refused(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="cannot be"):
        Store(place).verify()


@pytest.mark.parametrize("place", ["s3:", "s3://", "s3:///", "s3:/bucket/facts", "gs:///"])
def test_an_incomplete_address_is_refused(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=r"half an address; give a whole one .* s3://bucket/facts"):
        Store(place)
    with pytest.raises(StoreError, match="half an address"):
        Store(Path("s3://bucket/facts"))  # a Path turns it into s3:/bucket/facts
    with pytest.raises(StoreError, match="a store needs a place"):
        Store("file://")


def test_repair_says_what_it_would_do_first(store, command):
    (shard,) = store.files.path.glob("*.parquet")
    shard.write_bytes(b"damaged")
    records = ("records", "--store", store.place)
    assert command(*records, "verify").returncode == 1
    done = command(*records, "repair")
    assert "Nothing was changed; repair --yes" in done.stdout
    assert shard.exists()
    listed = command(*records, "list")
    assert f"left out: {shard.name}" in listed.stderr
    assert command(*records, "compact").stderr.count(shard.name) == 1
    assert command(*records, "verify").returncode == 1
    assert "put aside" in command(*records, "repair", "--yes").stdout
    assert not shard.exists()
    assert command(*records, "verify").returncode == 0
    assert "nothing to repair" in command(*records, "repair").stdout


def test_doubled_records_are_put_together(store):
    table = own_table(store)
    put(store.files.path, table)
    assert store.verify().duplicated == 4
    store.repair()
    found = store.verify()
    assert (found.sound, found.records) == (True, 4)


def test_a_store_in_memory_is_refused_on_the_command_line(command):
    done = command("records", "--store", "memory://facts", "verify")
    assert done.returncode == 2
    sweep_file = command("critical", "--for", "dim", "--store", "memory://facts", *SIZES)
    assert sweep_file.returncode == 2
    assert "gone when the command ends" in sweep_file.stderr


SIZES = ("--vocab", "32", "--samples", "64", "--length", "4")


def test_the_lock_does_not_name_the_machine(store):
    with store.writing():
        content = (store.files.path / ".lock").read_bytes()
    assert socket.gethostname().encode() not in content


def test_a_copy_under_another_name_is_reported_and_counted_once(store):
    (shard,) = store.files.path.glob("*.parquet")
    shutil.copy(shard, store.files.path / "x.parquet")
    found = store.verify()
    assert (found.records, found.strange) == (4, ["x.parquet"])
