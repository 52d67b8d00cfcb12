"""Memory for large tables: huge pages, asked for once."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from recallscope.common.shapes import Shaped

_CACHE_LINE = 64


def large_zeros(*shape: int, dtype: torch.dtype, device: torch.device) -> Shaped[Tensor, ...]:
    """A table of zeros. NumPy asks for huge pages, torch does not: a third less time to fill it."""
    size = torch.Size(shape).numel() * dtype.itemsize
    memory = np.zeros(size + _CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE  # as torch's own tensors: products are faster
    return torch.from_numpy(memory[start : start + size]).view(dtype).view(shape).to(device)


class LargeTable:
    """Memory for one table at a time, each in the place of the one before.

    New memory of the system costs more time than what an engine writes to it.

    >>> memory = LargeTable(torch.device("cpu"))
    >>> counts = memory.take(4, torch.float64)
    >>> products = memory.take(2, torch.float64, zeros=False).fill_(7)
    >>> counts.tolist(), memory.take(3, torch.int32).tolist()
    ([7.0, 7.0, 0.0, 0.0], [0, 0, 0])
    """

    def __init__(self, device: torch.device) -> None:
        self._memory = torch.empty(0, dtype=torch.uint8, device=device)

    def take(self, size: int, dtype: torch.dtype, *, zeros: bool = True) -> Shaped[Tensor, " size"]:
        """A table of zeros, or with anything in it."""
        needed = size * dtype.itemsize
        if new := needed > len(self._memory):
            self._memory = self._memory.new_empty(0)  # first give back what there is
            self._memory = large_zeros(needed, dtype=torch.uint8, device=self._memory.device)
        table = self._memory[:needed].view(dtype)
        return table.zero_() if zeros and not new else table
