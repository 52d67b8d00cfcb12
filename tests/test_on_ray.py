"""Ray as an executor: safe, and unharmed by lost workers and lost clusters."""

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
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import recallscope
from plain_jobs import OneLongCall
from proc import listening, living, tree
from recallscope.executors.base import Done
from recallscope.executors.ray import RayExecutor
from recallscope.executors.ray_guard import cluster_processes
from test_plugin import SWEEP, results

UNAUTHENTICATED = "16"


class Square(NamedTuple):
    number: int
    seconds: float = 0.0

    def run(self) -> int:
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            pass
        return self.number**2


class Nap(NamedTuple):
    seconds: float

    def run(self) -> None:
        time.sleep(self.seconds)


class Pid:
    def run(self) -> tuple[int, int, str | None]:
        import torch

        return os.getpid(), torch.get_num_threads(), os.environ.get("RAY_AUTH_TOKEN_PATH")


class Bad:
    def run(self) -> None:
        raise ArithmeticError("bad")


@pytest.fixture(scope="module")
def ray() -> Any:
    executor = RayExecutor(workers=2)
    yield executor
    executor.close()


def run(executor: RayExecutor, jobs: dict[int, Any], timeout: float = 120) -> dict[int, Done]:
    for number, job in jobs.items():
        executor.submit(number, job)
    return drain(executor, len(jobs), timeout)


def drain(executor: RayExecutor, count: int, timeout: float = 120) -> dict[int, Done]:
    done: dict[int, Done] = {}
    end = time.monotonic() + timeout
    while len(done) < count and time.monotonic() < end:
        done |= {one.number: one for one in executor.finished(1.0)}
    assert len(done) == count
    return done


def under_way(executor: RayExecutor, count: int) -> None:
    """Wait until so many tasks are with the workers."""
    end = time.monotonic() + 120
    while len(executor._begun) < count:
        assert time.monotonic() < end
        assert executor.finished(0.2) == []


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


def folder_of(executor: RayExecutor) -> Path:
    folder = executor._cluster._folder
    assert isinstance(folder, Path)
    return folder


def process_of(executor: RayExecutor, name: str) -> tuple[int, str]:
    """The number and the command of Ray's raylet or control server."""
    found = cluster_processes(str(folder_of(executor)))
    return next(one for one in found.items() if one[1].split("\0")[0].endswith("/" + name))


def gcs_address(executor: RayExecutor) -> str:
    found = re.search(r"--gcs-address=([0-9.:]+)", process_of(executor, "raylet")[1])
    assert found is not None
    return found[1]


def test_only_one_file_imports_ray_and_only_what_is_public() -> None:
    sources = Path(recallscope.__file__).parent.rglob("*.py")
    importing = [
        path
        for path in sources
        if re.search(r"^\s*(import|from) ray\b", path.read_text(), re.MULTILINE)
    ]
    assert [path.name for path in importing] == ["ray_driver.py"]
    assert not re.search(r"\bray(\.\w+)*\._|\b_private|\b_raylet", importing[0].read_text())


def test_the_process_that_drives_ray_has_no_torch(ray: RayExecutor) -> None:
    run(ray, {0: Pid()})
    loaded = Path(f"/proc/{ray._drivers[0].process.pid}/maps").read_text()
    assert "_raylet" in loaded
    assert "libtorch" not in loaded


def test_it_works_on_all_its_workers(ray: RayExecutor) -> None:
    assert ray.workers == 2
    seen, end = set(), time.monotonic() + 60
    while len(seen) < 2 and time.monotonic() < end:  # one of them may start later than the other
        done = run(ray, {i: Square(i, 0.02) for i in range(20)})
        assert {i: one.result for i, one in done.items()} == {i: i * i for i in range(20)}
        assert all(one.lost is None for one in done.values())
        seen |= {one.worker for one in done.values()}
    assert len(seen) == 2


def test_workers_have_one_thread_and_the_environment_stays_as_it_was(ray: RayExecutor) -> None:
    done = run(ray, {0: Pid()})[0]
    pid, threads, path = done.result
    assert done.worker == f"{socket.gethostname()}:{pid}"
    assert threads == 1
    assert path == str(folder_of(ray) / "token")
    assert "RAY_AUTH_TOKEN_PATH" not in os.environ


