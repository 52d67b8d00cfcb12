"""When a training is looked at: at every step at first, then ever further apart."""

from __future__ import annotations

_PER_OCTAVE = 3
LOOK_SAMPLES = 1024
"""Fresh samples that a training is looked at with."""


def grid(steps: int) -> list[int]:
    """Steps from zero to the last, at least an eighth apart.

    >>> grid(20)
    [0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20]
    """
    found = {0, steps}
    exponent = 0
    while (step := round(2 ** (exponent / _PER_OCTAVE))) < steps:
        found.add(step)
        exponent += 1
    return sorted(found)
