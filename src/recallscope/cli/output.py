"""Output of a result: a table, a figure, one JSON document, or text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recallscope.cli.terminal import console, printable_lines
from recallscope.common.checks import shown
from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError
from recallscope.common.formatting import printable
from recallscope.common.plain import finite
from recallscope.problem.naming import PART_DEFAULTS
from recallscope.problem.problem import Problem

if TYPE_CHECKING:
    from recallscope.experiment.record import Record
    from recallscope.plot.result import Result

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
        result: Result,
        plain: Callable[[Any], None],
        also: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Write the files asked for; print one document, extended by `also`, or text by `plain`."""
        if self.table is not None:
            from recallscope.common.table_files import write_table

            for_paper = self.table.suffix.lower() == ".tex"
            write_table(result.summary_rows() if for_paper else result.rows(), self.table)
        if self.figure is not None:
            result.save(self.figure, width=self.width, caption=self.caption)
        if self.as_json:
            print_json(result.to_dict() | dict(also()))
        else:
            plain(result)


def output_from(options: Mapping[str, Any]) -> Output:
    """Where the output goes, checked before the work begins."""
    table, figure, width = options["table"], options["figure"], options["figure_width"]
    if figure is None and (width is not None or options["no_caption"]):
        raise ProblemError("--figure-width and --no-caption are of a figure; give --figure FILE")
    if table is not None:
        from recallscope.common.table_files import check_table

        table = check_table(table)
    if figure is not None:
        from recallscope.plot.style import check_path

        figure = check_path(figure)
    caption = False if options["no_caption"] else None
    return Output(table, figure, _inches(width), caption, options["as_json"])


def _inches(width: str | None) -> float | None:
    if width is None:
        return None
    inches = number_or_text(width)
    if not isinstance(inches, (int, float)) or not _NARROWEST <= inches <= _WIDEST:
        raise ProblemError(
            f"the width of a figure is {_NARROWEST:g} to {_WIDEST:g} inches, not {shown(inches)}"
        )
    return float(inches)


def print_json(document: dict[str, Any] | list[dict[str, Any]]) -> None:
    """Print JSON, with null for infinity and NaN."""
    try:
        print(json.dumps(document, indent=2, allow_nan=False))
    except ValueError:  # rare, so the document is searched only then
        print(json.dumps(finite(document), indent=2, allow_nan=False))


def print_either(
    as_json: bool, document: Any, print_it: Callable[..., None], *content: Any
) -> None:
    """One JSON document for programs, or what people read."""
    if as_json:
        print_json(document)
    else:
        print_it(*content)


def say(*sentences: object) -> None:
    """Print the sentences that are not empty, so `lost and f"{lost} are lost."` works."""
    for sentence in sentences:
        if sentence:
            print(sentence)


def capital(sentence: str) -> str:
    """The sentence with its first letter as a capital."""
    return sentence[:1].upper() + sentence[1:]


def print_problem(problem: Problem, sought: str | None = None) -> None:
    """Print the fields of a problem, without the size that is sought."""
    fields = ", ".join(
        f"{name}={value}"
        for name, value in problem.to_dict().items()
        if value is not None and name not in (sought, *usual_parts([problem]))
    )
    print(fields)


def usual_parts(problems: Sequence[Problem]) -> list[str]:
    """Task, model, learner and metrics, where all problems have the usual one."""
    return [
        name
        for name, usual in PART_DEFAULTS.items()
        if name != "embedding" and all(getattr(problem, name) == usual for problem in problems)
    ]


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[object] | None], right: slice = slice(1, None)
) -> None:
    """Print a table, with numbers aligned right; None is a dash, and a row of None is a line."""
    from rich.table import Table  # here, since it would slow --help

    table = Table(*map(printable_lines, head), show_header=any(head))
    table.columns[0].overflow = "fold"
    for column in table.columns[right]:
        column.justify = "right"
    for row in rows:
        if row is None:
            table.add_section()
        else:
            cells = ("–" if cell is None else str(cell) for cell in row)
            table.add_row(*map(printable_lines, cells))
    console().print(table)


def number(value: float | None, digits: str) -> str | None:
    """A number as text for a cell of a table; None stays None."""
    return None if value is None else f"{value:{digits}}"


def print_reasons(records: Iterable[Record]) -> None:
    """Print on stderr why runs are not ok."""
    for record in records:
        if record.reason:
            print(f"recallscope: seed {record.seed}: {printable(record.reason)}", file=sys.stderr)


def print_extrapolated(problems: Iterable[Problem], called: str = "") -> None:
    """Print where closed forms are used outside of their tested range, if anywhere."""
    from recallscope.theory.choosing import say_extrapolated

    if sentence := say_extrapolated(problems, called):
        print(f"{sentence}. The law was not compared with experiments there.")
