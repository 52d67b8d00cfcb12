"""The samples of each step: all of them, a part in a random order, or new ones every time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from recallscope.task.random import Role, generator
from recallscope.training.grid import LOOK_SAMPLES
from recallscope.training.options import rows_of_step

if TYPE_CHECKING:
    from recallscope.model.setup import Setup
    from recallscope.training.trainee import Samples


class Batches:
    """The samples of runs of one problem, step by step: a pure function of problem and seed.

    `whole` says whether each step is given all of them. `window` is the number of steps that
    together take as many samples as there are. For fresh samples they take as many as an evaluation
    has: a loss of fewer may be luck.
    """

    def __init__(self, setups: Sequence[Setup]) -> None:
        self._setups = setups
        problem = setups[0].problem
        self._count = int(problem.samples)
        self._fresh = getattr(problem, "fresh", False)
        self._size = rows_of_step(problem)
        self.whole = not self._fresh and self._size == self._count
        self.window = math.ceil((LOOK_SAMPLES if self._fresh else self._count) / self._size)
        self._all = None if self._fresh else self.drawn(0, self._count)
        self._shuffled: tuple[int, torch.Tensor] | None = None

    def of_step(self, step: int) -> Samples:
        """The samples of a step; those at the end of an order, too few for a step, are left out."""
        if self._all is None:
            return self.drawn(step * self._size, (step + 1) * self._size)
        if self.whole:
            return self._all
        epoch, part = divmod(step, self._count // self._size)
        if self._shuffled is None or self._shuffled[0] != epoch:
            self._shuffled = epoch, self._order(epoch)
        order = self._shuffled[1][:, part * self._size : (part + 1) * self._size]
        tokens, position, label = self._all
        rows = torch.arange(len(order), device=order.device)[:, None]
        return tokens[rows, order], position[rows, order], label[rows, order]

    def drawn(self, start: int, stop: int, split: str = "train") -> Samples:
        """Samples start…stop−1 of each run."""
        drawn = [setup.samples(start, stop, split) for setup in self._setups]
        tokens, position, label = (torch.stack(arrays) for arrays in zip(*drawn, strict=True))
        return tokens, position, label

    def _order(self, epoch: int) -> torch.Tensor:
        orders = [
            generator(setup.seed, Role.ORDER, self._count, block=epoch).permutation(self._count)
            for setup in self._setups
        ]
        return torch.from_numpy(np.stack(orders)).to(self._setups[0].device)
