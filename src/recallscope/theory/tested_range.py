"""The sizes at which a law was compared with experiments, and what lies outside of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from recallscope.problem.problem import Problem

Ranges = Mapping[str, tuple[float, float]]


def tested_size(problem: Problem, name: str) -> float | None:
    """A field of a problem, or a size for each fact or dimension; None where it has none.

    >>> tested_size(Problem(vocab=512, samples=8192, dim=64, length=32), "samples per fact")
    16.0
    """
    if name == "samples per fact":
        return problem.samples / problem.vocab
    if name == "width per dim":
        return problem.hidden / problem.dim
    return getattr(problem, name, None)


def outside(problem: Problem, ranges: Ranges) -> list[str]:
    """The sizes that are not in their range, each with the end that it is beyond.

    >>> outside(Problem(vocab=512, samples=1, dim=8, length=4), {"dim": (16, 512)})
    ['dim 8 < 16']
    """
    phrases = []
    for name, (smallest, largest) in ranges.items():
        size = tested_size(problem, name)
        if size is not None and (phrase := beyond(name, size, (smallest, largest))):
            phrases.append(phrase)
    return phrases


def beyond(name: str, size: float, ends: tuple[float, float]) -> str | None:
    """The end of a range that a size is beyond; None where it is inside.

    >>> beyond("dim", 8, (16, 512))
    'dim 8 < 16'
    """
    if ends[0] <= size <= ends[1]:
        return None
    end = f"< {ends[0]:g}" if size < ends[0] else f"> {ends[1]:g}"
    return f"{name} {_short(size)} {end}"


def distance(problem: Problem, ranges: Ranges) -> float | None:
    """The largest |ln(size / nearest tested size)|; None if nothing was tested.

    >>> round(distance(Problem(vocab=512, samples=1, dim=8, length=4), {"dim": (16, 512)}), 2)
    0.69
    """
    if not ranges:
        return None
    sizes = {name: tested_size(problem, name) for name in ranges}
    return max(
        beyond_by(size, ranges[name]) if size is not None else 0.0 for name, size in sizes.items()
    )


def beyond_by(size: float, ends: tuple[float, float]) -> float:
    """How far beyond a range a size is, as the logarithm of a factor.

    >>> round(beyond_by(8, (16, 512)), 2)
    0.69
    """
    if 0 < size < ends[0]:
        return math.log(ends[0] / size)
    return math.log(size / ends[1]) if ends[1] < size < math.inf else 0.0


def clipped(problem: Problem, ranges: Ranges) -> Problem:
    """The problem with its sizes at the nearest tested ones.

    >>> clipped(Problem(vocab=512, samples=1, dim=8, length=4), {"dim": (16, 512)}).dim
    16
    """
    changes: dict[str, float] = {}
    for name, (smallest, largest) in ranges.items():
        size = tested_size(problem, name)
        if size is not None and hasattr(problem, name):
            kept = min(max(size, smallest), largest)
            changes[name] = type(size)(math.ceil(kept) if kept > size else math.floor(kept))
    vocab = changes.get("vocab", problem.vocab)
    if "samples per fact" in ranges and math.isfinite(problem.samples):
        smallest, largest = ranges["samples per fact"]
        most = max(largest * vocab, 1)  # which may be infinite
        changes["samples"] = math.floor(
            min(max(problem.samples, math.ceil(smallest * vocab), 1), most)
        )
    if "width per dim" in ranges and problem.width is not None:
        smallest, largest = ranges["width per dim"]
        dim = changes.get("dim", problem.dim)
        least, most = math.ceil(smallest * dim), math.floor(largest * dim)
        changes["width"] = min(max(problem.width, least), most)
    return problem.replace(**changes)


def _short(size: float) -> str:
    """A size as it was given, or to six digits if it is not whole."""
    whole = math.isfinite(size) and float(size).is_integer()
    return str(int(size)) if whole else f"{size:.6g}"
