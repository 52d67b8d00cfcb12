"""One experiment divided among workers: its record does not depend on who ran which part when."""

from __future__ import annotations

import json
import math
import pickle
import random
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from lanes import slow_after_first
from one_by_one import OneByOne
from proc import HERE

from recallscope import Instance, Problem, ProblemError, Status, Threads, run
from recallscope.sweeps.executors.job import Answer
from recallscope.sweeps.executors.workers import workers_of
from recallscope.sweeps.sharded import ShardedBatch, SumOverTiles, run_sharded
from recallscope.three_step.batch import tile_size
from recallscope.three_step.three_step import training_batch
from recallscope.three_step.tree_sum import TreeSum

ALONE = Problem(vocab=300, samples=20_000, dim=64, length=64)  # 20 tiles, the last one short
PARTIAL = ALONE.replace(dim=16)
MLP = ALONE.replace(dim=20, width=50, activation="gelu")
PROBLEMS = {
    "alone": ALONE,
    "partial": PARTIAL,
    "mlp": MLP,
    "trigger in values": ALONE.replace(trigger_in_values=True),
    "literal": ALONE.replace(dim=24, regime="literal", eta=0.1, gamma=1e5),
    "one tile": ALONE.replace(samples=100),
}


class PeakMemory:
    """Job that returns the peak memory of its process, in bytes."""

    def run(self):
        status = Path("/proc/self/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


class Shuffled(OneByOne):
    """Answers come late, several at once and in any order."""

    def __init__(self, seed):
        super().__init__()
        self._rng = random.Random(seed)

    def finished(self, timeout):
        if self._rng.random() < 0.3:
            return []
        self._rng.shuffle(self.waiting)
        together = min(3, len(self.waiting))
        return [done for _ in range(together) for done in super(Shuffled, self).finished(timeout)]


class Careless(OneByOne):
    """Loses every third job, or all of them."""

    def __init__(self, every=3):
        super().__init__()
        self._every = every
        self.submitted = self.lost = 0

    def submit(self, job):
        self.submitted += 1
        return super().submit(job)

    def answer(self, number, job):
        if self.submitted % self._every == 0:
            self.lost += 1
            return Answer("a worker", lost="power failure")
        return super().answer(number, job)


@pytest.fixture(scope="module")
def processes():
    with workers_of("processes", 2) as workers:
        yield workers


def sharded(problem, workers, shards, dtype="float64", **how):
    return run_sharded(problem, 1, workers, shards, test_samples=500, dtype=dtype, **how)


def whole(problem, dtype="float64"):
    only_one = problem.regime == "literal" or math.isinf(problem.samples)
    engine = "auto" if only_one else "stream"
    return run(problem, 1, engine=engine, test_samples=500, dtype=dtype).result()


def batch_of(problem, shards, workers=None):
    instance = Instance.make(problem, 1)
    batch = training_batch(instance, Threads())
    return ShardedBatch(**vars(batch), instance=instance, pool=workers or OneByOne(), shards=shards)


@pytest.mark.parametrize("problem", slow_after_first(PROBLEMS.values(), 2), ids=PROBLEMS)
def test_the_record_is_that_of_the_whole_experiment(problem, processes):
    expected = whole(problem)
    assert expected["status"] == "ok"
    assert 0 < expected["attention_accuracy"] <= 1
    for shards in (1, 2, 5):
        assert sharded(problem, OneByOne(), shards).result() == expected
    assert sharded(problem, processes, 2).result() == expected


def test_the_problems_take_either_way_through_the_third_step():
    assert whole(ALONE)["attention_accuracy"] == 1
    assert 0.1 < whole(PARTIAL)["attention_accuracy"] < 0.95


@pytest.mark.parametrize("problem", [ALONE, MLP], ids=["alone", "mlp"])
def test_a_float32_record_is_that_of_the_whole_experiment(problem, processes):
    assert sharded(problem, processes, 5, "float32").result() == whole(problem, "float32")


@pytest.mark.parametrize("threads_here", [1, 2])
def test_the_record_does_not_depend_on_threads(threads_here, threads):
    expected = whole(MLP)
    threads(threads_here)
    assert sharded(MLP, OneByOne(), 3).result() == expected
    assert torch.get_num_threads() == threads_here


def test_the_population_is_not_cut():
    problem = MLP.replace(samples="inf")
    workers = Careless(every=1)
    assert sharded(problem, workers, 2).result() == whole(problem)
    assert workers.submitted == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_arrival_does_not_matter(seed):
    assert sharded(PARTIAL, Shuffled(seed), 7).result() == whole(PARTIAL)


def test_lost_work_is_submitted_again():
    workers = Careless()
    assert sharded(PARTIAL, workers, 4).result() == whole(PARTIAL)
    assert workers.lost > 10


def test_it_gives_up_on_work_that_is_always_lost():
    workers = Careless(every=1)
    batch = batch_of(ALONE, 1, workers)
    with pytest.raises(RuntimeError, match="lost 6 times: power failure"):
        batch.mean(partial(label_sum, batch.instance))
    assert workers.submitted == 6
    record = sharded(ALONE, Careless(every=1), 3)
    assert record.status is Status.FAILED
    assert record.reason == "RuntimeError: a piece of work was lost 6 times: power failure"


def label_sum(instance, tile):
    return tile.label.double().sum()


def broken(instance, tile):
    raise ArithmeticError("one is not two")


def test_an_error_in_the_work_is_the_reason_given():
    batch = batch_of(ALONE, 2)
    with pytest.raises(RuntimeError, match="lost 6 times: ArithmeticError: one is not two"):
        batch.mean(partial(broken, batch.instance))


def test_progress_counts_every_sample_of_three_passes_once():
    seen = []
    sharded(ALONE, Careless(), 4, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (60_000, 60_000)
    assert seen == sorted(set(seen))
    assert len(seen) > 3 * 4


def test_no_more_than_the_shards_are_under_way():
    workers = OneByOne()
    sharded(ALONE, workers, 3)
    assert workers.most == 3


@pytest.mark.parametrize("samples", [1, 4096, 10**5 + 1, 10**6, 10**7 + 3 * 4096, 10**9 - 1])
@pytest.mark.parametrize("shards", [1, 3, 64])
def test_pieces_are_aligned_and_neither_too_long_nor_too_few(samples, shards):
    problem = Problem(vocab=64, samples=samples, dim=16, length=16)
    pieces = list(batch_of(problem, shards).pieces())
    tiles = -(-samples // tile_size(problem))
    assert [tile for piece in pieces for tile in piece] == list(range(tiles))
    size = len(pieces[0])
    assert size & (size - 1) == 0
    assert all(len(piece) == size for piece in pieces[:-1])
    assert len(pieces) >= min(4 * shards, tiles)
    # Predicted: 1.8 µs a sample, a third of it in each pass.
    assert size * 4096 * 0.6e-6 < 2.0
    assert size * 4096 * 0.6e-6 > 0.9 or len(pieces) < 8 * shards + 1


@pytest.mark.parametrize("samples", [1024 * 15, 1024 * 31 - 1, 1024 * 64])
@pytest.mark.parametrize("shards", [1, 2])
def test_a_piece_comes_back_as_few_nodes(samples, shards):
    batch = batch_of(ALONE.replace(samples=samples), shards)
    pieces = list(batch.pieces())
    nodes = [len(batch._job(tiles, partial(label_sum, Instance)).run()._nodes) for tiles in pieces]
    assert set(nodes[:-1]) == {1}
    assert nodes[-1] <= max(1, int(math.log2(len(pieces[0]))))


def test_jobs_are_sent_without_the_instance():
    class Weighing(OneByOne):
        heaviest = 0

        def submit(self, job):
            self.heaviest = max(self.heaviest, len(pickle.dumps(job)))
            return super().submit(job)

    workers = Weighing()
    problem = PARTIAL.replace(vocab=2000)
    assert sharded(problem, workers, 1).attention_accuracy < 1
    scores = 8 * problem.vocab
    value_matrix = 8 * problem.dim**2
    assert scores < workers.heaviest < scores + value_matrix + 2000


def test_a_tree_sum_survives_pickle():
    total = TreeSum()
    for index in range(11):
        total.add(index, torch.randn(3, 4, dtype=torch.float64))
    copy = pickle.loads(pickle.dumps(total))
    assert copy.total().equal(total.total())
    assert copy.total().dtype == torch.float64
    assert pickle.loads(pickle.dumps(TreeSum()))._nodes == {}


def test_a_worker_keeps_the_last_instance(monkeypatch):
    made = []
    make = Instance.make
    monkeypatch.setattr(
        Instance, "make", lambda *args, **how: made.append(args) or make(*args, **how)
    )
    problem = ALONE.replace(samples=5000)
    sharded(problem, OneByOne(), 2)
    assert len(made) == 2  # one for the driver and one for its worker
    job = SumOverTiles(problem, 1, "float64", "cpu", range(1), partial(label_sum, Instance))
    job.run()
    assert len(made) == 2


def test_shards_must_be_a_whole_number():
    with pytest.raises(ProblemError, match="shards must be a whole number from 1"):
        sharded(ALONE, OneByOne(), 0)


SCRIPT = """
import json, sys
from recallscope import Problem
from recallscope.sweeps.sharded import run_sharded
from recallscope.sweeps.executors.workers import workers_of
from test_sharded import PeakMemory

with workers_of("processes", 1) as workers:
    problem = Problem(**json.loads(sys.argv[1]))
    run_sharded(problem, 0, workers, 2, test_samples=1000, dtype="float32")
    workers.submit(PeakMemory())
    print(json.dumps([PeakMemory().run(), workers.finished(9)[0][1].result]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_memory_grows_with_the_batch_neither_here_nor_there(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import sys; sys.path[:0] = {HERE!r}\n{SCRIPT}")

    def peaks(samples):
        problem = Problem(vocab=1024, samples=samples, dim=64, length=16)
        done = subprocess.run(
            [sys.executable, script, json.dumps(problem.to_dict())],
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    for small, large in zip(peaks(3 * 10**5), peaks(2 * 10**7), strict=True):
        assert large < 1.05 * small
