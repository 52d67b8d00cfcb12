"""The one size that is missing: where recall reaches a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recallscope.planning.asking import ask
from recallscope.planning.inputs import Inputs
from recallscope.theory.question import Ends

RANGES = {"facts": (1, 10**12), "rank": (1, 2**20), "exposures": (1, 10**6), "d_model": (1, 10**6)}
LOOKS = 90  # about: what a search takes
_CLOSE = 1.01  # a factor between sizes that need not be distinguished


@dataclass(frozen=True, kw_only=True)
class Solved:
    """The size at which recall reaches a target: the most facts, or the least of another.

    Attributes:
        name: facts, rank, exposures or d_model.
        target: the recall.
        value: None where no size reaches it.
        low, high: the sizes for the ends of the interval of recall; None where none does.
        closest: the value, or the size that comes closest.
    """

    name: str
    target: float
    value: int | None
    low: int | None
    high: int | None
    closest: int


def solve_for(
    inputs: Inputs, name: str, target: float, progress: Callable[[int], None] = lambda done: None
) -> Solved:
    """Find it by halving: recall falls with facts and rises with the rest."""
    smallest, largest = size_range(inputs, name)
    looked = 0

    def recall(value: int) -> Ends:
        nonlocal looked
        looked += 1
        progress(looked)
        answers = ask(inputs.changed(name, value))
        return answers[0].capacity.recall if answers else Ends(0.0, 0.0, 0.0)

    def size(end: str) -> int | None:
        # From the size at which the target is easiest to that at which it is hardest.
        easy, hard = (smallest, largest) if name == "facts" else (largest, smallest)
        if getattr(recall(easy), end) < target:
            return None
        if getattr(recall(hard), end) >= target:
            return hard
        while abs(hard - easy) > 1 and max(hard, easy) > _CLOSE * min(hard, easy):
            middle = round((hard * easy) ** 0.5)
            if middle in (hard, easy):
                middle = (hard + easy) // 2
            reached = getattr(recall(middle), end) >= target
            easy, hard = (middle, hard) if reached else (easy, middle)
        return easy

    value = size("value")
    ends = [size("low"), size("high")]
    low, high = ends if name == "facts" else ends[::-1]
    best = smallest if name == "facts" else largest
    closest = best if value is None else value
    return Solved(name=name, target=target, value=value, low=low, high=high, closest=closest)


def size_range(inputs: Inputs, name: str) -> tuple[int, int]:
    """The sizes that may be tried."""
    smallest, largest = RANGES[name]
    if name == "rank":
        sides = [
            side
            for matrices in inputs.shape.matrices().values()
            for size in matrices
            for side in size
        ]
        largest = min(sides)
    if name == "facts":
        smallest = 2
    return smallest, largest
