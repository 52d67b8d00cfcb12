"""The task: find the marked token, answer with its image. NumPy alone, usable without the rest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from recallscope.common.checks import LARGEST_SEED, choice, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Float, Int64, UInt
from recallscope.problem.frequencies import cumulated, facts_at, frequency_classes
from recallscope.task.random import Role, below, generator, words

_LARGEST_FOR_HALF_A_WORD = 2**16  # half a word of 64 bits is uniform to 1 part in 65,536

SPLITS = {"train": Role.TRAIN, "test": Role.TEST, "each": Role.TEST}
"""The stream of each: 'each' has the tests, but asks for every fact in turn."""


def check_split(split: str) -> None:
    """Raise unless there is such a stream of samples."""
    if split not in SPLITS:
        raise ProblemError(f"split must be one of {', '.join(SPLITS)}, not {split!r}")


class Samples(NamedTuple):
    """A block of samples, to be unpacked.

    Attributes:
        tokens: sequences, one for each row.
        position: which token of each is marked.
        label: its image under the permutation: the right answer.

    >>> tokens, position, label = RecallTask(vocab=64, length=8).draw(0, 10)
    >>> tokens.shape, position.shape, label.shape
    ((10, 8), (10,), (10,))
    """

    tokens: Int64[np.ndarray, "n L"]
    position: Int64[np.ndarray, " n"]
    label: Int64[np.ndarray, " n"]


class RecallTask:
    """A fixed permutation of `vocab` tokens, to be recalled from sequences of `length` tokens.

    Tokens are uniform and independent, the marked position is uniform, and the label is the
    image of the marked token. Sample i is a pure function of (vocab, length, seed, i), so any
    part can be made anywhere, alone and in any order.

    Args:
        vocab: how many tokens and labels.
        length: tokens in a sequence.
        seed: which permutation, and which samples.
        facts: how many facts, each with a token: the first ones, and more than `vocab` if need be,
            which then share labels. 0 for as many as tokens.
        distractors: 'same' if tokens that are not marked are those of facts too, as often as these
            are seen; 'uniform' if they are any.
        frequencies: the probability of each fact; None if all are equal.

    Raises:
        ProblemError: fewer than 2 tokens, a length below 1, or a seed or facts below 0.

    In NumPy:

    >>> task = RecallTask(vocab=512, length=32, seed=0)
    >>> tokens, position, label = task.draw(0, 1000)
    >>> tokens.shape, position.shape, label.shape
    ((1000, 32), (1000,), (1000,))
    >>> bool((task.draw(900, 910).tokens == tokens[900:910]).all())
    True
    >>> bool((label == task.permutation[tokens[range(1000), position]]).all())
    True

    Block by block, with nothing kept:

    >>> [len(block.label) for block in task.blocks(samples=1000, size=400)]
    [400, 400, 200]

    In PyTorch, see `RecallDataset` and `RecallStream`.
    """

    def __init__(
        self,
        vocab: int,
        length: int,
        seed: int = 0,
        *,
        facts: int = 0,
        distractors: str = "same",
        frequencies: Float[np.ndarray, " facts"] | None = None,
    ) -> None:
        self.vocab = whole_number("vocab", vocab, 2)
        self.length = whole_number("length", length, 1)
        self.seed = whole_number("seed", seed, 0, LARGEST_SEED)
        self.facts = whole_number("facts", facts, 0) or self.vocab
        self.distractors = choice("distractors", distractors, ("same", "uniform"))
        self.frequencies = frequencies

    def __repr__(self) -> str:
        facts = "" if self.facts == self.vocab else f", facts={self.facts}"
        return f"RecallTask(vocab={self.vocab}, length={self.length}, seed={self.seed}{facts})"

    def __getstate__(self) -> dict[str, Any]:
        # A worker makes the permutation again: sending V numbers would cost more.
        names = ("vocab", "length", "seed", "facts", "distractors", "frequencies")
        return {name: getattr(self, name) for name in names}

    @cached_property
    def permutation(self) -> Int64[np.ndarray, " V"]:
        """The label of each token."""
        return generator(self.seed, Role.PERMUTATION, self.vocab).permutation(self.vocab)

    @cached_property
    def answers(self) -> Int64[np.ndarray, " facts"]:
        """The label of each fact: its image, and of facts beyond the tokens that of another."""
        if self.facts == self.vocab:
            return self.permutation
        return self.permutation[np.arange(self.facts) % self.vocab]

    def draw(self, start: int, stop: int, split: str = "train") -> Samples:
        """Samples start…stop−1 of the training stream, or of the disjoint stream of tests.

        Args:
            start: the first sample.
            stop: the one after the last.
            split: 'train', 'test' for the stream of tests, or 'each' for a test of every fact.

        Returns:
            The block of samples.

        Raises:
            ProblemError: an unknown split, or an impossible range.
        """
        check_split(split)
        start = whole_number("start", start, 0, LARGEST_SEED)
        stop = whole_number("stop", stop, start, LARGEST_SEED)
        random = self._random(start, stop, SPLITS[split])
        position = below(self.length, random[:, self.length])
        rows = np.arange(stop - start)
        if self.distractors == "same":
            tokens = self._drawn_facts(random[:, : self.length])
        else:
            tokens = below(max(self.vocab, self.facts), random[:, : self.length])
            tokens[rows, position] = self._drawn_facts(random[rows, position])
        if split == "each":
            tokens[rows, position] = np.arange(start, stop) % self.facts
        return Samples(tokens, position, self.answers[tokens[rows, position]])

    def _drawn_facts(self, random: UInt[np.ndarray, "*n"]) -> Int64[np.ndarray, "*n"]:
        """A fact for each random word."""
        if self.frequencies is None:
            return below(self.facts, random)
        return facts_at(self._ends, random)

    @cached_property
    def frequency_classes(self) -> Int64[np.ndarray, " facts"]:
        """The class of each fact by how often it is seen; one class if all are equal."""
        if self.frequencies is None:
            return np.zeros(self.facts, dtype=np.int64)
        return frequency_classes(self.frequencies)

    @cached_property
    def _ends(self) -> Float[np.ndarray, " facts"]:
        assert self.frequencies is not None
        return cumulated(self.frequencies)

    def _random(self, start: int, stop: int, role: Role) -> UInt[np.ndarray, "n numbers"]:
        """A row for each sample: a random word for each token, then one for the position."""
        halved = max(self.vocab, self.facts, self.length) <= _LARGEST_FOR_HALF_A_WORD
        halved = halved and self.frequencies is None
        width = self.length // 2 + 1 if halved else self.length + 1
        random = words(
            self.seed, role, self.vocab, self.length, start=start * width, stop=stop * width
        ).reshape(stop - start, width)
        return random.view(np.uint32) if halved else random

    def blocks(
        self, samples: int, size: int = 1024, start: int = 0, split: str = "train"
    ) -> Iterator[Samples]:
        """Samples start…start+samples−1 in blocks of `size`, the last one shorter if need be.

        Args:
            samples: how many in all.
            size: how many in a block.
            start: the first sample.
            split: 'train', 'test' for the stream of tests, or 'each' for a test of every fact.

        Returns:
            Blocks, made one after another.

        Raises:
            ProblemError: a split that there is not, or a number that is too small.
        """
        size = whole_number("size", size, 1)
        start = whole_number("start", start, 0)
        stop = start + whole_number("samples", samples, 0)
        for first in range(start, stop, size):
            yield self.draw(first, min(first + size, stop), split)
