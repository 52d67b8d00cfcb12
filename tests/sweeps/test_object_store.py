"""A store under s3:// keeps what a folder keeps, with many writers at once.

The server is moto's, which honours conditional puts. All settings but the address come from the
environment, as for a user.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from recallscope import Problem, Store, run, sweep
from recallscope.problem.given_embeddings import Embeddings
from recallscope.sweeps.store.delta import StoreError

PROBLEM = Problem(vocab=32, samples=64, dim=16, length=4)
HOW = {"test_samples": 8, "progress": False}
WRITER = """
import sys
from recallscope import Problem, sweep
problem = Problem(vocab=32, samples=64, dim=16, length=4)
for seed in range(int(sys.argv[1]), int(sys.argv[1]) + 5):
    sweep([(problem, seed)], sys.argv[2], test_samples=8, progress=False)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Another process: the library waits for answers without letting other threads run."""
    import boto3

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = Path(sysconfig.get_path("scripts")) / "moto_server"
    with (tmp_path_factory.mktemp("s3") / "log").open("wb") as log:
        line = [program, "-H", "127.0.0.1", "-p", str(port)]
        running = subprocess.Popen(line, stdout=log, stderr=log)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        time.sleep(0.1)
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("AWS_"):
                patch.delenv(name)
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        patch.setenv("AWS_ALLOW_HTTP", "true")
        patch.setenv("AWS_REGION", "us-east-1")
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("NO_PROXY", "127.0.0.1")
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="bucket")
        yield running
    running.kill()
    running.wait()


@pytest.fixture
def place(server, request):
    return f"s3://bucket/{request.node.name}"


def test_records_come_back_and_are_not_run_again(place, tmp_path):
    cells = [(PROBLEM, seed) for seed in range(4)]
    assert sweep(cells, place, **HOW).ran == 4
    assert sweep(cells, place, **HOW).known == 4
    assert sweep(cells, tmp_path / "facts", **HOW).ran == 4
    found, expected = (
        sorted((record.seed, record.recall_accuracy) for record in Store(each).records())
        for each in (place, tmp_path / "facts")
    )
    assert found == expected
    assert Store(place).merge(Store(tmp_path / "facts")) == (0, 0, 0, 0)
    sweep([(PROBLEM, 4)], place, **HOW)
    assert Store(place).compact().after == 1
    assert Store(place).export(tmp_path / "all.csv") == 5


def test_values_are_kept_there_too(place):
    problem = PROBLEM.replace(frequencies="table", frequency_table=list(range(1, 33)))
    assert sweep([(problem, 0)], place, **HOW).ran == 1
    assert next(iter(Store(place).records())).problem == problem
    import numpy as np

    random = np.random.default_rng(0)
    sizes = {"tokens": (32, 16), "outputs": (32, 16), "trigger": 16, "end": 16}
    arrays = Embeddings(**{name: random.standard_normal(size) for name, size in sizes.items()})
    run(PROBLEM.replace(embedding=arrays.name), embeddings=arrays)
    Store(place).keep_embeddings(arrays)
    assert Store(place).embeddings(arrays.name).name == arrays.name


def test_writers_at_once_lose_and_double_nothing(place):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(10 * k), place]) for k in (0, 1)]
    assert [writer.wait() for writer in writers] == [0, 0]
    seeds = sorted(record.seed for record in Store(place).records())
    assert seeds == [*range(5), *range(10, 15)]


def test_a_bucket_that_is_not_there_is_reported(server):
    with pytest.raises(StoreError, match="cannot be"):
        sweep([(PROBLEM, 0)], "s3://nothing-here/facts", **HOW)


def test_a_server_that_is_away_is_reported(server, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match="cannot be read"):
        Store("s3://bucket/facts").index()
