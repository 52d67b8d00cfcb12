"""One large experiment cut over workers: the same record, to the bit, however it was cut.

A step of learning is a sum over the tiles of the batch, and sums of ranges of tiles merge along one
fixed tree. Messages are small: a worker receives the statistic, and returns the sum.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from recallscope.common.checks import whole_number
from recallscope.experiment.cell import is_streamed
from recallscope.experiment.experiment import run
from recallscope.experiment.record import Record
from recallscope.model.instance import Instance
from recallscope.problem.problem import Problem
from recallscope.sweeps.executors.workers import Workers
from recallscope.three_step.batch import Batch, Tile
from recallscope.three_step.cost import predict_cost
from recallscope.three_step.threads import Threads
from recallscope.three_step.three_step import training_batch
from recallscope.three_step.tree_sum import TreeSum

_PASSES = 3
_LONGEST_PIECE = 2.0  # seconds, as predicted
_PIECES_PER_SHARD = 4  # at least, since some shards wait for the last piece of a pass
_RESUBMISSIONS = 5
_PATIENCE = 1.0  # seconds


@dataclass(frozen=True, eq=False)
class SumOverTiles:
    """One piece of work: the sum of a statistic over a range of tiles of a batch.

    The instance is not sent: a worker makes it, and keeps it for the next piece. In `statistic` the
    class `Instance` replaces the instance, and arrays replace tensors.
    """

    problem: Problem
    seed: int
    dtype: str
    device: str
    tiles: range
    statistic: partial[Tensor]

    def run(self) -> TreeSum:
        """The sum, ready to be merged with those of other ranges."""
        with Threads() as threads:
            instance = _make_instance(self.problem, self.seed, self.dtype, self.device)
            batch = dataclasses.replace(training_batch(instance, threads), tiles=self.tiles)
            return batch.partial_sum(_unpack(self.statistic, instance))


@lru_cache(maxsize=1)
def _make_instance(problem: Problem, seed: int, dtype: str, device: str) -> Instance:
    return Instance.make(problem, seed, dtype=dtype, device=device)


def _pack(statistic: partial[Tensor], instance: Instance) -> partial[Tensor]:
    def packed(argument: Any) -> Any:
        if argument is instance:
            return Instance
        return argument.numpy(force=True) if isinstance(argument, Tensor) else argument

    return partial(statistic.func, *map(packed, statistic.args))


def _unpack(statistic: partial[Tensor], instance: Instance) -> partial[Tensor]:
    def unpacked(argument: Any) -> Any:
        if argument is Instance:
            return instance
        if isinstance(argument, np.ndarray):
            return torch.tensor(argument, device=instance.tokens.device)
        return argument

    return partial(statistic.func, *map(unpacked, statistic.args))


@dataclass(frozen=True, kw_only=True)
class ShardedBatch(Batch):
    """The training batch of an instance; each sum over it is divided among workers.

    No more than `shards` pieces are under way at a time.
    """

    instance: Instance
    pool: Workers
    shards: int

    def pieces(self) -> Iterator[range]:
        """Ranges of 2^k tiles that begin at multiples of 2^k; the last one may be shorter.

        The sum of each is therefore one node of the tree, or at most max(k, 1) for the last.
        """
        tiles = -(-self.samples // self.tile)
        problem, dtype = self.instance.problem, _dtype(self.instance)
        predicted = predict_cost(problem, _engine(problem), dtype, test_samples=1).seconds
        fewest = max(_PIECES_PER_SHARD * self.shards, predicted / _PASSES / _LONGEST_PIECE)
        size = 1 << max(int(tiles / fewest).bit_length() - 1, 0)
        for start in range(0, tiles, size):
            yield range(start, min(start + size, tiles))

    def partial_sum(self, statistic: Callable[[Tile], Tensor]) -> TreeSum:
        """The sum of a statistic over all tiles, merged as the pieces come in."""
        assert isinstance(statistic, partial)
        packed = _pack(statistic, self.instance)
        total, under_way, losses = TreeSum(), dict[int, range](), Counter[range]()

        def submit(tiles: range) -> None:
            under_way[self.pool.submit(self._job(tiles, packed))] = tiles

        waiting = self.pieces()
        for tiles in islice(waiting, self.shards):
            submit(tiles)
        while under_way:
            for number, answer in self.pool.finished(_PATIENCE):
                tiles = under_way.pop(number)
                if answer.lost is None:
                    total.merge(answer.value())
                    self.advance(min(tiles.stop * self.tile, self.samples) - tiles[0] * self.tile)
                    following = next(waiting, None)
                else:
                    losses[tiles] += not answer.suspect
                    if losses[tiles] > _RESUBMISSIONS:
                        raise RuntimeError(
                            f"a piece of work was lost {losses[tiles]} times: {answer.lost}"
                        )
                    following = tiles
                if following is not None:
                    submit(following)
        return total

    def _job(self, tiles: range, packed: partial[Tensor]) -> SumOverTiles:
        instance = self.instance
        return SumOverTiles(
            instance.problem, instance.seed, _dtype(instance), str(self.device), tiles, packed
        )


def run_sharded(problem: Problem, seed: int, pool: Workers, shards: int, **how: Any) -> Record:
    """The record of `experiment.run` with the stream engine, by up to `shards` workers at a time.

    The population (N = ∞) is not cut, and is computed in this process.

    >>> from recallscope.sweeps.executors.workers import workers_of
    >>> problem = Problem(vocab=64, samples=4096, dim=32, length=4)
    >>> with workers_of("serial") as pool:
    ...     record = run_sharded(problem, 0, pool, 2, test_samples=1000, dtype="float32")
    >>> record.result() == run(problem, 0, engine="stream", test_samples=1000).result()
    True
    """
    shards = whole_number("shards", shards, 1)

    def cut(instance: Instance, workers: Threads, advance: Callable[[int], None]) -> ShardedBatch:
        whole = training_batch(instance, workers, advance)
        return ShardedBatch(**vars(whole), instance=instance, pool=pool, shards=shards)

    return run(problem, seed, engine=_engine(problem), batch_of=cut, **how)


def _engine(problem: Problem) -> str:
    return "stream" if is_streamed(problem) else "auto"


def _dtype(instance: Instance) -> str:
    return str(instance.tokens.dtype).removeprefix("torch.")
