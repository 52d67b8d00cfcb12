"""What becomes of a result: a table, a figure, one JSON document, or text for a reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recallscope.cli.tables.output import print_json
from recallscope.common.csv_files import number_or_text
from recallscope.problem import ProblemError, shown

if TYPE_CHECKING:
    from recallscope.results.result import Result

_NARROWEST, _WIDEST = 2.0, 20.0  # inches


class Output(NamedTuple):
    """Where a result goes."""

    table: Path | None
    figure: Path | None
    width: float | None
    caption: bool | None
    as_json: bool

    def show(
        self,
        found: Result,
        plain: Callable[[Any], None],
        also: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Write what was asked for; print one document, `also` with more, or text by `plain`."""
        if self.table is not None:
            from recallscope.common.table_files import write_table

            for_paper = self.table.suffix.lower() == ".tex"
            write_table(found.summary_rows() if for_paper else found.rows(), self.table)
        if self.figure is not None:
            found.save(self.figure, width=self.width, caption=self.caption)
        if self.as_json:
            print_json(found.to_dict() | dict(also()))
        else:
            plain(found)


def output_from(given: dict[str, Any]) -> Output:
    """Where to, checked before the work begins."""
    table, figure, width = given["table"], given["figure"], given["figure_width"]
    if figure is None and (width is not None or given["no_caption"]):
        raise ProblemError("--figure-width and --no-caption are of a figure; give --figure FILE")
    if table is not None:
        from recallscope.common.table_files import check_table

        table = check_table(table)
    if figure is not None:
        from recallscope.plotting.style import check_path

        figure = check_path(figure)
    caption = False if given["no_caption"] else None
    return Output(table, figure, _inches(width), caption, given["as_json"])


def _inches(width: str | None) -> float | None:
    if width is None:
        return None
    inches = number_or_text(width)
    if not isinstance(inches, (int, float)) or not _NARROWEST <= inches <= _WIDEST:
        raise ProblemError(
            f"the width of a figure is {_NARROWEST:g} to {_WIDEST:g} inches, not {shown(inches)}"
        )
    return float(inches)
