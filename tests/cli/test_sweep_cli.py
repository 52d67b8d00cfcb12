"""Sweeps and records from the command line, as a user types them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from problems import SMALL_SWEEP
from sound_stores import is_sound, rows_of

from recallscope import Store
from recallscope.cli.sweep import print_estimate
from recallscope.sweeps.estimate import Estimate

LONG = """
seeds = 2000
test_samples = 256
[problem]
vocab = 64
length = 8
dim = 32
samples = 60000
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(SMALL_SWEEP)
    return str(path)


def test_from_a_file_to_a_table_and_a_figure(command, file, tmp_path):
    store = str(tmp_path / "facts")
    planned = json.loads(command("sweep", file, "--store", store, "--dry-run", "--json").stdout)
    assert (planned["cells"], planned["done"], planned["to_run"]) == (12, 0, 12)
    assert not Path(store).exists()
    first = command("sweep", file, "--store", store, "--json")
    found = json.loads(first.stdout)
    assert (found["cells"], found["ran"], found["by_status"]) == (12, 12, {"ok": 12})
    again = command("sweep", file, "--store", store, "--executor", "processes")
    assert again.returncode == 0
    assert "12 cells: 12 had a record, 0 were run" in again.stdout
    at = ("--store", store)
    for arguments in (
        (*at, "--json", "list"),
        (*at, "list", "--json"),
        ("list", *at, "--json"),
        ("--json", "list", *at),
    ):
        listed = json.loads(command("records", *arguments).stdout)
        assert (listed["records"], listed["by_status"], listed["problems"]) == (12, {"ok": 12}, 4)
        assert listed["shown"][0]["recall_accuracy"]["low"] >= 0
    table = str(tmp_path / "facts.csv")
    done = command("records", "--store", store, "export", table)
    assert f"12 records were written to {table}" in done.stdout
    figure = tmp_path / "facts.png"
    plane = ("--x", "dim", "--y", "samples", "--target", "0.3")
    done = command("phase", "--from", store, *plane, "--figure", str(figure), "--json")
    assert json.loads(done.stdout)["seeds"] == 3
    assert figure.read_bytes()[:4] == b"\x89PNG"
    done = command("records", "--store", store, "list")
    assert re.search(r"12 records of 4 problems in \d files?: 12 ok", done.stdout)


@pytest.mark.parametrize(
    ("unknown", "time"), [(0, "2.0 s"), (1, "at least 2.0 s"), (4, "not known")]
)
def test_a_cost_that_is_not_known_is_not_said_to_be_none(unknown, time, capsys):
    costs = {"multiply_adds": 1e6, "memory_bytes": 2**30, "seconds": 2.0, "core_hours": 0.1}
    print_estimate("serial", Estimate(4, 0, 4, workers=1, unknown=unknown, **costs))
    said = capsys.readouterr().out
    (line,) = [line for line in said.split("\n") if "time, serial" in line]
    assert line.split("│")[2].strip() == time
    assert said.count("not known") == (4 if unknown == 4 else 0)


def test_a_sweep_of_hours_needs_a_yes(command, tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(LONG.replace("60000", "1_000_000_000"))
    done = command("sweep", str(path), "--store", str(tmp_path / "facts"))
    assert done.returncode == 2
    assert re.search(
        r"predicted to take about [\d.]+ h; give --yes .* or see --dry-run", done.stderr
    )
    assert not (tmp_path / "facts").exists()


def test_tidying_up(command, file, tmp_path):
    stores = [str(tmp_path / name) for name in ("one", "two")]
    for store in stores:
        assert command("sweep", file, "--store", store).returncode == 0
    done = command("records", "--store", stores[0], "--json", "merge", stores[1])
    assert json.loads(done.stdout) == {
        "added": 0,
        "better_there": 0,
        "completed": 0,
        "conflicts": 0,
    }
    done = command("records", "--store", stores[0], "compact")
    assert done.stdout.endswith("1 now.\n")
    damaged = next(Path(stores[1]).glob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-9])
    done = command("sweep", file, "--store", stores[1])
    assert done.returncode == 2
    assert f"{damaged.name!r} of the store {stores[1]!r} cannot be read" in done.stderr
    done = command("records", "--store", stores[1], "compact", "--drop", "damaged")
    assert done.returncode == 0, done.stderr
    assert command("sweep", file, "--store", stores[1]).returncode == 0
    assert results(stores[1]) == results(stores[0])


def results(store):
    return sorted(
        (record.problem.key, record.seed, str(record.result())) for record in Store(store).records()
    )


@pytest.mark.slow
def test_shards_change_nothing(command, tmp_path):
    path = tmp_path / "large.toml"
    path.write_text("[problem]\nvocab = 256\ndim = 32\nlength = 8\nsamples = 50000\n")
    for count in ("1", "2", "5"):
        how = ("--executor", "processes", "--workers", "2", "--shards", count)
        done = command("sweep", str(path), "--store", str(tmp_path / count), *how)
        assert done.returncode == 0, done.stderr
    found = [results(tmp_path / count) for count in ("1", "2", "5")]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 1