def test_the_exception_of_a_task_is_reported(ray: RayExecutor) -> None:
    assert run(ray, {0: Bad()})[0].lost == "ArithmeticError: bad"
    assert run(ray, {1: Square(3)})[1].result == 9


@pytest.mark.alone
def test_two_workers_are_as_fast_as_two_bare_processes(ray: RayExecutor) -> None:
    """Sleeping tasks need no core. Both are timed in turns, so other load slows both."""
    naps = [Nap(0.05)] * 60
    ratios: list[float] = []
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(Nap.run, naps[:4]))
        run(ray, dict(enumerate(naps[:4])))
        while max(ratios, default=0) <= 0.85 and len(ratios) < 6:  # a busy moment passes
            start = time.monotonic()
            list(pool.map(Nap.run, naps))
            bare = time.monotonic() - start
            start = time.monotonic()
            run(ray, dict(enumerate(naps)))
            ratios.append(bare / (time.monotonic() - start))
    print(f"as fast as bare processes: {ratios}")
    assert max(ratios) > 0.85


@pytest.mark.slow
def test_parts_of_a_plugin_and_trainings_have_the_same_bits(ray: RayExecutor, tmp_path) -> None:
    (tmp_path / "strange.toml").write_text(SWEEP)
    tiny = {"vocab": 16, "samples": 40, "dim": 8, "length": 3, "learner": "adam", "steps": 20}
    trainings = [(recallscope.Problem(**tiny), seed) for seed in range(20)]
    for executor, place in (("serial", tmp_path / "here"), (ray, tmp_path / "there")):
        how = {"executor": executor, "progress": False}
        recallscope.sweep(tmp_path / "strange.toml", place, **how)
        recallscope.sweep(trainings, place, test_samples=64, **how)
    assert results(tmp_path / "here") == results(tmp_path / "there")
    assert len(results(tmp_path / "here")) == 36


def test_the_token_is_ours_alone(ray: RayExecutor) -> None:
    token = folder_of(ray) / "token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert token.parent.stat().st_mode & 0o777 == 0o700
    assert len(token.read_text()) == 64


def test_all_sockets_are_on_loopback_and_want_the_token(ray: RayExecutor) -> None:
    pids = [*tree(os.getpid()), os.getpid()]
    found = listening(pids)
    assert len(found) >= 5  # control server, raylet (2), workers, driver
    assert {address for _, address, _ in found} == {"127.0.0.1"}
    token = (folder_of(ray) / "token").read_text()
    for name, method in [
        ("gcs_server", "/ray.rpc.NodeInfoGcsService/CheckAlive"),
        ("raylet", "/ray.rpc.NodeManagerService/GetNodeStats"),
    ]:
        ports = [port for _, _, port in listening([process_of(ray, name)[0]])]
        answers = [call(port, method, token) for port in ports]
        assert "0" in answers
        port = ports[answers.index("0")]
        assert call(port, method, None) == UNAUTHENTICATED
        assert call(port, method, "f" * 64) == UNAUTHENTICATED


JOIN = """
import sys, time
sys.path[:0] = {path!r}
from recallscope.executors.ray import RayExecutor
from test_on_ray import Square
start = time.monotonic()
try:
    executor = RayExecutor(address={address!r})
except ValueError as error:
    print("refused:", error, round(time.monotonic() - start, 1))
else:
    executor.submit(0, Square(7))
    print("joined:", executor.workers, executor.finished(0.5))
    executor.close()
assert "ray" not in sys.modules
"""


@pytest.mark.parametrize("token", [pytest.param(None, marks=pytest.mark.slow), "wrong", "right"])
def test_others_need_the_token(ray: RayExecutor, token: str | None) -> None:
    program = JOIN.format(path=[str(Path(__file__).parent)], address=gcs_address(ray))
    given = (folder_of(ray) / "token").read_text() if token == "right" else "f" * 64
    environment = {} if token is None else {"RAY_AUTH_TOKEN": given}
    start = time.monotonic()
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HOME": str(folder_of(ray)), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    print(found, time.monotonic() - start)
    if token == "right":
        assert "joined: 2 []" in found.stdout, found  # all its CPUs are in use by us
    else:
        assert f"at {gcs_address(ray)} wants a token that is not there or not" in found.stdout
    assert run(ray, {0: Square(2)})[0].result == 4  # and the cluster still runs


