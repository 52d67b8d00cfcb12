"""Examples of a task: sequences of ids with one answer each, and the fact that each asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from recallscope.common.shapes import Int64
from recallscope.task.recall import Samples

IGNORED = -100
"""The label of a position that asks for nothing, as losses of PyTorch have it."""


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Sequences that are answered at their last position.

    Attributes:
        input_ids: sequences, one for each row.
        answer: the right label of each, at its last position.
        fact: the number of the fact that each asks for.
        frequency_class: of its fact: 0 for the most frequent one, 1 for the next two, 2 for the
            next four; one class if all are seen equally often.
        marked: which position of each is marked; None if the ids say all.

    >>> examples = Examples(
    ...     input_ids=np.array([[5, 6, 7]]), answer=np.array([2]), fact=np.array([6]),
    ...     frequency_class=np.array([0]), marked=np.array([1]))
    >>> examples.labels.tolist()
    [[-100, -100, 2]]
    """

    input_ids: Int64[np.ndarray, "n T"]
    answer: Int64[np.ndarray, " n"]
    fact: Int64[np.ndarray, " n"]
    frequency_class: Int64[np.ndarray, " n"]
    marked: Int64[np.ndarray, " n"] | None = None

    @property
    def labels(self) -> Int64[np.ndarray, "n T"]:
        """A label for every position; only the last one counts."""
        labels = np.full_like(self.input_ids, IGNORED)
        labels[:, -1] = self.answer
        return labels


class SampleSource(Protocol):
    """Samples of one problem at one seed, each of them a pure function of its number."""

    def draw(self, start: int, stop: int, split: str = "train") -> Samples:
        """Samples start…stop−1: tokens (n×L), the marked position and the label of each.

        Tokens and labels are whole numbers below `vocab`. The split 'test' shares no sample with
        'train'; 'each', where a source has it, asks for every fact in turn.
        """


class ExampleSource(Protocol):
    """The same for a task without a trigger."""

    def examples(self, start: int, stop: int, split: str = "train") -> Examples:
        """Examples start…stop−1, with the splits of `SampleSource.draw`."""


def examples_of(
    source: SampleSource | ExampleSource, start: int, stop: int, split: str = "train"
) -> Examples:
    """Examples start…stop−1 of a source that yields them, or samples with a trigger.

    >>> from recallscope.task.recall import RecallTask
    >>> examples = examples_of(RecallTask(vocab=64, length=8), 0, 10)
    >>> bool((examples.fact == examples.input_ids[range(10), examples.marked]).all())
    True
    """
    if hasattr(source, "examples"):
        yielded: Examples = source.examples(start, stop, split)
        return yielded
    tokens, position, label = source.draw(start, stop, split)
    fact = tokens[np.arange(len(tokens)), position]
    by_fact = getattr(source, "frequency_classes", None)  # tasks of plugins need not have it
    classes = np.zeros_like(fact) if by_fact is None else by_fact[fact]
    return Examples(
        input_ids=tokens, answer=label, fact=fact, frequency_class=classes, marked=position
    )
