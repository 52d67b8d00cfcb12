"""Ray as an executor: safe, and unharmed by lost workers."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from plain_jobs import Bad, OneLongCall, Settings, Sleep
from plugin_sweep import SWEEP, results
from proc import HERE, command, listening, living, tree
from test_executors import PROBLEM, answers, crash, drain

import recallscope
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.executors.workers import Workers, workers_of

UNAUTHENTICATED = "16"


@pytest.fixture(scope="module")
def ray() -> Iterator[Workers]:
    with workers_of("ray", 2) as workers:
        yield workers


def call(port: int, method: str, token: str | None) -> str | None:
    """The status of a gRPC call made by hand."""

    def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
        size = struct.pack(">I", len(payload))[1:]
        return size + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": "127.0.0.1",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    block = b"".join(
        b"\0" + bytes([len(k)]) + k.encode() + bytes([len(v)]) + v.encode()
        for k, v in headers.items()
    )
    answer = b""
    with socket.create_connection(("127.0.0.1", port), 3) as line:
        line.settimeout(3)
        line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
        line.sendall(frame(1, 4, 1, block) + frame(0, 1, 1, b"\0" * 5))
        while b"grpc-status" not in answer:
            answer += line.recv(65536)
    found = re.search(rb"grpc-status.(\d+)", answer, re.DOTALL)
    return found.group(1).decode() if found else None


def folder_of(workers: Workers) -> Path:
    folder = workers._executor._folder  # type: ignore[attr-defined]
    assert isinstance(folder, Path)
    return folder


def process_of(name: str) -> int:
    """The number of Ray's raylet or control server."""
    return next(pid for pid in tree(os.getpid()) if command(pid).split(" ")[0].endswith(name))


def gcs_address() -> str:
    found = re.search(r"--gcs-address=([0-9.:]+)", command(process_of("/raylet")))
    assert found is not None
    return found[1]


def test_only_one_file_imports_ray_and_only_what_is_public() -> None:
    sources = Path(recallscope.__file__).parent.rglob("*.py")
    importing = [
        path
        for path in sources
        if re.search(r"^\s*(import|from) ray\b", path.read_text(), re.MULTILINE)
    ]
    assert [path.name for path in importing] == ["ray.py"]
    assert not re.search(r"\bray(\.\w+)*\._|\b_private|\b_raylet", importing[0].read_text())


def test_it_works_on_all_its_workers(ray: Workers) -> None:
    assert ray.count == 2
    seen, end = set(), time.monotonic() + 60
    while len(seen) < 2 and time.monotonic() < end:  # one of them may start later than the other
        done = answers(ray, *[Sleep(0.02) for _ in range(20)])
        assert [answer.lost for answer in done] == [None] * 20
        seen |= {answer.worker for answer in done}
    assert len(seen) == 2


def test_workers_have_one_thread_and_the_environment_stays_as_it_was(ray: Workers) -> None:
    (answer,) = answers(ray, Settings())
    pid, threads, _ = answer.result
    assert answer.worker == f"{socket.gethostname()}:{pid}"
    assert threads == 1
    assert not [name for name in os.environ if name.startswith("RAY_")]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_exception_of_a_task_is_reported(ray: Workers) -> None:
    bad, good = answers(ray, Bad(), Sleep())
    assert (bad.lost, good.lost) == ("ArithmeticError: bad", None)


@pytest.mark.alone
def test_two_workers_are_as_fast_as_two_bare_processes(ray: Workers) -> None:
    """Sleeping tasks need no core. Both are timed in turns, so other load slows both."""
    naps = [Sleep(0.05)] * 60
    ratios: list[float] = []
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(Sleep.run, naps[:4]))
        answers(ray, *naps[:4])
        while max(ratios, default=0) <= 0.85 and len(ratios) < 6:  # a busy moment passes
            start = time.monotonic()
            list(pool.map(Sleep.run, naps))
            bare = time.monotonic() - start
            start = time.monotonic()
            answers(ray, *naps)
            ratios.append(bare / (time.monotonic() - start))
    print(f"as fast as bare processes: {ratios}")
    assert max(ratios) > 0.85


