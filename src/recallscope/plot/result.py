"""The base of results: a dictionary, a table, a figure and a few words, all from one.

Every result has its table as plain `rows`, and a figure that a notebook shows next to it. Polars,
pandas and DuckDB read the table through the Arrow PyCapsule interface.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_number
from recallscope.common.plain import Plain
from recallscope.common.table_files import arrow_table, constant_columns, latex_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_ROWS = 20  # in a notebook
_MOST_COLUMNS = 16
_ONE_COLUMN = 3.5  # inches: a paper has its captions


class Drawing(NamedTuple):
    """The data of a result's figure, and the module of `plotting` that draws it.

    The module is looked up when it is needed: what computes numbers loads no drawing code.
    """

    kind: str
    data: Any

    def figure(self, **how: Any) -> Figure:
        """A new figure."""
        figure: Figure = self._plot("{}_figure", self.data, **how)
        return figure

    def draw(self, axes: Sequence[Axes]) -> None:
        """The same on axes that there are."""
        self._plot("draw_{}", axes, self.data)

    def caption(self) -> str:
        """Return the caption: what is seen, in a paragraph."""
        return str(self._plot("{}_caption", self.data))

    def _plot(self, name: str, *drawn: Any, **how: Any) -> Any:
        return getattr(_plotting(self.kind), name.format(self.kind))(*drawn, **how)


def _plotting(name: str) -> ModuleType:
    return import_module(f"recallscope.plot.{name}")


class Result(Plain):
    """The base of all results: subclasses say what their rows, their drawing and their words are.

    >>> from recallscope import Problem, solve
    >>> solve(Problem(vocab=512, samples=1, dim=96, length=16), "samples", target=0.5)
    samples = 1415 reaches recall accuracy 0.5, from 1266 to 1582 by the recorded error
    """

    def summary_rows(self) -> list[dict[str, Any]]:
        """Return the rows for a paper: the table, unless its rows are not the result itself."""
        return self.rows()

    def to_latex(self) -> str:
        """The result as a table for a paper, with the rules of booktabs."""
        return latex_table(self.summary_rows())

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas; polars and DuckDB take a result as it is."""
        # By name: pandas is needed only by those who ask for it.
        return import_module("pandas").DataFrame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """The table, as plain rows that all have the same columns."""
        raise NotImplementedError

    def _drawing(self) -> Drawing:
        raise NotImplementedError

    def _words(self) -> str:
        raise NotImplementedError

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Figure:
        """Draw a figure, or draw on given axes: as many as the figure has panels."""
        drawing = self._drawing()
        if ax is None:
            return drawing.figure()
        axes: list[Any] = [ax] if hasattr(ax, "plot") else [*getattr(ax, "flat", ax)]
        drawing.draw(axes)
        figure: Figure = axes[0].figure
        return figure

    def save(
        self, path: str | Path, *, width: float | None = None, caption: bool | None = None
    ) -> None:
        """Write the figure as .pdf, .png or .svg.

        Args:
            path: where to.
            width: of the whole figure in inches; 3.25 is a column of many journals, 6.75 two.
            caption: in the figure; else it goes to a text file next to it, as figure.caption.txt
                next to figure.pdf. If not said, it is in figures wider than one column.
        """
        if caption is None:
            caption = width is None or width > _ONE_COLUMN
        style, drawing = _plotting("style"), self._drawing()
        target = style.check_path(path)
        style.save(drawing.figure(width=width, caption=caption), target)
        if not caption:
            style.write_caption(drawing.caption(), target)

    def __repr__(self) -> str:
        return self._words()

    def _repr_html_(self) -> str:
        words = f"<p>{escape(self._words())}</p>"
        return f"{words}{self._image()}{html_table(self.rows())}"

    def _image(self) -> str:
        try:
            drawing = self._drawing()
            figure = drawing.figure()
        except ProblemError as error:  # there may be nothing to draw
            return f"<p>{escape(str(error))}</p>"
        image = base64.b64encode(_plotting("style").draw(figure, "png")).decode()
        described = escape(drawing.caption(), quote=True)
        width = round(96 * figure.get_figwidth())
        return f'<img src="data:image/png;base64,{image}" alt="{described}" width="{width}">'

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return arrow_table(self.rows()).__arrow_c_stream__(requested_schema)


def html_table(rows: Sequence[dict[str, Any]]) -> str:
    """The first rows, for a notebook; columns with one value in every row are named once."""
    if not rows:
        return ""
    same, shown = constant_columns(rows)
    shown = shown[:_MOST_COLUMNS]
    head = "".join(f"<th>{escape(name)}</th>" for name in shown)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(row.get(name)))}</td>" for name in shown) + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    text = ", ".join(f"{name} {_cell(value)}" for name, value in same.items() if value is not None)
    notes = [f"In all rows: {text}." if text else ""]
    if len(rows) > _MOST_ROWS:
        notes.append(f"The first {_MOST_ROWS} of {len(rows)} rows.")
    note = f"<p>{escape(' '.join(filter(None, notes)))}</p>" if any(notes) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def _cell(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return format_number(value, 4)
    return "" if value is None else str(value)
