"""Ray clusters of others are joined within seconds or refused, and workers have the same code."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from plain_jobs import Sleep
from plugin_sweep import results
from proc import HERE, command
from test_executors import answers

import recallscope
from recallscope import ProblemError
from recallscope.sweeps.executors.ray import LOOPBACK, QUIET
from recallscope.sweeps.executors.same_code import difference, hash_of_files, own_code
from recallscope.sweeps.executors.workers import Workers, workers_of

SOURCE = Path(recallscope.__file__).parents[1]
SIOCSIFFLAGS, IFF_UP = 0x8914, 1  # of Linux, to put a network interface up
SWEEP = """
seeds = 10
[problem]
vocab = 16
length = 4
[grid]
dim = [8, 16]
samples = [32, 64]
"""
ROOT = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
# Without access to the processes of this host, and without a network.
NO_NODE_HERE = ["unshare", *ROOT, "--pid", "--fork", "--kill-child", "--mount-proc"]
NO_NETWORK = ["unshare", *ROOT, "--net"]


def needs(namespace: list[str]) -> None:
    if subprocess.run([*namespace, "true"], capture_output=True).returncode:
        pytest.skip("namespaces are not allowed here")


class Cluster(NamedTuple):
    folder: Path
    address: str
    token: str
    settings: dict[str, str]

    def environment(self, source: Path = SOURCE) -> dict[str, str]:
        return {
            **os.environ,
            **QUIET,
            **self.settings,
            "PYTHONPATH": os.pathsep.join(map(str, (source, *HERE))),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
        }

    def start(self, name: str, *options: str, source: Path = SOURCE) -> None:
        """Start a node; its workers use the recallscope of this folder."""
        places = ("--node-ip-address=127.0.0.1", f"--temp-dir={self.folder / name}")
        sizes = ("--num-cpus=1", "--num-gpus=0", f"--object-store-memory={2**27}")
        subprocess.run(
            [sys.executable, "-m", "ray.scripts.scripts", "start", *places, *sizes, *options],
            env=self.environment(source),
            check=True,
            timeout=90,
            capture_output=True,
        )

    def sweep(self, store: Path, *around: str, text: str = SWEEP, **environment: str) -> str:
        """The error message of a sweep that fails on this cluster."""
        (self.folder / "sweep.toml").write_text(text)
        sweep = ("sweep", str(self.folder / "sweep.toml"), "--store", str(store), "--yes")
        here = ("--executor", "ray", "--address", self.address)
        start = time.monotonic()
        done = subprocess.run(
            [*around, sys.executable, "-m", "recallscope", *sweep, *here],
            env=self.environment() | environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        print(done, round(time.monotonic() - start, 1))
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        return done.stderr


@contextmanager
def started(settings: dict[str, str], *options: str) -> Iterator[Cluster]:
    """A cluster of one node on loopback, with one CPU unless options say otherwise."""
    folder = Path(tempfile.mkdtemp(prefix="recallscope-joined-"))
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = line.getsockname()[1]
    cluster = Cluster(folder, f"127.0.0.1:{port}", secrets.token_hex(32), settings)
    try:
        cluster.start("head", "--head", f"--port={port}", "--include-dashboard=false", *options)
        yield cluster
    finally:
        stop_cluster(folder)


def stop_cluster(folder: Path) -> None:
    """Kill what runs in a folder, and remove it."""
    for path in Path("/proc").glob("[0-9]*"):
        if str(folder) in command(int(path.name)):
            with suppress(ProcessLookupError):
                os.kill(int(path.name), signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with started(LOOPBACK) as found:
        yield found


def complaint(errors: str) -> str:
    """The error message of a command that fails, without the messages that it waits."""
    said = [line for line in errors.splitlines() if line.startswith("recallscope: ")]
    waits = [line for line in said if line.startswith("recallscope: joining the Ray cluster at")]
    assert len(waits) <= 1
    (sentence,) = (line for line in said if line not in waits)
    return sentence


@pytest.mark.slow
def test_a_host_without_a_node_cannot_join(cluster: Cluster, tmp_path: Path) -> None:
    """Ray looks for its node among the processes of the host, and sees none of them."""
    needs(NO_NODE_HERE)
    errors = cluster.sweep(tmp_path / "facts", *NO_NODE_HERE)
    assert f"recallscope: joining the Ray cluster at {cluster.address} ..." in errors
    sentence = complaint(errors)
    assert f"at {cluster.address} is there, but has no node on this host" in sentence
    assert f"`ray start --address={cluster.address}`" in sentence


@pytest.mark.slow
def test_another_version_of_ray_cannot_join(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import ray\nray.__version__ = '2.0.7'\n")
    path = f"{tmp_path}{os.pathsep}{cluster.environment()['PYTHONPATH']}"
    sentence = complaint(cluster.sweep(tmp_path / "facts", PYTHONPATH=path))
    assert "Ray: 2.0.7" in sentence
    assert sentence.endswith("; install the same versions here as there")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere.invalid:6379", "ray://h:1"])
def test_an_address_where_nothing_is_is_refused_within_seconds(address: str) -> None:
    start = time.monotonic()
    with (
        pytest.raises(ProblemError, match=r"there is no Ray cluster at|as host:port or auto"),
        workers_of("ray", address=address),
    ):
        pass
    assert time.monotonic() - start < 20


@pytest.mark.slow
@pytest.mark.parametrize("when", ["at first", "later"])
def test_a_worker_with_other_code_is_refused(when: str, tmp_path: Path) -> None:
    """Two nodes listen on more than loopback, so they have a separate network."""
    needs(NO_NETWORK)
    program = "import sys, test_joined_ray as test; test.refuse(*sys.argv[1:])"
    subprocess.run(
        [*NO_NETWORK, sys.executable, "-c", program, when, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (SOURCE, *HERE)))},
        check=True,
        timeout=180,
    )


def refuse(when: str, folder: str) -> None:
    """A worker with other code is refused at the start, or later as a replacement."""
    with socket.socket() as line:  # loopback is down at first
        fcntl.ioctl(line, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))
    other = Path(folder) / "other" / "recallscope"
    shutil.copytree(SOURCE / "recallscope", other, ignore=shutil.ignore_patterns("__pycache__"))
    constants = other / "task" / "random.py"
    text = constants.read_text()
    constants.write_text(text.replace("PERMUTATION = 1\n", "PERMUTATION = 1001\n"))
    assert constants.read_text() != text
    hashes = hash_of_files(other), own_code()["the hash of recallscope's files"]
    refusal = (
        f"a worker on {socket.gethostname()} has other code than this command: the hash of "
        f"recallscope's files is {hashes[0]} there and {hashes[1]} here; install the same"
    )
    with started({}) as cluster:
        add = partial(cluster.start, "other", f"--address={cluster.address}", source=other.parent)
        if when == "later":
            os.environ |= cluster.environment()
            with workers_of("ray", address=cluster.address) as workers:
                add()
                with pytest.raises(ProblemError, match=refusal):
                    replace_workers(workers)
            return
        add()
        # It must not end before the worker of a slow machine has started.
        long = SWEEP.replace("seeds = 10", "seeds = 250")
        assert refusal in complaint(cluster.sweep(Path(folder) / "there", text=long))
        recallscope.sweep(cluster.folder / "sweep.toml", Path(folder) / "here", progress=False)
    here, there = results(Path(folder) / "here"), results(Path(folder) / "there")
    assert there.items() <= here.items()


def replace_workers(workers: Workers) -> None:
    """Kill one worker after another: the next one may be of either node."""
    for _ in range(20):
        (answer,) = answers(workers, Sleep())
        if answer.lost is None:  # the death of the previous one may not be known yet
            os.kill(answer.value(), signal.SIGKILL)


class Bytes(NamedTuple):
    """A task whose result names it, and may be large."""

    name: str
    size: int

    def run(self) -> tuple[str, bytes]:
        return self.name, bytes(self.size)


@pytest.mark.slow
def test_a_result_that_overtakes_another_stays_with_its_task() -> None:
    """A large result is fetched from the other node, while the next small one comes at once."""
    needs(NO_NETWORK)
    program = "import test_joined_ray as test; test.overtake()"
    subprocess.run(
        [*NO_NETWORK, sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (SOURCE, *HERE)))},
        check=True,
        timeout=180,
    )


def overtake() -> None:
    """Tasks on one node, whose results go to a driver on another node."""
    with socket.socket() as line:  # loopback is down at first
        fcntl.ioctl(line, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))
    with started({}, "--num-cpus=0") as cluster:
        cluster.start("other", f"--address={cluster.address}")
        os.environ |= cluster.environment()
        with workers_of("ray", address=cluster.address) as workers:
            jobs = [Bytes(str(n), 1 if n % 2 else 30_000_000) for n in range(20)]
            done = answers(workers, *jobs)
    assert [answer.result[0] for answer in done] == [job.name for job in jobs]


def test_a_file_of_code_that_differs_changes_the_hash(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text("SEED = 1\n")
    (tmp_path / "table.csv").write_text("1,2\n")
    before = hash_of_files(tmp_path)
    (tmp_path / "one.py~").write_text("of an editor")
    (tmp_path / "a" / "__pycache__").mkdir()
    (tmp_path / "a" / "__pycache__" / "one.pyc").write_text("of Python")
    assert hash_of_files(tmp_path) == before
    seen = {before}
    for change in (
        lambda: (tmp_path / "a" / "one.py").write_text("SEED = 2\n"),
        lambda: (tmp_path / "table.csv").write_text("1,3\n"),
        lambda: (tmp_path / "a" / "one.py").rename(tmp_path / "one.py"),
        lambda: (tmp_path / "two.py").write_text(""),
    ):
        change()
        assert hash_of_files(tmp_path) not in seen
        seen.add(hash_of_files(tmp_path))


def test_the_hash_takes_less_than_50_ms() -> None:
    spent = []
    for _ in range(3):
        start = time.process_time()
        hash_of_files(SOURCE / "recallscope")
        spent.append(time.process_time() - start)
    print(spent)
    assert min(spent) < 0.05


@pytest.mark.parametrize("name", ["recallscope", "Python", "torch", "numpy", "the plugin x"])
def test_differences_are_named_with_both_values(name: str) -> None:
    here = own_code() | {"the plugin x": "1.0"}
    assert difference("node7", dict(here), here) is None
    sentence = difference("node7", here | {name: "0.0.1"}, here)
    assert sentence is not None
    assert f"a worker on node7 has other code than this command: {name} is 0.0.1" in sentence
    assert f" there and {here[name]} here; install the same" in sentence


def test_a_plugin_on_one_side_only_is_no_difference() -> None:
    here = own_code()
    assert difference("node7", here | {"the plugin x": "1.0"}, here) is None
    assert difference("node7", here, here | {"the plugin x": "1.0"}) is None
