"""A report of made-up claims, with everything that a report can show.

`python tests/helpers/made_up_report.py report.html` writes it for a visual check.
"""

from __future__ import annotations

import math
import sys

from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.statistics.intervals import Interval
from reproduction.report import ReportFacts, write_report
from reproduction.statement import Finding, Statement
from reproduction.verdict import judge

RUDE = 'Tom & "Jerry" <script>alert(1)</script> $x_1$ %{y} </script><!--'

FACTS = ReportFacts(
    size="full",
    date="1 January 2030",
    revision="0123456789abcdef0123456789abcdef01234567",
    runs=123456,
    time="3.4 h of one core in all",
    commands=["python -m reproduction run all --size full", "python -m reproduction report"],
    versions={"Python": "3.11.9", "recallscope": "0.1.0", "torch": "2.13.0"},
    hashes=[f"{'0123456789abcdef' * 4}  products", f"{'fedcba9876543210' * 4}  capacity"],
)


def statements() -> list[tuple[Statement, Finding | None]]:
    """All verdicts, all kinds of series, and text that is hard to set."""
    untestable = "Nobody has the other families."
    made = (
        (_statement("products", "N, d and L enter in products"), _products),
        (_statement("depth", "Longer sequences need more data"), _refuted),
        (_statement("families", "Random embeddings hold as much", untestable), _families),
        (_statement("rude", f"A statement of {RUDE}"), _rude),
        (_statement("later", "What nobody has measured yet"), None),
        (_statement("empty", "What was measured but cannot be drawn"), _empty),
    )
    return [(statement, find and find(statement)) for statement, find in made]


def _statement(name: str, title: str, untestable: str = "") -> Statement:
    return Statement(
        name=name,
        title=title,
        statement=f"{title}: the critical sample size is a product of powers, not a sum of them.",
        source="",
        support="The fitted law has a cross term, and its interval lies above 0.2.",
        contradict="A separable law fits as well, or the cross term lies below 0.2.",
        background=(
            "With orthogonal embeddings every fact has a separate direction, and the sizes would "
            "enter one by one. Below that dimension facts overlap, and what one size lacks another "
            "may make up for. This is what the name of the statement is about."
        ),
        plain="",
        attack="",
        sweeps=(),
        untestable=untestable,
    )


def _products(statement: Statement) -> Finding:
    sizes = [32, 64, 128, 256, 512]
    law = [200 * 512 / size for size in sizes]
    panels = []
    for letter in ("d", "L", "V"):
        panels.append(
            Panel(
                title=f"N* against {letter}",
                x=f"{letter}, one of the sizes",
                y="critical samples, N*",
                log_x=True,
                log_y=True,
                series=[
                    Series(
                        label="measured, 95 % intervals",
                        kind=Kind.MEASURED,
                        x=sizes,
                        y=[value * 1.07 for value in law],
                        low=[value * 0.9 for value in law[:-1]] + [law[-1]],
                        high=[value * 1.3 for value in law[:-1]] + [math.inf],
                    ),
                    Series(label="closed forms, nothing fitted", kind=Kind.THEORY, x=sizes, y=law),
                    Series(
                        label="power law fitted to what was measured",
                        kind=Kind.THEORY,
                        x=sizes,
                        y=[1.1 * value for value in law],
                        low=[1.0 * value for value in law],
                        high=[1.2 * value for value in law],
                        colour=2,
                    ),
                    Series(
                        label="the paper’s own exponent",
                        kind=Kind.REFERENCE,
                        x=sizes,
                        y=[3000 * (32 / size) ** 0.5 for size in sizes],
                    ),
                ],
            )
        )
    return Finding(
        statement=statement,
        reply="",
        judgements=[
            judge("power of d in N*", Interval(-1.02, -1.1, -0.94), above=-1.2, below=-0.8),
            judge("power of L in N*", Interval(1.9, 1.8, 2.0), above=1.5),
            judge("cross term of ln d and ln L", Interval(0.4, 0.3, 0.5), above=0.2),
        ],
        answer=(
            "N* falls as d to the −1.02 and rises as L to the 1.9, e.g. from 64 to 512. A "
            "separable law is refused (p below 10⁻⁶).\n\nThe closed forms agree to 7 %."
        ),
        picture=Picture(
            caption=(
                "The critical sample size along each size, the others held; arrows are bounds. The "
                "lines are closed forms, a fitted law and the exponent that the statement names."
            ),
            panels=panels,
        ),
        rows=[
            {"letter": "d", "size": size, "N*": value, "low": value * 0.9, "high": None}
            for size, value in zip(sizes, law, strict=True)
        ],
    )


