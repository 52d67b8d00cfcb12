"""Published runs that taught facts to pretrained models: how often they saw them, what they kept.

The table is made by the study published_runs, from the files of its sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from recallscope.theory.question import Ends
from recallscope.theory.recorded_error import recorded

PUBLISHED_RUNS = "published_runs.csv"
_ALIKE = 3.0  # times as many parameters or facts, or as few, count as the same size


@cache
def published_runs() -> tuple[dict[str, Any], ...]:
    """The rows of the table.

    >>> len(published_runs())
    64
    """
    table = recorded(PUBLISHED_RUNS)
    columns = [column.tolist() for column in table.values()]
    return tuple(dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True))


class Kept(NamedTuple):
    """What published runs kept of a measure.

    Attributes:
        measure: HellaSwag, MMLU or perplexity of other text.
        low, high: the range over runs, as a part of what was there before.
        runs: how many there are.
        source: of the runs.
    """

    measure: str
    low: float
    high: float
    runs: int
    source: str


def kept_near(method: str, parameters: float, facts: float) -> list[Kept]:
    """What was kept by the method, at a third to three times the parameters and facts.

    >>> [kept.measure for kept in kept_near("full", 1.35e8, 500)]
    ['HellaSwag']
    >>> kept_near("full", 7e10, 500)
    []
    """
    near: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in published_runs():
        alike = all(
            1 / _ALIKE <= run[name] / size <= _ALIKE
            for name, size in (("parameters", parameters), ("facts", facts))
        )
        if run["method"] == method and run["kept_of"] and alike:
            near.setdefault((run["kept_of"], run["source"]), []).append(run)
    return [
        Kept(
            measure=measure,
            low=min(float(run["kept_low"]) for run in runs),
            high=max(float(run["kept_high"]) for run in runs),
            runs=len(runs),
            source=source,
        )
        for (measure, source), runs in near.items()
    ]


def range_of(name: str) -> Ends:
    """The least and the greatest of a size among runs that are fitted to, after their middle."""
    sizes = sorted(float(run[name]) for run in fitted_runs())
    return Ends(sizes[len(sizes) // 2], sizes[0], sizes[-1])


def fitted_runs() -> Sequence[dict[str, Any]]:
    """Runs that the law is fitted to.

    >>> len(fitted_runs())
    58
    """
    return [run for run in published_runs() if not run["fitted"].startswith("no")]
