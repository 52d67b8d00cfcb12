"""Accuracies of many problems as curves: against the size that varies most, one for each rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.plot.grouping import grouped_by
from recallscope.plot.labels import LETTERS, accuracy_label, axis_label, letter
from recallscope.plot.panels import Kind, Panel, Series

_MOST_CURVES = 7  # as many colours as there are

Row = Mapping[str, Any]


def varied(rows: Sequence[Row]) -> list[str]:
    """The sizes that take more than one value, that with the most values first."""
    values = {name: {row.get(name) for row in rows} - {None} for name in LETTERS}
    names = [name for name in LETTERS if len(values[name]) > 1]
    return sorted(names, key=lambda name: -len(values[name]))


def curves_panel(
    rows: Sequence[Row], accuracy: str, *, theory: Sequence[Row] = (), kind: Kind = Kind.MEASURED
) -> Panel:
    """One accuracy of many problems, with their `low` and `high` if rows have them.

    Args:
        rows: sizes and the accuracy, each by its name; bars are that name with `low_` and `high_`.
        accuracy: which one.
        theory: rows of closed forms, for lines next to what was measured.
        kind: of what the rows say.
    """
    names = varied(rows)
    if not names:
        raise ProblemError("there are no sizes that vary, so there is no curve to draw")
    along, others = names[0], names[1:]
    groups = grouped_by(rows, lambda row: _label(row, others))
    if len(groups) > _MOST_CURVES:
        raise ProblemError(
            f"a figure has at most {_MOST_CURVES} curves, and these rows make {len(groups)}; draw "
            "some of them"
        )
    series = [
        _series(label or kind.value, kind, group, along, accuracy, colour)
        for colour, (label, group) in enumerate(groups.items())
    ]
    for colour, label in enumerate(groups):
        lines = [row for row in theory if _label(row, others) == label]
        if lines:
            theory_label = f"closed forms{label and ', '}{label}"
            series.append(_series(theory_label, Kind.THEORY, lines, along, accuracy, colour))
    return Panel(
        title=f"{accuracy_label(accuracy)} accuracy",
        x=axis_label(along),
        y=f"{accuracy_label(accuracy)} accuracy",
        series=series,
        log_x=True,
    )


def _label(row: Row, names: Sequence[str]) -> str:
    return ", ".join(f"{letter(name)}={row[name]:g}" for name in names if row.get(name))


def _series(
    label: str, kind: Kind, rows: Sequence[Row], along: str, accuracy: str, colour: int
) -> Series:
    known = sorted((row for row in rows if row.get(accuracy) is not None), key=lambda r: r[along])
    bars = {
        end: [row[f"{end}_{accuracy}"] for row in known]
        for end in ("low", "high")
        if all(f"{end}_{accuracy}" in row for row in known)
    }
    x, y = ([row[name] for row in known] for name in (along, accuracy))
    return Series(label, kind, x, y, colour=colour, **bars)
