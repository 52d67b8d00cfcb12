"""The values that a search may look at."""

from __future__ import annotations

from recallscope.parts.axes import SIZES, axis_field
from recallscope.problem import Problem
from recallscope.theory.capacity import possible_range, usual_range


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
    smallest, largest = possible_range(problem, quantity)
    return max(low, smallest), min(high, largest)