def test_searches_many_at_once(command, tmp_path):
    path = tmp_path / "critical.toml"
    path.write_text(
        "test_samples = 256\n[problem]\nvocab = 64\nlength = 4\n[grid]\ndim = [40, 48]\n"
        '[critical]\nfor = "samples"\nbudget = 12\n'
    )
    arguments = ("sweep", str(path), "--store", str(tmp_path / "facts"))
    assert "2 searches of at most 24 runs" in command(*arguments, "--dry-run").stdout
    found = json.loads(command(*arguments, "--executor", "processes", "--json").stdout)
    assert [each["evaluations"] for each in found["searches"]] == [12, 12]
    again = command(*arguments)
    assert str(found["searches"][0]["value"]) in again.stdout
    assert rows_of(Store(tmp_path / "facts")) == 24


def test_measurements_are_kept_too(command, tmp_path):
    sizes = ("--vocab", "64", "--dim", "48", "--length", "4", "--budget", "8", "--json")
    arguments = ("critical", "--for", "samples", *sizes, "--test-samples", "64")
    plain = command(*arguments)
    kept = command(*arguments, "--store", str(tmp_path), "--executor", "processes")
    again = command(*arguments, "--store", str(tmp_path))
    assert plain.stdout == kept.stdout == again.stdout
    assert rows_of(Store(tmp_path)) == 8


def test_a_failure_is_shown_at_once_and_in_the_exit_code(command, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(SMALL_SWEEP + '[zip]\nregime = ["literal"]\neta = [1e37]\ngamma = [1e37]\n')
    arguments = ("sweep", str(path), "--store", str(tmp_path / "facts"))
    done = command(*arguments, "--fail-fast")
    assert done.returncode == 1
    assert "recallscope: failed: vocab=32" in done.stderr
    assert "have no record yet" in done.stdout
    done = command(*arguments, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["by_status"] == {"failed": 12}
    store = ("records", "--store", str(tmp_path / "facts"))
    assert command(*store, "compact", "--drop", "failed").returncode == 0
    assert json.loads(command(*store, "--json", "list").stdout)["records"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sweep", "FILE"), "a sweep needs a store to keep its records in; give --store PLACE"),
        (("sweep", "none.toml", "--store", "s"), "the sweep file 'none.toml' cannot be read"),
        (("sweep", "FILE", "--store", "s", "--executor", "dask"), "one of serial, processes, ray"),
        (("sweep", "FILE", "--store", "s", "--shards", "0"), "shards must be a whole number"),
        (
            ("sweep", "FILE", "--store", "s", "--address", "x:1"),
            "an address is for the executor ray",
        ),
        (
            ("sweep", "FILE", "--store", "s", "--executor", "ray", "--address", "127.0.0.1:9"),
            "there is no Ray cluster at 127.0.0.1:9",
        ),
        (("sweep", "FILE", "--store", "nothing://x"), "the store 'nothing://x' cannot be read"),
        (("records", "list"), "give the store of the records: --store PLACE"),
        (("records", "--store", "a", "list", "--store", "b"), "records: --store PLACE, once"),
        (("records", "--store", "none", "list"), "there is no store at 'none'"),
        (
            ("records", "--store", "none", "compact", "--drop", "ok"),
            "must be one of failed, infeasible, conflicting, damaged, not",
        ),
        (("phase", "--from", ".", "--x", "dim=1,2", "--y", "samples"), "a store has its values"),
    ],
)
def test_mistakes_are_one_sentence(arguments, message, file, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command(*(file if a == "FILE" else a for a in arguments))
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("recallscope:")]
    assert len(lines) == 1
    assert message in lines[0]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("executor", "by"), [("serial", signal.SIGTERM), ("processes", signal.SIGINT)]
)
def test_ctrl_c_is_obeyed_and_leaves_a_store_to_resume(executor, by, tmp_path):
    path, store = tmp_path / "long.toml", tmp_path / "facts"
    path.write_text(LONG)
    call = [sys.executable, "-m", "recallscope", "sweep", str(path), "--store", str(store)]
    with subprocess.Popen(
        [*call, "--executor", executor],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as driver:
        deadline = time.monotonic() + 120
        while not list(store.glob("*.parquet")) and time.monotonic() < deadline:
            time.sleep(0.1)
        written = rows_of(Store(store))
        os.killpg(driver.pid, by)
        _, errors = driver.communicate(timeout=60)  # how soon: studies/interrupts.py
    assert driver.returncode == 130
    assert "the same command resumes from here" in errors
    assert "Traceback" not in errors
    assert is_sound(Store(store))
    assert 1 <= written <= rows_of(Store(store)) < 2000


def test_progress_in_a_log_says_how_far_and_how_fast(tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(LONG)
    call = [sys.executable, "-m", "recallscope", "sweep", str(path), "--store", str(tmp_path / "s")]
    with subprocess.Popen(
        [*call, "--executor", "processes", "--workers", "2"], stderr=subprocess.PIPE, text=True
    ) as driver:
        line = driver.stderr.readline()
        while line.startswith("sweep: soon to begin"):
            line = driver.stderr.readline()
        driver.kill()
    pattern = (
        r"sweep: \d+%, (estimating|about [\d.]+ \w+ left); "
        r"\d+ done, 0 failed, \d+ left, [\d.]+ cells/s, load \d\.\d+( \d\.\d+)?$"
    )  # the second worker may have come to nothing yet
    assert re.match(pattern, line), line
