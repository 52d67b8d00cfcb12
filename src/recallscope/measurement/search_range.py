"""The sizes that a search may look at."""

from __future__ import annotations

from recallscope.problem import LARGEST_SIZE, Problem, smallest_dim
from recallscope.theory.capacity import largest_vocab


def smallest_size(problem: Problem, quantity: str) -> int:
    """The least that makes a problem: orthogonal embeddings need a dimension for each token."""
    if quantity == "dim":
        return smallest_dim(problem.embedding, problem.vocab)
    return 2 if quantity == "vocab" else 1


def largest_size(problem: Problem, quantity: str) -> int:
    """The most that makes a problem."""
    return largest_vocab(problem) if quantity == "vocab" else LARGEST_SIZE


def search_range(problem: Problem, quantity: str) -> tuple[int, int]:
    """The sizes to look at if none are given: wide, and bounded so that no run takes for ever."""
    vocab = problem.vocab
    low, high = {
        "samples": (2, 256 * vocab),
        "dim": (4, 8 * vocab),
        "width": (8, 64 * vocab),
        "vocab": (2, 1 << 14),
        "length": (2, 1 << 12),
    }[quantity]
    return max(low, smallest_size(problem, quantity)), min(high, largest_size(problem, quantity))