@pytest.mark.slow
def test_parts_of_a_plugin_and_trainings_have_the_same_bits(tmp_path) -> None:
    (tmp_path / "strange.toml").write_text(SWEEP)
    tiny = {"vocab": 16, "samples": 40, "dim": 8, "length": 3, "learner": "adam", "steps": 20}
    trainings = [(recallscope.Problem(**tiny), seed) for seed in range(20)]
    program = textwrap.dedent(BOTH).format(folder=str(tmp_path), tiny=tiny)
    subprocess.run([sys.executable, "-c", program], check=True)
    how = {"progress": False}
    recallscope.sweep(tmp_path / "strange.toml", tmp_path / "here", **how)
    recallscope.sweep(trainings, tmp_path / "here", test_samples=64, **how)
    assert results(tmp_path / "here") == results(tmp_path / "there")
    assert len(results(tmp_path / "here")) == 36


BOTH = """
import recallscope
trainings = [(recallscope.Problem(**{tiny}), seed) for seed in range(20)]
place = "{folder}/there"
how = dict(executor="ray", workers=2, progress=False)
recallscope.sweep("{folder}/strange.toml", place, **how)
recallscope.sweep(trainings, place, test_samples=64, **how)
"""


def test_the_token_is_ours_alone(ray: Workers) -> None:
    token = folder_of(ray) / "token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert token.parent.stat().st_mode & 0o777 == 0o700
    assert len(token.read_text()) == 64


def test_all_sockets_are_on_loopback_and_want_the_token(ray: Workers) -> None:
    pids = [*tree(os.getpid()), os.getpid()]
    found = listening(pids)
    assert len(found) >= 5  # control server, raylet (2), workers, driver
    assert {address for _, address, _ in found} == {"127.0.0.1"}
    token = (folder_of(ray) / "token").read_text()
    for name, method in [
        ("/gcs_server", "/ray.rpc.NodeInfoGcsService/CheckAlive"),
        ("/raylet", "/ray.rpc.NodeManagerService/GetNodeStats"),
    ]:
        ports = [port for _, _, port in listening([process_of(name)])]
        found_at = [call(port, method, token) for port in ports]
        assert "0" in found_at
        port = ports[found_at.index("0")]
        assert call(port, method, None) == UNAUTHENTICATED
        assert call(port, method, "f" * 64) == UNAUTHENTICATED


JOIN = """
import sys
sys.path[:0] = {path!r}
from recallscope.sweeps.executors.workers import workers_of
from plain_jobs import Sleep
try:
    with workers_of("ray", address={address!r}) as workers:
        print("joined:", workers.count)
except ValueError as error:
    print("refused:", error)
"""


@pytest.mark.parametrize("token", [pytest.param(None, marks=pytest.mark.slow), "wrong", "right"])
def test_others_need_the_token(ray: Workers, token: str | None) -> None:
    address = gcs_address()
    program = JOIN.format(path=HERE, address=address)
    given = (folder_of(ray) / "token").read_text() if token == "right" else "f" * 64
    environment = {} if token is None else {"RAY_AUTH_TOKEN": given}
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HOME": str(folder_of(ray)), **environment},
        capture_output=True,
        text=True,
        timeout=90,
    )
    print(found)
    if token == "right":
        assert "joined: 2" in found.stdout, found
    else:
        assert f"at {address} wants a token that is not there or not" in found.stdout
    assert answers(ray, Sleep())[0].lost is None  # and the cluster still runs


