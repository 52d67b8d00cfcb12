"""One experiment of a sweep, and how it is run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from recallscope.common.checks import shown
from recallscope.common.errors import ProblemError
from recallscope.common.source import Source, pack, unpack
from recallscope.problem.problem import Problem

MOST_PROBLEMS, MOST_CELLS, MOST_SEARCHES = 20_000, 10**6, 1000
"""Of one plan, which is made in seconds before anything is run."""


def check_amount(what: str, problems: int, seeds: int) -> None:
    """Raise if so many problems at so many seeds are more than one plan is made for."""
    if problems > MOST_PROBLEMS or problems * seeds > MOST_CELLS:
        raise ProblemError(
            f"{what} has {shown(problems)} problems at {shown(seeds)} seeds, more than "
            f"{MOST_PROBLEMS} problems or {MOST_CELLS} cells; cut it into several"
        )


if TYPE_CHECKING:
    from recallscope.problem.given_embeddings import Embeddings


class Cell(NamedTuple):
    """A problem and a seed."""

    problem: Problem
    seed: int


@dataclass(frozen=True, kw_only=True)
class OwnExperiment:
    """A function of the user's, run instead of the built-in experiment."""

    name: str
    source: Source
    function: Callable[[Problem, int], Any] = field(compare=False, repr=False)

    @property
    def measure(self) -> str:
        """The mark of its records."""
        return f"{self.name} {self.source.mark}"

    @property
    def files(self) -> dict[str, str]:
        """Hashes of what it was made of, as records have them."""
        return self.source.files_of(self.name)

    @cached_property
    def _for_travel(self) -> bytes:
        return pack(self.function)

    def __reduce__(self) -> tuple[Any, ...]:
        """Functions of a script or a notebook travel by their content, others with their module."""
        return _unpickle, (self.name, self.source, self._for_travel)


def _unpickle(name: str, source: Source, function: bytes) -> OwnExperiment:
    """The experiment as another process sent it; only what our processes send is unpacked."""
    return OwnExperiment(name=name, source=source, function=unpack(function))


def device_name(device: str) -> str:
    """The one name of a device: the first of its kind has no number.

    >>> device_name("cuda:0"), device_name("cuda:1"), device_name("cpu")
    ('cuda', 'cuda:1', 'cpu')
    """
    return device.removesuffix(":0") if isinstance(device, str) else device


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the cells of a sweep are run: with the problem and the seed, all a record depends on."""

    engine: str = "auto"
    dtype: str = "float32"
    test_samples: int = 4096
    device: str = "cpu"
    sharded: bool = False
    own: OwnExperiment | None = None
    """A custom experiment to run instead of it."""
    embeddings: Embeddings | None = field(default=None, compare=False, repr=False)
    """Arrays of the user's, if problems name them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "device", device_name(self.device))

    def of_run(self, problem: Problem) -> dict[str, Any]:
        """How a problem is run, by the names that `run_together` has for it."""
        names = ("test_samples", "dtype", "device", "embeddings")
        return {"engine": self.engine_for(problem)} | {name: getattr(self, name) for name in names}

    def engine_for(self, problem: Problem) -> str:
        """The engine to ask for."""
        return "stream" if self.sharded and is_streamed(problem) else self.engine


def is_streamed(problem: Problem) -> bool:
    """Whether, cut over workers, its batch is streamed: tables of counts are too large to send."""
    return problem.regime == "limit" and math.isfinite(problem.samples)
