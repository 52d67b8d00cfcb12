"""Where a command runs and keeps its records, and what happens when it is stopped."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from recallscope.common.checks import whole_number
from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_duration
from recallscope.common.interrupts import clean_up_needed
from recallscope.common.machine import available_cores
from recallscope.problem.problem import Problem

if TYPE_CHECKING:
    from recallscope.sweeps.store.store import Store

_NOTICED, _LONG = 2.0, 3600.0  # seconds


def place_from(where: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that say where runs go, from the options of a command."""
    return {
        "executor": where["executor"],
        "address": where["address"],
        "workers": workers_from(where),
        "store": store_from(where),
    }


def workers_from(where: Mapping[str, Any]) -> int | None:
    """How many workers, or None for one for each core."""
    given = where["workers"]
    return None if given is None else whole_number("workers", number_or_text(given), 1, 10**5)


def store_from(where: Mapping[str, Any]) -> Store | None:
    """The store that was named, if one was."""
    if where["store"] is None:
        return None
    if where["store"].startswith("memory:"):
        raise ProblemError("a store in memory is gone when the command ends; give a folder")
    from recallscope.sweeps.store.store import Store

    return Store(where["store"])


def check_time(
    seconds: float, yes: bool, instead: str = "take less of it", *, say: bool = True
) -> None:
    """Print the predicted time; raise if it is more than an hour without --yes."""
    if seconds > _LONG and not yes:
        raise ProblemError(
            f"this is predicted to take about {format_duration(seconds)}; give --yes to run it "
            f"anyway, or {instead}"
        )
    if say and seconds > _NOTICED:
        print(f"recallscope: about {format_duration(seconds)}", file=sys.stderr, flush=True)


def check_time_of(
    runs: Iterable[tuple[Problem, int]],
    seeds: float,
    settings: dict[str, Any],
    where: Mapping[str, Any],
    yes: bool,
    instead: str = "take less of it",
) -> None:
    """The same for runs with `seeds` seeds each, as if none of them were in the store."""
    from recallscope.experiment.cell import Settings
    from recallscope.sweeps.dispatch import cost_maker

    cost = cost_maker(Settings(**settings))
    costs = [cost(problem) for problem, _ in runs]
    seconds = seeds * sum(each.seconds for each in costs if each.known)
    workers = 1 if where["executor"] == "serial" else workers_from(where) or available_cores()
    check_time(seconds / workers, yes, instead)


def check_time_of_searches(
    problem: Problem,
    quantity: str,
    searches: int,
    how: Mapping[str, Any],
    settings: dict[str, Any],
    where: Mapping[str, Any],
    yes: bool,
) -> None:
    """The same for searches that use their whole budget; each run counts as long as the first."""
    from recallscope.measure.critical_search import CriticalSearch

    named = {name: how[name] for name in ("target", "accuracy", "low", "high", "budget", "prior")}
    first = CriticalSearch(problem, quantity, **named).ask()
    runs = searches * how["budget"] / len(first)
    check_time_of(first, runs, settings, where, yes, "give a smaller --budget")


@contextmanager
def resumable(store: Any = True) -> Iterator[None]:
    """When stopped, clean up, and print whether the command can be resumed from a store."""
    with clean_up_needed():
        try:
            yield
        except KeyboardInterrupt:
            text = "the same command resumes from here"
            if store is None:
                text = "nothing was kept; with --store FOLDER the same command resumes"
            print(f"\nrecallscope: {text}", file=sys.stderr)
            raise
