"""Both engines agree, for any division of the batch."""

from __future__ import annotations

import dataclasses
import math
import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lanes import slow_after_first
from problems import sizes_of_terms, small_problems

from recallscope import Instance, Problem, ProblemError, RecallTask, Threads, learn, run
from recallscope.task.recall import Samples
from recallscope.three_step.batch import Batch, Tile, tile_size
from recallscope.three_step.cost import choose_engine
from recallscope.three_step.evaluation import evaluate
from recallscope.three_step.ops import key_scores, position_scores
from recallscope.three_step.three_step import training_batch
from recallscope.three_step.tree_sum import TreeSum

PROBLEMS = [
    Problem(vocab=300, samples=3000, dim=24, length=40),  # attention finds the trigger in part
    Problem(vocab=300, samples=6000, dim=64, length=8),  # attention always finds it
    Problem(vocab=200, samples=5000, dim=32, length=6, trigger_in_values=True),
    Problem(vocab=100, samples=700, dim=12, length=30, embedding="gaussian"),
    Problem(vocab=30, samples=400, dim=31, length=5, embedding="orthogonal"),
]
MLP = Problem(vocab=150, samples=6000, dim=20, length=12, width=50, activation="gelu")


def learn_with(problem, engine="auto", seed=1, batch=None, **how):
    instance = Instance.make(problem, seed, **how)
    with Threads() as threads, torch.no_grad():
        return instance, learn(
            instance, threads, engine=engine, batch=batch and batch(instance, threads)
        )


def assert_statistics_equal(left, right, tolerance):
    for name in ("V1", "alpha", "V2"):
        ours, theirs = getattr(left, name), getattr(right, name)
        assert (ours - theirs).abs().max() <= tolerance * theirs.abs().max(), name


def attended(instance, learned, tile):
    scores = position_scores(*key_scores(instance, learned.alpha), tile)
    top = scores.topk(min(2, scores.shape[1]), dim=1).values
    clear = top[:, 0] - top[:, -1] > 1e-9 * scores.abs().max()
    return scores.argmax(dim=1), clear


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_stream_and_counts_agree(problem, seed):
    instance, stream = learn_with(problem, "stream", seed)
    _, counts = learn_with(problem, "counts", seed)
    assert_statistics_equal(stream, counts, 1e-12)
    tile = Tile.of(instance.task.draw(0, 2000, "test"))
    left, clear = attended(instance, stream, tile)
    right, _ = attended(instance, counts, tile)
    assert torch.equal(left[clear], right[clear])


@settings(max_examples=200)
@given(small_problems(mlp=False), st.integers(0, 10**6))
def test_stream_and_counts_agree_in_the_corners(problem, seed):
    instance, stream = learn_with(problem, "stream", seed)
    _, counts = learn_with(problem, "counts", seed)
    for name, size in zip(("V1", "alpha"), sizes_of_terms(instance), strict=False):
        ours, theirs = getattr(stream, name), getattr(counts, name)
        assert (ours - theirs).abs().max() <= 1e-12 * theirs.abs().max() + 1e-14 * size


@pytest.mark.parametrize("problem", [*PROBLEMS, MLP], ids=str)
def test_the_record_does_not_depend_on_threads(problem, threads):
    records = []
    for count in (1, 2):
        threads(count)
        records.append(run(problem, seed=1).result())
    assert records[0] == records[1]
    assert torch.get_num_threads() == 2


def drawn_in_pieces(size):
    """A batch that draws its samples in blocks of `size`."""

    def batch(instance, threads):
        def draw(start, stop):
            blocks = instance.task.blocks(stop - start, size, start)
            return Samples(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))

        return dataclasses.replace(training_batch(instance, threads), draw=draw)

    return batch


