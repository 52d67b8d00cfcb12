"""The task as PyTorch data sets, for a custom trainer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from recallscope.common.checks import whole_number
from recallscope.task.recall import RecallTask, check_split

Item = tuple[Tensor, Tensor, Tensor]
T = TypeVar("T")


class FirstSamples(Dataset[T]):
    """The first `samples` samples of a source, by index."""

    def __init__(self, task: Any, samples: float, split: str = "train") -> None:
        check_split(split)
        self.task = task
        self.samples = whole_number("samples", samples, 0)
        self.split = split

    def __len__(self) -> int:
        return self.samples

    def _place(self, index: int) -> int:
        """The number of a sample; numbers below 0 count from the end."""
        if not -self.samples <= index < self.samples:
            raise IndexError(f"index {index} is outside a data set of {self.samples} samples")
        return index % self.samples


class RecallDataset(FirstSamples[Item]):
    """The first `samples` samples of a task, by index: (tokens, position, label).

    Args:
        task: where the samples come from.
        samples: how many there are.
        split: 'train', or 'test' for the disjoint stream of tests.

    Raises:
        ProblemError: a split that there is not, or a number below 0.

    >>> from torch.utils.data import DataLoader
    >>> data = RecallDataset(RecallTask(vocab=64, length=8), samples=100)
    >>> tokens, position, label = next(iter(DataLoader(data, batch_size=32, shuffle=True)))
    >>> tokens.shape, position.shape, label.shape
    (torch.Size([32, 8]), torch.Size([32]), torch.Size([32]))
    """

    def __init__(self, task: RecallTask, samples: int, split: str = "train") -> None:
        super().__init__(task, samples, split)

    def __getitem__(self, index: int) -> Item:
        index = self._place(index)
        tokens, position, label = self.task.draw(index, index + 1, self.split)
        return torch.from_numpy(tokens[0]), torch.tensor(position[0]), torch.tensor(label[0])


class RecallStream(IterableDataset[Item]):
    """The same samples in order and block by block, which is many times faster.

    Each item is a whole block, so the loader gets `batch_size=None`; its workers share the
    blocks among them and every sample comes once.

    Args:
        task: where the samples come from.
        samples: how many there are.
        block: how many make one item.
        split: 'train', or 'test' for the disjoint stream of tests.

    Raises:
        ProblemError: a split that there is not, or a number that is too small.

    >>> from torch.utils.data import DataLoader
    >>> stream = RecallStream(RecallTask(vocab=64, length=8), samples=100, block=32)
    >>> [len(label) for tokens, position, label in DataLoader(stream, batch_size=None)]
    [32, 32, 32, 4]
    """

    def __init__(
        self, task: RecallTask, samples: int, block: int = 1024, split: str = "train"
    ) -> None:
        check_split(split)
        self.task = task
        self.samples = whole_number("samples", samples, 0)
        self.block = whole_number("block", block, 1)
        self.split = split

    def __iter__(self) -> Iterator[Item]:
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for start in range(first * self.block, self.samples, step * self.block):
            stop = min(start + self.block, self.samples)
            tokens, position, label = self.task.draw(start, stop, self.split)
            yield torch.from_numpy(tokens), torch.from_numpy(position), torch.from_numpy(label)