def test_ray_that_was_imported_before_is_not_made_to_listen_to_all(tmp_path: Path) -> None:
    program = (
        "import ray\nfrom recallscope import Problem, sweep\n"
        "problem = Problem(vocab=8, samples=8, dim=8, length=4)\n"
        f"try:\n    sweep([(problem, 0)], {str(tmp_path)!r}, executor='ray')\n"
        "except ValueError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Ray was imported before recallscope could make it listen" in done.stdout, done


def test_a_killed_worker_loses_only_what_it_ran(ray: Workers) -> None:
    answers(ray, *[Sleep(0.05) for _ in range(8)])
    pid = answers(ray, Sleep())[0].result
    numbers = [ray.submit(Sleep(1.0)) for _ in range(4)]
    time.sleep(0.5)
    os.kill(pid, signal.SIGKILL)
    lost = [answer for answer in drain(ray, numbers) if answer.lost]
    assert len(lost) <= 1  # the worker may have been idle
    for answer in lost:
        assert answer.result is None
        assert "WorkerCrashedError" in str(answer.lost)
        assert not answer.suspect


@pytest.mark.slow
def test_a_cell_that_always_crashes_fails_alone(tmp_path: Path) -> None:
    cells = [(PROBLEM, seed) for seed in range(100)]
    how: dict[str, Any] = {"run": crash, "version": 1, "progress": False}
    found = recallscope.sweep(cells, tmp_path, executor="ray", workers=2, **how)
    assert found.by_status == {"failed": 1, "ok": 99}


DEAD = """
import os, signal, sys
sys.path[:0] = {path!r}
from proc import command, tree
from recallscope import Problem, sweep

def kill(record):
    for pid in tree(os.getpid()):
        if command(pid).split(" ")[0].endswith("/raylet"):
            os.kill(pid, signal.SIGKILL)

cells = [(Problem(vocab=32, samples=64, dim=16, length=4), seed) for seed in range(20_000)]
try:
    sweep(cells, {place!r}, executor="ray", workers=2, callback=kill, progress=False)
except ValueError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_cluster_that_dies_is_an_error_and_no_cell_has_failed(tmp_path: Path) -> None:
    path = HERE
    program = textwrap.dedent(DEAD).format(path=path, place=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert "the Ray cluster died: LocalRayletDiedError" in done.stdout, done
    assert set(recallscope.Store(tmp_path).by_status()) <= {"ok"}


@pytest.mark.slow
def test_a_late_task_is_ended_in_the_midst_of_a_call() -> None:
    with workers_of("ray", 2, limits=Limits(seconds=0.5)) as workers:
        answers(workers, Sleep(), Sleep())
        late, *others = answers(workers, OneLongCall(), *[Sleep() for _ in range(3)])
    assert late.late
    assert "took longer than the limit of 0.5 s" in str(late.lost)
    assert [answer.lost for answer in others] == [None] * 3


DRIVER = """
import sys
sys.path[:0] = {path!r}
from recallscope.common.interrupts import interrupts_obeyed
from recallscope.sweeps.executors.workers import workers_of
from plain_jobs import Sleep
try:
    with interrupts_obeyed(), workers_of("ray", 2) as workers:
        for _ in range(4):
            workers.submit(Sleep(600))
        while workers.finished(3.0):
            pass
        print(workers._executor._folder, flush=True)
        workers.finished(600)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
RAY_AGENTS = 90.0  # seconds in which Ray's agents end themselves after their raylet


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ctrl_c_leaves_nothing_and_kill_nothing_but_two_agents_for_a_minute(
    by: signal.Signals,
) -> None:
    program = textwrap.dedent(DRIVER).format(path=HERE)
    driver = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with driver:
        assert driver.stdout is not None
        folder = driver.stdout.readline().strip()
        assert folder.startswith("/"), folder + driver.stdout.read()
        pids = tree(driver.pid)
        assert len(living(pids)) > 5
        started = time.monotonic()
        if by == signal.SIGINT:
            os.killpg(driver.pid, by)  # as a terminal does
        else:
            driver.send_signal(by)
        driver.wait(60)
        left = partial(living, pids)
        while left() and time.monotonic() < started + RAY_AGENTS:
            time.sleep(0.1)
            late = time.monotonic() > started + 15
            assert not late or all(name.startswith("ray::") for name in left()), left()
        assert not left()
        print(f"gone after {time.monotonic() - started:.1f} s")
    assert by != signal.SIGINT or not Path(folder).exists()
