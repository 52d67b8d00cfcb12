"""How and where runs are run, and where progress goes: shared by all measuring functions."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, get_type_hints

from recallscope.cell import Settings
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.executors.base import Executor
from recallscope.experiment.own import own_experiment
from recallscope.measurement.axis import Axis, parse_axis, sizes_of
from recallscope.measurement.critical import CriticalSearch
from recallscope.models.embeddings import Embeddings
from recallscope.parts.axes import axes_of
from recallscope.problem import Problem, ProblemError, whole_number
from recallscope.record import Record
from recallscope.sweeps.jobs import cell_workers
from recallscope.sweeps.scheduler import run_all, run_searches

if TYPE_CHECKING:
    from recallscope.store.store import Store


class RunOptions(TypedDict, total=False):
    """What every measuring function takes in addition to its arguments.

    Attributes:
        run: your experiment, a function from a problem and a seed to an accuracy and the number of
            its tests, or to named metrics. Your function then decides on engine, dtype and tests.
        name: what to call it in a store; by default the name of the function.
        version: yours, to be raised when the function changes; by default its source is hashed, and
            an edit of it is refused.
        engine: 'stream', 'counts', 'reference', or 'auto' for the one that costs less.
        test_samples: fresh samples to test each run on.
        dtype: 'float32', or 'float64' for twice the time and memory.
        device: where torch computes.
        embeddings: your own arrays, if the problem names them.
        executor: 'serial', 'processes', 'ray', or your `Executor`.
        workers: how many workers; as many as there are cores if None.
        address: of a Ray cluster; None starts a private one on this machine.
        store: a folder or an address: what it has is not run again, and what is run is kept there.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (work done, work in all).
        callback: called with each record that is made, for trackers.
    """

    run: Callable[[Problem, int], Any] | None
    name: str | None
    version: int | None
    engine: str
    test_samples: int
    dtype: str
    device: str
    embeddings: Embeddings | None
    executor: str | Executor
    workers: int | None
    address: str | None
    store: str | Path | Store | None
    progress: ProgressCallback | bool
    callback: Callable[[Record], None] | None


DEFAULTS: dict[str, Any] = dict.fromkeys(RunOptions.__annotations__) | {
    **{"engine": "auto", "test_samples": 4096, "dtype": "float32"},
    **{"device": "cpu", "executor": "serial", "progress": True},
}


@dataclass(frozen=True)
class Runner:
    """Runs problems and searches with the arguments of a measuring function."""

    how: dict[str, Any]
    settings: Settings

    def records(self, runs: Sequence[tuple[Problem, int]], what: str) -> list[Record]:
        """The records of problems at seeds, in their order."""
        with self._place(what) as (place, keep):
            return run_all(runs, *place, **keep)

    def search(self, searches: Sequence[CriticalSearch], what: str) -> None:
        """Run searches to their end."""
        with self._place(what) as (place, keep):
            run_searches(searches, *place, **keep)

    @contextmanager
    def _place(self, what: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Workers, settings and progress; and where records go."""
        how, store = self.how, self.how["store"]
        with (
            shown_progress(how["progress"], what) as progress,
            cell_workers(how["executor"], how["workers"], how["address"]) as pool,
        ):
            kept = None if store is None else store_at(store)
            yield (pool, self.settings, progress), {"store": kept, "callback": how["callback"]}

    @property
    def own(self) -> str | None:
        """The name of the user's experiment, if there is one."""
        return None if self.settings.own is None else self.settings.own.name


def runner(given: RunOptions) -> Runner:
    """A runner from the arguments that were given; the others have their defaults."""
    for name in given:
        if name not in DEFAULTS:
            raise TypeError(f"unknown argument {name!r}; there are {', '.join(DEFAULTS)}")
    how = DEFAULTS | dict(given)
    own = how["run"]
    settings = Settings(
        **{name: how[name] for name in ("engine", "dtype", "device", "embeddings")},
        test_samples=whole_number("test_samples", how["test_samples"], 1),
        own=None if own is None else own_experiment(own, how["name"], how["version"]),
    )
    return Runner(how, settings)


def store_at(place: str | Path | Store) -> Store:
    """The store at a place."""
    from recallscope.store.store import Store

    return place if isinstance(place, Store) else Store(place)


AxisLike = str | Axis | tuple[str, Iterable[float]]
"""'dim=16:256:30', or ('dim', [16, 32, 64])."""


def axis_from(given: AxisLike, problem: Problem) -> Axis:
    """An axis of a problem, however it was given.

    >>> problem = Problem(vocab=64, samples=1, dim=16, length=4)
    >>> axis_from(("dim", [64, 16]), problem), axis_from("dim=16,64", problem)
    (Axis(name='dim', values=(16, 64)), Axis(name='dim', values=(16, 64)))
    """
    fields = axes_of(problem.parts())
    if isinstance(given, str):
        return parse_axis(given, fields)
    try:
        name, values = given
    except (TypeError, ValueError):
        raise ProblemError(
            f"an axis is text such as 'dim=16:256:30', or a name and values, not {given!r:.60}"
        ) from None
    return sizes_of(name, values, fields)


F = TypeVar("F", bound=Callable[..., Any])


def with_run_options(function: F) -> F:
    """Show the arguments of `HowToRun` in the signature, for `help` and for notebooks."""
    shown = inspect.signature(function)
    kinds = get_type_hints(RunOptions, localns={"Store": Any})
    own = [each for each in shown.parameters.values() if each.kind is not each.VAR_KEYWORD]
    more = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=kinds[name]
        )
        for name, value in DEFAULTS.items()
        if name not in shown.parameters
    ]
    function.__signature__ = shown.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    shared = inspect.cleandoc(RunOptions.__doc__ or "").partition("Attributes:\n")[2]
    function.__doc__ = (function.__doc__ or "").replace(
        "        how: how and where to run, as in `HowToRun`.", textwrap.indent(shared, "    ")
    )
    return function
