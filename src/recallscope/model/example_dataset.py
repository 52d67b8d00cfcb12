"""The examples of any task as a PyTorch data set, as trainers of language models take them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from recallscope.model.input_ids import input_ids
from recallscope.problem.facts import inputs_of
from recallscope.problem.problem import Problem
from recallscope.task.datasets import FirstSamples
from recallscope.task.examples import IGNORED, examples_of
from recallscope.task.kind import samples_of

Example = dict[str, Tensor]
_AT_ONCE = 1024


class ExampleDataset(FirstSamples[Example]):
    """Sequences that end in their answer: `input_ids`, and `labels` that are -100 but there.

    Causal language models of transformers predict each label from the ids before it, so these are
    their `input_ids` and `labels` as they are. A model that predicts it from the same position must
    not be given the last id. `Task.ids` says how many ids there are.

    Args:
        problem: which has the task.
        seed: of the samples.
        samples: how many there are; as many as the problem has by default.
        split: 'train', 'test' for the disjoint stream of tests, or 'each' for every fact in turn.

    Raises:
        ProblemError: an unknown split, or a number out of range.

    >>> from torch.utils.data import DataLoader
    >>> problem = Problem(vocab=64, samples=100, dim=8, length=4)
    >>> data = ExampleDataset(problem)
    >>> batch = next(iter(DataLoader(data, batch_size=32, shuffle=True)))
    >>> batch["input_ids"].shape, batch["labels"].shape
    (torch.Size([32, 7]), torch.Size([32, 7]))

    In Hugging Face's datasets: `Dataset.from_generator(lambda: iter(data))`.
    """

    def __init__(
        self, problem: Problem, seed: int = 0, samples: int | None = None, split: str = "train"
    ) -> None:
        count = problem.samples if samples is None else samples
        super().__init__(samples_of(problem, seed), count, split)
        self.problem = problem

    def __getitem__(self, index: int) -> Example:
        place = self._place(index)
        return next(self._block(place, place + 1))

    def __iter__(self) -> Iterator[Example]:
        for start in range(0, self.samples, _AT_ONCE):
            yield from self._block(start, min(start + _AT_ONCE, self.samples))

    def _block(self, start: int, stop: int) -> Iterator[Example]:
        examples = examples_of(self.task, start, stop, self.split)
        ids, answer = torch.from_numpy(examples.input_ids), torch.from_numpy(examples.answer)
        if examples.marked is not None:
            chosen = getattr(self.problem, "trigger", "token")
            trigger = chosen if chosen == "marked-id" else "token"  # a vector is in no id
            marked = torch.from_numpy(examples.marked)
            ids = input_ids(ids, marked, inputs_of(self.problem), trigger)
        ids = torch.cat([ids, answer[:, None]], dim=1)
        labels = torch.full_like(ids, IGNORED)
        labels[:, -1] = answer
        for row, label in zip(ids, labels, strict=True):
            yield {"input_ids": row, "labels": label}
