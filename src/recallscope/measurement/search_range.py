"""The values that a search may look at."""

from __future__ import annotations

from recallscope.parts.axes import SIZES, axis_field
from recallscope.problem import LARGEST_SIZE, Problem, smallest_dim
from recallscope.theory.capacity import largest_vocab, usual_range


def smallest_size(problem: Problem, quantity: str) -> float:
    """The least that makes a problem: orthogonal embeddings need a dimension for each token."""
    if quantity == "dim":
        return smallest_dim(problem.embedding, problem.vocab)
    low = axis_field(quantity, problem.parts()).low
    return 1 if low is None else low


def largest_size(problem: Problem, quantity: str) -> float:
    """The most that makes a problem."""
    if quantity == "vocab":
        return largest_vocab(problem)
    return min(axis_field(quantity, problem.parts()).most, LARGEST_SIZE)


def search_range(problem: Problem, quantity: str) -> tuple[float, float]:
    """The values to look at if none are given: wide, and bounded so that no run takes for ever."""
    if quantity not in SIZES:
        return usual_range(axis_field(quantity, problem.parts()))
    vocab = problem.vocab
    low, high = {
        "samples": (2, 256 * vocab),
        "dim": (4, 8 * vocab),
        "width": (8, 64 * vocab),
        "vocab": (2, 1 << 14),
        "length": (2, 1 << 12),
    }[quantity]
    return max(low, smallest_size(problem, quantity)), min(high, largest_size(problem, quantity))
