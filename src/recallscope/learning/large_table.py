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
    >>> counts = memory.zeros(4, torch.float64)
    >>> products = memory.unset(2, torch.float64).fill_(7)
    >>> counts.tolist(), memory.zeros(3, torch.int32).tolist()
    ([7.0, 7.0, 0.0, 0.0], [0, 0, 0])
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._memory: Tensor | None = None

    def unset(self, size: int, dtype: torch.dtype) -> Shaped[Tensor, " size"]:
        """A table with anything in it."""
        if self._lacks(size, dtype):
            self._memory = None  # first give back what there is
            self._memory = large_zeros(
                size * dtype.itemsize, dtype=torch.uint8, device=self._device
            )
        assert self._memory is not None
        return self._memory[: size * dtype.itemsize].view(dtype)

    def zeros(self, size: int, dtype: torch.dtype) -> Shaped[Tensor, " size"]:
        """A table of zeros."""
        new = self._lacks(size, dtype)
        table = self.unset(size, dtype)
        return table if new else table.zero_()

    def _lacks(self, size: int, dtype: torch.dtype) -> bool:
        return self._memory is None or len(self._memory) < size * dtype.itemsize
