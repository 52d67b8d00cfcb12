"""The figure of a plan for a pretrained model: published runs, and the case among them."""

from __future__ import annotations

import numpy as np

from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.theory.pretrained import (
    CONSTANTS,
    NO_LOAD,
    Case,
    Learning,
    expected,
    exposures_to,
    recall_after,
)
from recallscope.theory.published_runs import fitted_runs
from recallscope.theory.question import Ends

_POINTS = 41
_BESIDE = 2.0  # times the parameters of all, to both sides
_MOST = 1e9  # exposures on an axis
_ASKED = 6  # the colour of no source
_ENDS = (("the law", "value"), ("low end", "low"), ("high end", "high"))


def teaching_picture(
    case: Case, learning: Learning, load: Ends, exposures: float | None
) -> Picture:
    """Exposures to one half of published runs over parameters, and recall over exposures."""
    caption = (
        f"Left: exposures until one half of the facts are recalled, of {len(fitted_runs())} "
        "published runs. They had other numbers of facts and batches. Lines: the law for the facts "
        "and the batch asked for, and its 90 % interval for a new source. Right: recall by the law "
        "for the case asked for."
    )
    return Picture(
        caption=caption, panels=[_of_runs(case, learning), _of_recall(learning, load, exposures)]
    )


def _of_runs(case: Case, learning: Learning) -> Panel:
    runs, series = fitted_runs(), []
    for source in dict.fromkeys(run["source"] for run in runs):
        mine = [run for run in runs if run["source"] == source]
        x, y = ([float(run[name]) for run in mine] for name in ("parameters", "half"))
        series.append(Series(short_name(source), Kind.MEASURED, x, y))
    sizes = [case.parameters, *(float(run["parameters"]) for run in runs)]
    along = np.geomspace(min(sizes) / _BESIDE, max(sizes) * _BESIDE, _POINTS).tolist()
    halves = [expected(case._replace(parameters=each), CONSTANTS).half for each in along]
    series += _lines(along, halves)
    series.append(_point([case.parameters], learning.half))
    return Panel(
        title="exposures to one half",
        x="parameters of the model",
        y="exposures of each fact",
        series=series,
        log_x=True,
        log_y=True,
    )


def short_name(source: str) -> str:
    """A source without its address.

    >>> short_name("Maini and others (TOFU), arXiv 2401.06121")
    'TOFU'
    """
    authors = source.partition(",")[0]
    return authors.partition("(")[2].rstrip(")") or authors


def _of_recall(learning: Learning, load: Ends, exposures: float | None) -> Panel:
    nine = exposures_to(0.9, learning, NO_LOAD)
    asked = [] if exposures is None or exposures > _MOST else [exposures]
    least, most = min([learning.half.low / 2, *asked]), max([1.5 * nine.high, *asked])
    along = np.geomspace(least, most, _POINTS).tolist()
    series = _lines(along, [recall_after(each, learning, load) for each in along])
    series += [_point([each], recall_after(each, learning, load)) for each in asked]
    return Panel(title="recall", x="exposures of each fact", y="recall", series=series, log_x=True)


def _lines(along: list[float], found: list[Ends]) -> list[Series]:
    return [
        Series(
            label,
            Kind.THEORY if end == "value" else Kind.REFERENCE,
            along,
            [getattr(each, end) for each in found],
        )
        for label, end in _ENDS
    ]


def _point(where: list[float], ends: Ends) -> Series:
    value, low, high = ([end] for end in ends)
    return Series("asked", Kind.MEASURED, where, value, low, high, _ASKED)