class ShardedBatch(Batch):
    """Each reduction is done by shards of the tiles, in any order, and merged."""

    def shards(self, count=5):
        tiles = -(-self.samples // self.tile)
        cuts = sorted(random.Random(0).choices(range(tiles + 1), k=count - 1))
        ranges = [range(*cut) for cut in zip([0, *cuts], [*cuts, tiles], strict=True)]
        random.Random(1).shuffle(ranges)
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return [Batch(**fields | {"tiles": tiles}) for tiles in ranges]

    def partial_sum(self, statistic):
        total = TreeSum()
        for shard in self.shards():
            total.merge(shard.partial_sum(statistic))
        return total

    def count(self, *what):
        return sum(shard.count(*what) for shard in self.shards())


def sharded(instance, threads):
    batch = training_batch(instance, threads)
    fields = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    return ShardedBatch(**fields | {"tile": 64})


def in_tiles(size):
    return lambda instance, threads: dataclasses.replace(
        training_batch(instance, threads), tile=size
    )


def result_of(problem, batch, engine):
    instance, learned = learn_with(problem, engine, batch=batch)
    with Threads() as threads, torch.no_grad():
        return evaluate(instance, learned, threads, 1000)


def engines_of(problem):
    return ("stream", "counts") if problem.width is None else ("stream",)


CASES = [(problem, engine) for problem in [*PROBLEMS, MLP] for engine in engines_of(problem)]


@pytest.mark.parametrize(("problem", "engine"), CASES, ids=str)
@pytest.mark.parametrize("size", slow_after_first([7, 1, 4096]))
def test_the_record_does_not_depend_on_the_blocks_drawn(problem, engine, size):
    whole = result_of(problem, training_batch, engine)
    assert result_of(problem, drawn_in_pieces(size), engine) == whole


@pytest.mark.parametrize(("problem", "engine"), CASES, ids=str)
def test_the_record_does_not_depend_on_shards(problem, engine):
    whole = result_of(problem, in_tiles(64), engine)
    assert result_of(problem, sharded, engine) == whole


@pytest.mark.parametrize(("problem", "engine"), CASES[:2] + CASES[4:6] + CASES[-1:], ids=str)
@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 7, 4096])
def test_even_the_size_of_the_tile_changes_rounding_alone(problem, engine, size):
    whole = result_of(problem, training_batch, engine)
    other = result_of(problem, in_tiles(size), engine)
    for name, value in whole.items():
        if name.endswith("accuracy") or name == "test_samples":
            assert other[name] == value, name
        else:
            assert other[name] == pytest.approx(value, rel=1e-11), name


@settings(max_examples=50)
@given(st.integers(1, 70), st.randoms(use_true_random=False))
def test_a_tree_sum_does_not_depend_on_order_or_cut(count, rng):
    parts = [
        torch.tensor(rng.uniform(-1, 1) * 10 ** rng.randint(-9, 9), dtype=torch.float64)
        for _ in range(count)
    ]
    straight = TreeSum()
    for index, part in enumerate(parts):
        straight.add(index, part)
    shards = [TreeSum() for _ in range(rng.randint(1, 6))]
    for index in rng.sample(range(count), count):
        rng.choice(shards).add(index, parts[index])
    merged = TreeSum()
    for shard in rng.sample(shards, len(shards)):
        merged.merge(shard)
    assert merged.total().equal(straight.total())
    size = sum(abs(float(part)) for part in parts)
    assert float(merged.total()) == pytest.approx(math.fsum(map(float, parts)), abs=1e-14 * size)


def test_a_tree_sum_notices_missing_and_doubled_parts():
    total = TreeSum()
    for index in (0, 1, 3):
        total.add(index, torch.ones(()))
    with pytest.raises(ValueError, match="before all its parts"):
        total.total()
    with pytest.raises(ValueError, match="added twice"):
        total.add(3, torch.ones(()))
    with pytest.raises(ValueError, match="before all its parts"):
        TreeSum().total()
    total = TreeSum()
    total.add(1, torch.ones(()))
    with pytest.raises(ValueError, match="before all its parts"):
        total.total()


@pytest.mark.parametrize("problem", [*PROBLEMS[:3], MLP], ids=str)
def test_float32_is_close_to_float64(problem):
    for seed in range(3):
        double, single = (run(problem, seed, dtype=dtype) for dtype in ("float64", "float32"))
        for name in ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy"):
            assert getattr(single, name) == pytest.approx(getattr(double, name), abs=0.002)
        for name in ("score_signal", "score_noise", "trigger_cosine", "second_value_cosine"):
            assert getattr(single, name) == pytest.approx(getattr(double, name), rel=1e-4)


