"""The sizes at which closed forms were compared with simulation, and what lies outside of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from recallscope.problem import Problem

TESTED = {
    "vocab": (256, 4096),
    "dim": (16, 512),
    "length": (2, 256),
    "samples per fact": (0, 100),
    "width": (64, 4096),
}
"""Smallest and largest, with dim below vocab; docs/theory.md has the comparison."""

_EMBEDDINGS = ("sphere", "gaussian")
_ACTIVATIONS = (None, "relu", "gelu", "tanh", "quadratic")


def extrapolated(problem: Problem) -> list[str]:
    """What of a problem lies outside of what was tested; nothing, for most.

    >>> extrapolated(Problem(vocab=512, samples=8192, dim=64, length=32))
    []
    >>> extrapolated(Problem(vocab=512, samples=10**6, dim=8, length=1024))
    ['dim 8 < 16', 'length 1024 > 256', 'samples per fact 1953.12 > 100']
    """
    sizes = {
        "vocab": problem.vocab,
        "dim": problem.dim,
        "length": problem.length,
        "samples per fact": problem.samples / problem.vocab,
        "width": problem.width,
    }
    found = outside(sizes, TESTED)
    if problem.embedding not in _EMBEDDINGS:
        found.append(f"embedding {problem.embedding}")
    elif problem.dim >= problem.vocab:
        found.append(f"dim {_short(problem.dim)} >= vocab {_short(problem.vocab)}")
    if problem.activation not in _ACTIVATIONS:
        found.append(f"activation {problem.activation}")
    return found


def outside(
    sizes: Mapping[str, float | None], ranges: Mapping[str, tuple[float, float]]
) -> list[str]:
    """The sizes that are not in their range, each with the end that it is beyond.

    >>> outside({"dim": 8, "length": 4, "width": None}, {"dim": (16, 512), "width": (64, 4096)})
    ['dim 8 < 16']
    """
    found = []
    for name, (smallest, largest) in ranges.items():
        size = sizes[name]
        if size is None or smallest <= size <= largest:
            continue
        end = f"< {smallest:g}" if size < smallest else f"> {largest:g}"
        found.append(f"{name} {_short(size)} {end}")
    return found


def _short(size: float) -> str:
    """A size as it was given, or to six digits if it is not whole."""
    whole = math.isfinite(size) and float(size).is_integer()
    return str(int(size)) if whole else f"{size:.6g}"


def say_extrapolated(problems: Iterable[Problem]) -> str | None:
    """The same of one or more predictions, as a sentence; None where nothing is to be said.

    >>> say_extrapolated([Problem(vocab=512, samples=8192, dim=64, length=1024)])
    'extrapolated: length 1024 > 256'
    """
    every = list(problems)
    each = [extrapolated(problem) for problem in every]
    outside = [reasons for reasons in each if reasons]
    if not outside:
        return None
    reasons = "; ".join(dict.fromkeys(reason for one in outside for reason in one))
    of_many = f" in {len(outside)} of {len(every)}" if len(every) > 1 else ""
    return f"extrapolated{of_many}: {reasons}"
