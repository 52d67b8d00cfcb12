"""The training batch as a stream of tiles: made when needed, reduced, and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from recallscope.common.shapes import Int64, Shaped
from recallscope.problem.problem import Problem
from recallscope.task.recall import Samples
from recallscope.three_step.large_table import LargeTable
from recallscope.three_step.threads import Threads
from recallscope.three_step.tree_sum import TreeSum

Result = TypeVar("Result")

_TOKENS_PER_TILE = 2**16
_FEATURES_PER_TILE = 2**20
_LARGEST_TILE = 2**12
_SMALLEST_TILE = 2**4
MOST_KEPT_BYTES = 2**26
"""Of a batch that is kept as it is drawn."""


class Tile(NamedTuple):
    """A block of samples as tensors."""

    tokens: Int64[Tensor, "n L"]
    position: Int64[Tensor, " n"]
    label: Int64[Tensor, " n"]

    @classmethod
    def of(cls, samples: Samples, device: torch.device | str = "cpu") -> Tile:
        """The same samples on a device."""
        return cls(*(torch.from_numpy(array).to(device) for array in samples))


Cells = tuple[Int64[Tensor, " n"], ...]


def tile_size(problem: Problem) -> int:
    """Samples per tile: 2^k, few enough for a tile to stay in a core's cache.

    It depends neither on the batch nor on the machine. Sums are rounded tile by tile, and the same
    experiment must give the same bits everywhere.
    """
    features = max(problem.dim, problem.hidden)
    size = min(_TOKENS_PER_TILE // problem.length, _FEATURES_PER_TILE // features)
    size = 1 << max(size.bit_length() - 1, 0)
    return min(max(size, _SMALLEST_TILE), _LARGEST_TILE)


@dataclass(frozen=True)
class Batch:
    """Samples 0 … N−1 of a source, cut into tiles; no array of the whole batch ever exists.

    `draw(start, stop)` makes any range of samples. `tiles` restricts the batch to a range of tiles,
    for a shard. The merged sums of all shards are those of the whole batch to the bit. With `keep`,
    for several passes, the tiles of a small batch are drawn once.
    """

    draw: Callable[[int, int], Samples]
    samples: int
    tile: int
    threads: Threads
    device: torch.device
    advance: Callable[[int], None] = lambda done: None
    tiles: range | None = None
    keep: bool = False

    def map(self, function: Callable[[Tile], Result]) -> Iterator[tuple[int, Result]]:
        """(tile's number, function of the tile), in order."""
        tiles = range(-(-self.samples // self.tile)) if self.tiles is None else self.tiles

        def apply(number: int) -> Result:
            return function(self._make(number))

        for number, result in zip(tiles, self.threads.map(apply, tiles), strict=True):
            yield number, result
            self.advance(min(self.tile, self.samples - number * self.tile))

    def partial_sum(self, statistic: Callable[[Tile], Tensor]) -> TreeSum:
        """The sum of a statistic over the tiles of this batch, ready to be merged with others."""
        total = TreeSum()
        for number, part in self.map(statistic):
            total.add(number, part.double())
        return total

    def mean(self, statistic: Callable[[Tile], Tensor]) -> Tensor:
        """The sum of a statistic over the tiles, divided by the number of samples, in float64."""
        return self.partial_sum(statistic).total() / self.samples

    def count(
        self, cells: Callable[[Tile], Cells], size: int, most: int, dtype: torch.dtype
    ) -> Shaped[Tensor, " size"]:
        """How often each of `size` cells occurs over the tiles, none more than `most` times.

        In a floating-point type where that is exact: no product has to convert the numbers then.
        The counts are gone when the batch is asked for another large table.
        """
        if most > 2 / torch.finfo(dtype).eps:
            dtype = torch.int32 if most < 2**31 else torch.int64
        table = self.large_table.take(size, dtype)
        for _, parts in self.map(cells):
            for places in parts:  # ones in full: faster than one number expanded
                table.scatter_add_(0, places, table.new_ones(len(places)))
        return table

    @cached_property
    def large_table(self) -> LargeTable:
        """Memory for one large table at a time."""
        return LargeTable(self.device)

    @cached_property
    def _kept(self) -> dict[int, Tile]:
        return {}

    def _make(self, number: int) -> Tile:
        if number in self._kept:
            return self._kept[number]
        start = number * self.tile
        samples = self.draw(start, min(start + self.tile, self.samples))
        tile = Tile.of(samples, self.device)
        whole = sum(part.nbytes for part in samples) / len(samples.label) * self.samples
        if self.keep and whole <= MOST_KEPT_BYTES:
            self._kept[number] = tile
        return tile
