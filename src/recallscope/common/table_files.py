"""Tables as files: .csv for spreadsheets, .parquet for data frames, .tex for papers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.common.csv_files import check_output, write_csv
from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing
from recallscope.common.new_files import written_next_to

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = (".csv", ".parquet", ".tex")

_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "×": r"$\times$",
    "−": "$-$",
}


def check_table(path: str | Path) -> Path:
    """The path of a table to be written, or an error before anything is computed."""
    return check_output(path, "table", TABLES)


def write_table(rows: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows as a table of the kind that the ending of the path names."""
    path, listed = check_table(path), [dict(row) for row in rows]
    names = dict.fromkeys(name for row in listed for name in row)
    full = [{name: row.get(name) for name in names} for row in listed]
    if path.suffix.lower() == ".csv":
        write_csv(full, path)
        return
    with written_next_to(path, "table") as part:
        if path.suffix.lower() == ".tex":
            part.write_text(latex_table(full), encoding="utf-8")
        else:
            table = arrow_table(full)
            from pyarrow import parquet

            parquet.write_table(table, part)


def arrow_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table: whole numbers whole, unless others in their column are not."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise ProblemError(missing("pyarrow")) from None
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> list[Any]:
    if any(isinstance(value, float) for value in values):
        return [float(value) if type(value) is int else value for value in values]
    return [str(value) if isinstance(value, str) else value for value in values]


def constant_columns(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Return what is the same in every row of several, and the names of the other columns.

    >>> constant_columns([{"dim": 32, "vocab": 64}, {"dim": 64, "vocab": 64}])
    ({'vocab': 64}, ['dim'])
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    first = rows[0] if len(rows) > 1 else {}
    same = {
        name: first.get(name)
        for name in (names if first else ())
        if all(row.get(name) == first.get(name) for row in rows)
    }
    return same, [name for name in names if name not in same]


def latex_table(rows: Sequence[Mapping[str, Any]]) -> str:
    r"""Rows for a paper, with the rules of booktabs; columns that say nothing are left out.

    A column with the same value in every row is named in a comment above.

    >>> rows = [{"dim": 32, "p_value": 0.5, "V": 64}, {"dim": 64, "p_value": 1, "V": 64}]
    >>> print(latex_table(rows))
    % In all rows: V = 64
    \begin{tabular}{rr}
    \toprule
    dim & p\_value \\
    \midrule
    32 & 0.5 \\
    64 & 1 \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    same, shown = constant_columns(rows)
    text = ", ".join(f"{name} = {value}" for name, value in same.items() if value is not None)
    sides = "".join("l" if any(isinstance(row.get(n), str) for row in rows) else "r" for n in shown)
    lines = [
        *([f"% In all rows: {' '.join(text.split())}"] if text else []),
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        rf"{' & '.join(map(_latex, shown))} \\",
        r"\midrule",
        *(rf"{' & '.join(_latex(row.get(name)) for name in shown)} \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex(value: Any) -> str:
    if value is None or value != value:  # NaN equals nothing
        return "--"
    if isinstance(value, float):
        if math.isinf(value):
            return r"$-\infty$" if value < 0 else r"$\infty$"
        value = f"{value:.4g}"
    return "".join(_LATEX.get(sign, sign) for sign in str(value))