def _refuted(statement: Statement) -> Finding:
    steps = range(1, 30)
    return Finding(
        statement=statement,
        reply="",
        judgements=[judge("slope", Interval(-0.5, -0.6, -0.4), above=0)],
        answer="It needs less. Far less.",
        picture=Picture(
            caption="Accuracy against the length of a sequence.",
            panels=[
                Panel(
                    title="Recall",
                    x="L, length",
                    y="recall accuracy",
                    series=[
                        Series(
                            label=f"d = {16 * 2**place}",
                            kind=Kind.MEASURED,
                            x=list(steps),
                            y=[1 / (1 + step / 4 / 2**place) for step in steps],
                            low=[1 / (1 + step / 3.5 / 2**place) for step in steps],
                            high=[1 / (1 + step / 4.5 / 2**place) for step in steps],
                        )
                        for place in range(7)
                    ],
                )
            ],
        ),
        rows=[{"L": step, "accuracy": 1 / (1 + step / 4)} for step in range(1, 300)],
    )


def _families(statement: Statement) -> Finding:
    names = ["sphere", "Gaussian", "Rademacher, by signs", "orthogonal"]
    return Finding(
        statement=statement,
        reply="",
        judgements=[judge("ratio of capacities", Interval(0.98, 0.8, 1.1), above=0.9, below=1.1)],
        answer="They hold 0.98 times as much, but the interval is wide.",
        picture=Picture(
            caption="Capacity by family of embeddings; at one name models stand side by side.",
            panels=[
                Panel(
                    title="Capacity",
                    x="",
                    y="capacity, V*",
                    log_y=True,
                    series=[
                        Series(
                            label="attention alone",
                            kind=Kind.MEASURED,
                            x=names,
                            y=[900, 880, 910, 1500],
                            low=[800, 780, 0, 1300],
                            high=[1000, 980, 1010, math.inf],
                            colour=0,
                        ),
                        Series(
                            label="with an MLP",
                            kind=Kind.MEASURED,
                            x=names,
                            y=[300, 280, 310, math.nan],
                            low=[200, 180, 210, math.nan],
                            high=[400, 380, 410, math.nan],
                            colour=1,
                        ),
                        Series(
                            label="closed forms",
                            kind=Kind.THEORY,
                            x=names,
                            y=[905, 890, 905, 1600],
                            colour=0,
                        ),
                    ],
                ),
                Panel(
                    title="Ratio to the sphere",
                    x="",
                    y="ratio",
                    series=[
                        Series(
                            label="measured",
                            kind=Kind.MEASURED,
                            x=names[1:3],
                            y=[0.98, 1.01],
                            low=[-math.inf, 0.9],
                            high=[1.1, 1.12],
                        ),
                        Series(label="the same", kind=Kind.REFERENCE, x=names[1:3], y=[1, 1]),
                    ],
                ),
            ],
        ),
        rows=[{"family": name, "capacity": 900 + place} for place, name in enumerate(names)],
    )


def _rude(statement: Statement) -> Finding:
    points = {"x": [1.0, 1.2, 1.3], "y": [0.0, 1e-3, 2e6]}
    return Finding(
        statement=statement,
        reply="",
        judgements=[judge(RUDE, Interval(math.nan, -math.inf, math.inf), below=1)],
        answer=RUDE,
        picture=Picture(
            caption=RUDE,
            panels=[
                Panel(
                    title=RUDE,
                    x=RUDE,
                    y=RUDE,
                    log_x=True,
                    log_y=True,
                    series=[Series(label=RUDE, kind=Kind.MEASURED, **points)],
                ),
                Panel(title="Nothing in it", x="x", y="y", log_x=True, log_y=True, series=[]),
                Panel(
                    title="One point",
                    x="x",
                    y="y",
                    series=[Series(label="bound", kind=Kind.THEORY, x=[3], y=[1])],
                ),
            ],
        ),
        rows=[{RUDE: RUDE, "other": 0.5}],
    )


def _empty(statement: Statement) -> Finding:
    return Finding(
        statement=statement,
        reply="",
        judgements=[],
        answer="Too few runs to say.",
        picture=Picture(caption=""),
        rows=[],
    )


if __name__ == "__main__":
    write_report(sys.argv[1], statements(), FACTS)
