"""Three sizes of every sweep, each a file that `recallscope sweep` also reads."""

from __future__ import annotations

from pathlib import Path

from recallscope.problem import choice
from recallscope.sweeps.spec import Sweep, read_sweep

SIZES = ("smoke", "short", "full")
"""Three minutes for all claims on two cores, a first answer, and what the verdicts rest on."""
_SWEEPS = Path(__file__).with_name("sweeps")


def check_size(size: str) -> None:
    """Raise unless there is such a size."""
    choice("size", size, SIZES)


def sweep_file(name: str, size: str) -> Path:
    """The file of a sweep of the claims.

    Your claim may name another file, which ends in .toml; {size} in it is the size.
    """
    check_size(size)
    if name.endswith(".toml"):
        return Path(name.replace("{size}", size))
    return _SWEEPS / size / f"{name}.toml"


def sweep_of(name: str, size: str) -> Sweep:
    """A sweep of the claims, in one of its sizes.

    >>> sweep_of("random-long", "smoke").fixed["vocab"]
    128
    """
    return read_sweep(sweep_file(name, size))
