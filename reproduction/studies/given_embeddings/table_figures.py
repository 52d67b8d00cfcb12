"""The figure of docs/tables.md, from the tables of its studies.

given_embeddings/table_figures
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from recallscope.plot.panels import Kind, Panel, Picture, Series
from reproduction.studies.end_of_training.end_figures import draw, table, with_bars

HERE = Path(__file__).parent
DIAGONAL = Series(label="equal", kind=Kind.REFERENCE, x=[0, 1], y=[0, 1])


def panel(title: str, rows: list[dict[str, str]], measured: list[dict[str, str]]) -> Panel:
    """Recall as it was measured over what theory says of the table, and over what d alone says."""
    found = list(zip(rows, measured, strict=True))

    def series(label: str, name: str, colour: int) -> Series:
        points = [
            (
                float(row[name]),
                float(run["recall"]),
                float(run["recall"]) - 2 * float(run["recall_error"]),
                float(run["recall"]) + 2 * float(run["recall_error"]),
            )
            for row, run in found
            if row[name]
        ]
        return replace(with_bars(label, points), colour=colour)

    return Panel(
        title=title,
        x="predicted recall",
        y="recall in simulation",
        series=[
            DIAGONAL,
            series("by dimension alone", "nominal_recall", 1),
            series("by the table", "recall" if "recall" in rows[0] else "predicted_recall", 0),
        ],
    )


def main() -> None:
    structured, runs = [], []
    for study in ("open", "preregistered"):
        predicted = table(HERE / f"structured-{study}.csv")
        for run in table(HERE / f"structured-{study}-runs.csv"):
            structured.append(predicted[int(run["number"])])
            runs.append(run)
    real = table(HERE / "real-tables.csv")
    theory = [{name: value for name, value in row.items() if name != "recall"} for row in real]
    draw(
        "tables.png",
        Picture(
            caption="",
            panels=[
                panel("random tables with structure", structured, runs),
                panel("tables of real models", theory, real),
            ],
        ),
    )


if __name__ == "__main__":
    main()