def test_a_larger_batch_begins_with_the_smaller():
    small, large = (Problem(vocab=64, samples=n, dim=8, length=4) for n in (100, 1000))
    instances = [Instance.make(problem, seed=2) for problem in (small, large)]
    assert torch.equal(instances[0].tokens, instances[1].tokens)
    drawn = [instance.task.draw(0, 100).tokens for instance in instances]
    assert np.array_equal(*drawn)


def test_the_engine_is_chosen_by_the_problem_alone():
    assert choose_engine(Problem(vocab=512, samples=10**6, dim=128, length=32)) == "counts"
    assert choose_engine(Problem(vocab=8192, samples=10**4, dim=64, length=2)) == "stream"
    assert choose_engine(Problem(vocab=10**6, samples=10**9, dim=64, length=2)) == "stream"
    assert choose_engine(MLP) == "stream"
    with pytest.raises(ProblemError, match="engine must be one of auto, stream, counts"):
        choose_engine(MLP, "quick")
    with pytest.raises(ProblemError, match="'counts' is for attention alone"):
        choose_engine(MLP, "counts")
    with pytest.raises(ProblemError, match="leave the engine out"):
        choose_engine(Problem(vocab=4, samples="inf", dim=4, length=4), "stream")


@pytest.mark.parametrize("length", [1, 3, 64, 10**4, 10**6])
@pytest.mark.parametrize("width", [None, 1, 4096, 10**6])
def test_a_tile_is_a_bounded_power_of_two(length, width):
    size = tile_size(Problem(vocab=4, samples=1, dim=4, length=length, width=width))
    assert 16 <= size <= 4096
    assert size & (size - 1) == 0


@pytest.mark.parametrize(("most", "times"), [(10**9, 1), (0, 3)])
def test_only_a_small_batch_is_kept_between_the_passes(monkeypatch, most, times):
    """And the result has the same bits, from tiles drawn once or again for every pass."""
    drawn = []

    def batch(instance, threads):
        def draw(start, stop):
            drawn.append(start)
            return instance.task.draw(start, stop)

        return dataclasses.replace(training_batch(instance, threads), draw=draw, tile=512)

    problem = Problem(vocab=50, samples=2000, dim=32, length=4)
    _, before = learn_with(problem, "counts", batch=in_tiles(512))
    monkeypatch.setattr("recallscope.three_step.batch.MOST_KEPT_BYTES", most)
    _, learned = learn_with(problem, "counts", batch=batch)
    assert sorted(drawn) == sorted([0, 512, 1024, 1536] * times)
    for name in ("V1", "alpha", "V2"):
        assert torch.equal(getattr(learned, name), getattr(before, name))


@pytest.mark.parametrize(
    ("most", "dtype", "counted"),
    [
        (2**24, torch.float32, torch.float32),
        (2**24 + 1, torch.float32, torch.int32),
        (2**31, torch.float32, torch.int64),
        (2**31, torch.float64, torch.float64),
        (2**53 + 1, torch.float64, torch.int64),
    ],
)
def test_counts_are_exact_in_the_type_they_are_in(most, dtype, counted):
    instance = Instance.make(Problem(vocab=50, samples=2000, dim=32, length=4), seed=0)
    with Threads() as threads:
        batch = training_batch(instance, threads)
        table = batch.count(lambda tile: (tile.label, tile.label[:1]), 50, most, dtype)
        labels = np.concatenate([tile.label for _, tile in batch.map(lambda tile: tile)])
    assert table.dtype == counted
    expected = np.bincount(np.append(labels, labels[0]), minlength=50)
    assert table.tolist() == expected.tolist()


def test_a_custom_task_can_be_learnt():
    """Any source of samples will do: here the marked token is always the last."""
    problem = Problem(vocab=50, samples=2000, dim=32, length=4)
    task = RecallTask(50, 4, seed=9)

    def draw(start, stop):
        tokens = task.draw(start, stop).tokens
        last = np.full(stop - start, 3)
        return Samples(tokens, last, task.permutation[tokens[:, 3]])

    def batch(instance, threads):
        return dataclasses.replace(training_batch(instance, threads), draw=draw)

    _, learned = learn_with(problem, batch=batch)
    assert learned.alpha.norm() > 0
