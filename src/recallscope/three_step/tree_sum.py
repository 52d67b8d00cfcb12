"""A sum to the same bits, whatever the order of arrival and the cuts between its parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class TreeSum:
    """Parts 0, 1, 2, … added along one fixed binary tree.

    Two neighbours are added as soon as both are there, always the left one first. When the parts
    come in order, only about log2(parts) tensors are kept. Sums over different parts can be merged,
    in any order: this is how shards are reduced.

    >>> import torch
    >>> parts = torch.randn(11, dtype=torch.float64)
    >>> whole, left, right = TreeSum(), TreeSum(), TreeSum()
    >>> for i in range(11):
    ...     whole.add(i, parts[i])
    >>> for i in reversed(range(11)):
    ...     (left if i < 5 else right).add(i, parts[i])
    >>> right.merge(left)
    >>> bool(right.total() == whole.total())
    True
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, int], Tensor] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Arrays, since torch sends tensors through shared memory, which dies with its process.
        nodes = self._nodes.items()
        return {"nodes": [(node, part.numpy(force=True), part.device) for node, part in nodes]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._nodes = {
            node: torch.tensor(part, device=device) for node, part, device in state["nodes"]
        }

    def add(self, index: int, part: Tensor) -> None:
        """Add part number `index`, once."""
        self._add((0, index), part)

    def merge(self, other: TreeSum) -> None:
        """Add all parts of another sum."""
        for node, tensor in other._nodes.items():
            self._add(node, tensor)

    def total(self) -> Tensor:
        """The sum of parts 0 … n−1, all of which must have been added."""
        nodes = sorted(self._nodes.items())
        parts = sum(1 << level for (level, _), _ in nodes)
        # n parts leave one node for each 1 among the binary digits of n.
        if not nodes or any(index != (parts >> level) - 1 for (level, index), _ in nodes):
            raise ValueError("a sum was asked for before all its parts had been added")
        total = nodes[0][1]
        for _, tensor in nodes[1:]:
            total = tensor + total
        return total

    def _add(self, node: tuple[int, int], tensor: Tensor) -> None:
        level, index = node
        while (sibling := self._nodes.pop((level, index ^ 1), None)) is not None:
            tensor = tensor + sibling if index % 2 == 0 else sibling + tensor
            level, index = level + 1, index // 2
        if (level, index) in self._nodes:
            raise ValueError(f"part {index << level} was added twice")
        self._nodes[level, index] = tensor


def tree_sum(parts: Iterable[Tensor]) -> Tensor:
    """The sum of the parts, in order, along the tree."""
    total = TreeSum()
    for index, part in enumerate(parts):
        total.add(index, part)
    return total.total()