def test_a_killed_worker_loses_only_what_it_ran(ray: RayExecutor) -> None:
    run(ray, {i: Square(i, 0.05) for i in range(8)})
    pid = run(ray, {0: Pid()})[0].result[0]
    for i in range(4):
        ray.submit(i, Square(i, 1.0))
    time.sleep(0.5)
    os.kill(pid, signal.SIGKILL)
    start = time.monotonic()
    done = drain(ray, 4)
    lost = [one for one in done.values() if one.lost]
    assert len(lost) == 1
    assert lost[0].worker.endswith(f":{pid}")
    assert lost[0].result is None
    assert "ActorDiedError" in str(lost[0].lost)
    print(lost, time.monotonic() - start)


def test_a_late_task_is_ended_in_the_midst_of_a_call(ray: RayExecutor) -> None:
    for number, job in enumerate([OneLongCall(), Square(3), Square(4), Square(5)]):
        ray.submit(number, job, 0.5 if number == 0 else 60)
    done = drain(ray, 4)
    assert done[0].timed_out
    assert (done[0].result, done[0].lost) == (None, "took longer than the limit of 0.5 s")
    assert [(done[i].result, done[i].lost) for i in (1, 2, 3)] == [
        (9, None),
        (16, None),
        (25, None),
    ]


def test_a_stopped_worker_is_replaced(ray: RayExecutor) -> None:
    pid = run(ray, {0: Pid()})[0].result[0]
    for i in range(2):
        ray.submit(i, Square(i, 1.0))
    os.kill(pid, signal.SIGSTOP)
    lost = [one for one in drain(ray, 2).values() if one.lost]
    assert [(one.lost, one.timed_out) for one in lost] == [
        ("its worker was stopped for 2 s", False)
    ]
    assert lost[0].worker.endswith(f":{pid}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("victim", "by"),
    [
        ("raylet", signal.SIGKILL),
        ("gcs_server", signal.SIGKILL),
        pytest.param("gcs_server", signal.SIGSTOP, marks=pytest.mark.slow),
        ("driver", signal.SIGSTOP),
    ],
)
def test_a_lost_cluster_comes_back(ray: RayExecutor, victim: str, by: signal.Signals) -> None:
    before = folder_of(ray)
    for i in range(2):
        ray.submit(i, Square(i, 600))
    under_way(ray, 2)  # waiting tasks are not lost with the cluster: the next one runs them
    pids = tree(os.getpid())
    os.kill(ray._drivers[0].process.pid if victim == "driver" else process_of(ray, victim)[0], by)
    start = time.monotonic()
    done = drain(ray, 2)
    print(f"back after {time.monotonic() - start:.1f} s")
    assert {one.lost for one in done.values()} == {"the Ray cluster died"}
    assert run(ray, {2: Square(5)})[2].result == 25
    assert not before.exists()
    assert not living(pids)


def test_close_leaves_nothing(ray: RayExecutor) -> None:
    folder = folder_of(ray)
    for i in range(4):
        ray.submit(i, Square(i, 30))
    ray.finished(0.3)
    pids = tree(os.getpid())
    assert len(living(pids)) > 8
    ray.close()
    assert not living(pids)
    assert not folder.exists()
    ray.close()


DRIVER = """
import sys
sys.path[:0] = {path!r}
from recallscope.common.interrupts import interrupts_obeyed
from recallscope.executors.ray import RayExecutor
from test_on_ray import Square, under_way
executor = RayExecutor(workers=2)
try:
    with interrupts_obeyed():
        for i in range(4):
            executor.submit(i, Square(i, 600))
        under_way(executor, 2)
        print(executor._cluster._folder, flush=True)
        executor.finished(600)
except KeyboardInterrupt:
    print("interrupted", flush=True)
finally:
    executor.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_and_kill_leave_nothing(by: signal.Signals) -> None:
    program = textwrap.dedent(DRIVER).format(path=[str(Path(__file__).parent)])
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
        assert len(living(pids)) > 8
        if by == signal.SIGINT:
            os.killpg(driver.pid, by)  # as a terminal does
        else:
            driver.send_signal(by)
        driver.wait(60)
        end = time.monotonic() + 60
        while living(pids) and time.monotonic() < end:
            time.sleep(0.02)
        assert not living(pids)
        if by == signal.SIGINT:
            assert driver.stdout.read() == "interrupted\n"
            assert driver.returncode == 0
    assert not Path(folder).exists()
