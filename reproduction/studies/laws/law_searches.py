"""Searches of critical sample sizes for the laws, and what their results say of exponents.

laws/laws.py runs these searches, and records and draws them; tests repeat a part of them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recallscope import Problem, Record, Status, solve
from recallscope.common.csv_files import read_csv
from recallscope.measure.critical_search import CriticalSearch
from recallscope.statistics import power_law as fitted
from recallscope.statistics.power_law import Collapse, Exponent, collapse, fit_law, read_points
from reproduction.recorded_names import with_todays_names
from reproduction.studies.searches.planted_searches import MADE_UP, TESTS

KEY = ("law", "scale", "vocab", "dim", "length")
"""Columns that name a search."""


RESULTS = Path(__file__).with_name("laws.csv")
RUNS = Path(__file__).with_name("laws-runs.csv")


def read_table(path: Path) -> list[dict[str, Any]]:
    """The critical sizes or the runs, with the names that laws have today."""
    return with_todays_names(read_csv(path))


class Law(NamedTuple):
    """What is measured, about which base problems, how far to each side, and how precisely."""

    accuracy: str
    bases: tuple[dict[str, Any], ...]
    axes: dict[str, float]  # the factor to either side of the base
    far: dict[str, float]  # the exponents that the closed forms tend to, far into the regime
    precision: float
    budget: int


LAWS = {
    "first gradient": Law(
        "first_gradient_accuracy",
        (
            {"vocab": 256, "dim": 100, "length": 16},
            {"vocab": 1024, "dim": 256, "length": 32},
            {"vocab": 4096, "dim": 640, "length": 64},
        ),
        {"vocab": 1.6, "dim": 1.6, "length": 2.0},
        {"vocab": 2.0, "dim": -2.0, "length": 1.0},
        0.04,
        40,
    ),
    "attention": Law(
        "attention_accuracy",
        (
            {"vocab": 256, "dim": 32, "length": 64},
            {"vocab": 512, "dim": 48, "length": 128},
            {"vocab": 1024, "dim": 64, "length": 256},
        ),
        {"vocab": 2.0, "dim": 2.0, "length": 2.0},
        {"vocab": 0.5, "dim": -1.5, "length": 2.0},
        0.15,
        120,
    ),
    "trigger in values": Law(
        "recall_accuracy",
        tuple(
            {"vocab": vocab, "dim": dim, "length": 4, "trigger_in_values": True}
            for vocab, dim in ((512, 256), (1024, 406), (2048, 645))
        ),
        {"vocab": 1.6, "dim": 1.6},
        {"vocab": 2.0, "dim": -1.0},
        0.04,
        48,
    ),
    "first gradient, longer": Law(
        "first_gradient_accuracy",
        (
            {"vocab": 256, "dim": 100, "length": 32},
            {"vocab": 1024, "dim": 256, "length": 64},
            {"vocab": 2048, "dim": 403, "length": 90},
        ),
        {"length": 2.0},
        {"length": 1.0},
        0.04,
        40,
    ),
}
FACTORIAL = {
    # Every dimension with every length: does N* depend on both?
    "random": ("sphere", (96, 128, 160, 192, 256), (64, 96, 128, 192, 256)),
    "orthogonal": ("orthogonal", (513, 600, 700, 850, 1024), (64, 96, 128, 192, 256)),
}


def problems() -> list[tuple[str, int, str, Problem, float, int]]:
    """Law, scale, accuracy, problem, precision and budget of every search, small ones first."""
    listed = []
    for name, (embedding, dims, lengths) in FACTORIAL.items():
        for dim in dims:
            for length in lengths:
                sizes = {"vocab": 512, "dim": dim, "length": length, "embedding": embedding}
                listed.append((name, 0, "recall_accuracy", Problem(samples=1, **sizes), 0.1, 64))
    # Searches keep their seeds when others are added at the end.
    *first, last = LAWS
    for names in (first, [last]):
        for scale in range(3):
            for name in names:
                law = LAWS[name]
                base = law.bases[scale]
                along = [base] + [
                    base | {axis: round(base[axis] * factor**step)}
                    for axis, factor in law.axes.items()
                    for step in (-1.0, -0.5, 0.5, 1.0)
                ]
                for sizes in along:
                    problem = Problem(samples=1, **sizes)
                    listed.append((name, scale, law.accuracy, problem, law.precision, law.budget))
    return listed


def search_of(number: int) -> CriticalSearch:
    """One search of the list, with no run yet."""
    _, _, accuracy, problem, precision, budget = problems()[number]
    return CriticalSearch(
        problem,
        accuracy=accuracy,
        low=max(problem.vocab // 16, 4),
        high=256 * problem.vocab,
        precision=precision,
        budget=budget,
        prior=None,
        first_seed=1000 * number,  # no two searches share a seed: errors are independent
    )


def read_search(number: int, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """What the runs of a search say, as a row of the table of critical sizes."""
    law, scale, accuracy, problem, *_ = problems()[number]
    search = search_of(number)
    search.tell(
        Record(
            problem=problem.replace(samples=each["samples"]),
            seed=each["seed"],
            status=Status.OK,
            provenance=MADE_UP,
            test_samples=TESTS,
            **{accuracy: each["rate"]},
        )
        for each in runs
    )
    found = search.result()
    row = {"law": law, "scale": scale, **sizes_of(problem), "status": str(found.status)}
    row |= {name: getattr(found, name) for name in ("value", "low", "high")}
    return row | {
        "log_mean": found.log_mean,
        "log_sd": found.log_sd,
        "evaluations": found.evaluations,
    }


def sizes_of(problem: Problem) -> dict[str, int]:
    """Three sizes of a problem, by name."""
    return {name: getattr(problem, name) for name in ("vocab", "dim", "length")}


class Along(NamedTuple):
    """One axis of one law at one scale: five critical sizes and what closed forms give there."""

    law: str
    scale: int
    axis: str
    rows: list[dict[str, Any]]
    theory: list[int]

    @property
    def measured(self) -> Exponent:
        return fit_law(read_points(self.rows, [self.axis])).exponents[self.axis]

    @property
    def predicted(self) -> float:
        """The exponent of the closed forms, fitted with the weights of the measured points."""
        rows = [
            {"status": "ok", "log_mean": math.log(theory)}
            | {name: row[name] for name in (self.axis, "log_sd")}
            for row, theory in zip(self.rows, self.theory, strict=True)
        ]
        return fit_law(read_points(rows, [self.axis])).exponents[self.axis].value


def closed_form(row: dict[str, Any], accuracy: str, **options: Any) -> int:
    """The critical sample size of the closed forms, at the sizes of a row."""
    sizes = {name: row[name] for name in ("vocab", "dim", "length")}
    found = solve(Problem(samples=1, **sizes, **options), "samples", 0.5, accuracy).value
    assert found is not None
    return found


def along_axes(rows: list[dict[str, Any]]) -> list[Along]:
    """Every axis of every law at every scale that is there in full."""
    found = []
    for name, law in LAWS.items():
        for scale, base in enumerate(law.bases):
            at = [row for row in rows if (row["law"], row["scale"]) == (name, scale)]
            for axis in law.axes:
                others = [each for each in ("vocab", "dim", "length") if each != axis]
                mine = [row for row in at if all(row[each] == base[each] for each in others)]
                mine = sorted(mine, key=lambda row: row[axis])
                if len(mine) < 5:
                    continue
                options = {"trigger_in_values": base.get("trigger_in_values", False)}
                theory = [closed_form(row, law.accuracy, **options) for row in mine]
                found.append(Along(name, scale, axis, mine, theory))
    return found


def factorial(rows: list[dict[str, Any]], name: str) -> fitted.Law:
    """The law in d and L of one family of embeddings."""
    return fit_law(read_points([row for row in rows if row["law"] == name], ["dim", "length"]))


def collapsed(
    rows: list[dict[str, Any]], runs: list[dict[str, Any]], name: str, scale: int
) -> tuple[fitted.Law, Collapse]:
    """The law of all axes together, and how nearly its runs lie on one curve."""
    at = [row for row in rows if (row["law"], row["scale"]) == (name, scale)]
    law = fit_law(read_points(at, list(LAWS[name].axes)))
    place = {tuple(row[name] for name in KEY): number for number, row in enumerate(at)}
    numbered = [(place.get(tuple(run[name] for name in KEY)), run) for run in runs]
    mine = [(number, run) for number, run in numbered if number is not None]
    return law, collapse(
        np.log([run["samples"] for _, run in mine]),
        np.array([run["rate"] for _, run in mine]),
        np.array([number for number, _ in mine]),
        {number: law.predict(row) for number, row in enumerate(at)},
        {number: row["log_mean"] for number, row in enumerate(at)},
    )
