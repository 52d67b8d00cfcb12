"""Fit the law of small transformers to two studies, and predict each training from the others.

    planner/planner_law            # writes the table of the law, prints constants
    planner/planner_law beyond     # fitted to small sizes, how far off are larger ones?
    planner/planner_law published  # how far off are published values?

The trainings are those of `small_transformers.py` and of the sets `planned`, `more` and `attention`
of `planner.py`. Each is predicted with itself left out: of the first study all trainings of its
size, of the others that training alone. The set `again` is not fitted to.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

import recallscope
from recallscope.problem.registry import names
from recallscope.theory.choosing import law_named
from recallscope.theory.law import LawKind
from recallscope.theory.laws.small_transformers import CONSTANTS, Constants, classes_of, recall_at
from recallscope.theory.published import spanned
from recallscope.theory.question import Question
from recallscope.theory.recorded_error import SMALL_MODELS
from reproduction.studies.kept_runs import write_table
from reproduction.studies.planner.planner import CONTEXTS, runs_of, sizes_of

HERE = Path(__file__).parent
TABLE = Path(recallscope.__file__).parent / "theory" / SMALL_MODELS
LOGARITHMS = ("load", "steepness", "early", "gated", "full", "lora", "partial", "space")
"""Constants that are positive; the others are exponents."""
PARTIAL = ("partial", "space")
NAMES = ("load", "exposures", "examples", "dim", "layers", "rank", "bits", "context")
GIVEN = ("exposures", "dim", "layers", "rank", "bits", "context")
GIVEN = ("exposures", "dim", "layers", "rank", "bits", "context")
FIRST = 0.4
"""Weight of a training of the first study, whose rate and models differ from those of plans."""


def trainings() -> list[dict[str, Any]]:
    """All trainings, with what the law is about."""
    found = []
    with (HERE / "small-transformers.csv").open() as file:
        for row in csv.DictReader(file):
            size = f"{row['task']} {row['dim']} {row['layers']}"
            more = {"study": "first", "left_out": size, "method": "pretrain", "kind": "gpt"}
            more |= {"rank": 1, "zipf": 0}
            found.append({**more, **row, "context": CONTEXTS.get(row["task"], 1)})
    for name in ("planned", "more", "attention"):
        with runs_of(name).open() as file:
            for run in csv.DictReader(file):
                sizes = sizes_of(name, int(run["model"]))
                left_out = f"{name} {run['model']}"
                found.append(
                    {"study": name, "left_out": left_out, **sizes, "recall": run["recall"]}
                )
    for row in found:
        for each in ("facts", "trained", "zipf", "recall", *GIVEN):
            row[each] = float(row[each])
        row["rank"] = row["rank"] or 1.0
        row["gated"] = row["kind"] == "llama"
        row["partial"] = row["study"] == "attention"
        row["load"] = row["facts"] * row["bits"] / row["trained"]
        row["examples"] = row["facts"] * row["exposures"]
    return found


class Sizes(NamedTuple):
    """What the law needs of some trainings, by class of frequency."""

    whose: np.ndarray
    asked: np.ndarray
    sizes: dict[str, np.ndarray]
    factors: dict[str, np.ndarray]


def prepared(rows: list[dict[str, Any]]) -> Sizes:
    """What the law needs of some trainings."""
    parts = [classes_of(int(row["facts"]), row["zipf"]) for row in rows]
    whose = np.repeat(np.arange(len(rows)), [len(count) for count, _ in parts])
    count, asked = (np.concatenate(each) for each in zip(*parts, strict=True))
    sizes = {name: np.array([row[name] for row in rows])[whose] for name in NAMES}
    sizes["exposures"] *= asked * np.array([row["facts"] for row in rows])[whose] / count
    factors = {name: np.array([row[name] for row in rows])[whose] for name in ("gated", "partial")}
    for name in ("full", "lora"):
        factors[name] = np.array([row["method"] == name for row in rows])[whose]
    return Sizes(whose, asked, sizes, factors)


def predicted(constants: Constants, given: Sizes) -> np.ndarray:
    """Recall of each training, by the law with such constants."""
    slower = np.ones(len(given.whose))
    for name, chosen in given.factors.items():
        slower[chosen] *= getattr(constants, name)
    space = np.where(given.factors["partial"], constants.space, 1.0)
    return np.bincount(given.whose, given.asked * recall_at(constants, given.sizes, slower, space))


def constants_of(values: np.ndarray) -> Constants:
    """Constants from the numbers that are varied."""
    named = Constants(*map(float, values))
    return named._replace(**{each: float(np.exp(getattr(named, each))) for each in LOGARITHMS})


def varied(constants: Constants) -> np.ndarray:
    """The numbers that are varied, from constants."""
    logs = {each: np.log(getattr(constants, each)) for each in LOGARITHMS}
    return np.array(constants._replace(**logs))


def fitted(rows: list[dict[str, Any]]) -> Constants:
    """The constants nearest to some trainings: those of partial LoRAs last, and from them alone."""
    whole = [row for row in rows if not row["partial"]]
    constants = nearest(
        CONSTANTS, whole, tuple(each for each in Constants._fields if each not in PARTIAL)
    )
    return nearest(constants, [row for row in rows if row["partial"]], PARTIAL)


def nearest(start: Constants, rows: list[dict[str, Any]], names: tuple[str, ...]) -> Constants:
    """The constants of these names nearest to some trainings."""
    recall = np.array([row["recall"] for row in rows])
    weight = np.array([FIRST if row["study"] == "first" else 1.0 for row in rows])
    places = [Constants._fields.index(name) for name in names]
    given, values = prepared(rows), varied(start)

    def changed(some: np.ndarray) -> Constants:
        all_of_them = values.copy()
        all_of_them[places] = some
        return constants_of(all_of_them)

    def off(some: np.ndarray) -> np.ndarray:
        return weight * (predicted(changed(some), given) - recall)

    return changed(least_squares(off, values[places], loss="soft_l1", f_scale=0.1, x_scale="jac").x)


def say(name: str, rows: list[dict[str, Any]], expected: np.ndarray) -> None:
    """Print the errors of some trainings."""
    recall = np.array([row["recall"] for row in rows])
    for some, chosen in (("all", recall >= 0), ("0.1 to 0.9", (recall > 0.1) & (recall < 0.9))):
        if chosen.any():
            off = np.abs(expected - recall)[chosen].mean()
            constant = np.abs(recall - np.median(recall))[chosen].mean()
            print(f"{name}, {some}: {chosen.sum()}, law {off:.3f}, constant {constant:.3f}")


def write_law() -> None:
    """Every training with its prediction by the others."""
    rows = trainings()
    print(fitted(rows))
    left_out = np.array([row["left_out"] for row in rows])
    expected = np.zeros(len(rows))
    for each in np.unique(left_out):
        others = [row for row in rows if row["left_out"] != each]
        mine = np.flatnonzero(left_out == each)
        expected[mine] = predicted(fitted(others), prepared([rows[place] for place in mine]))
    for name in ("first", "planned", "more", "attention"):
        mine = [place for place, row in enumerate(rows) if row["study"] == name]
        say(name, [rows[place] for place in mine], expected[mine])
        for method in ("pretrain", "full", "lora"):
            some = [place for place in mine if rows[place]["method"] == method]
            if some:
                say(f"  {method}", [rows[place] for place in some], expected[some])
    flags, kept = (
        ("gated", "partial"),
        ("study", "method", "task", "zipf", "trained", "facts", *NAMES),
    )
    write_table(
        [
            {name: row[name] for name in kept}
            | {name: int(row[name]) for name in flags}
            | {"load": round(row["load"], 4), "examples": round(row["examples"])}
            | {"recall": row["recall"], "expected": round(value, 4)}
            for row, value in zip(rows, expected, strict=True)
        ],
        TABLE,
    )


def beyond() -> None:
    """Errors at larger models of a law that was fitted to smaller ones."""
    rows = trainings()
    for most in (10_000, 20_000, 40_000, 80_000):
        small = [row for row in rows if row["trained"] <= most]
        large = [row for row in rows if row["trained"] > most]
        constants = fitted(small)
        print(f"up to {most:,} parameters: {len(small)}")
        for low, high in ((1, 2), (2, 4), (4, 8), (8, 100)):
            some = [row for row in large if low * most < row["trained"] <= high * most]
            if some:
                say(f"  {low} to {high} times more", some, predicted(constants, prepared(some)))


def published() -> None:
    """Facts stored next to those that published values say, and recall where all are to fit."""
    laws = {name: law_named(name) for name in names("law")}
    ours = {name: each.capacity for name, each in laws.items() if each.kind == LawKind.PUBLISHED}
    ratios, fitting, inside = [], [], []
    for row in trainings():
        if row["study"] == "first":
            continue
        question = Question(
            method=row["method"],
            facts=int(row["facts"]),
            answers=round(2 ** row["bits"]),
            exposures=row["exposures"],
            trained=int(row["trained"]),
            zipf_exponent=row["zipf"],
        )
        found = {name: capacity(question) for name, capacity in ours.items()}
        said = {name: each for name, each in found.items() if not isinstance(each, str)}
        said = dict(sorted(said.items(), key=lambda each: -laws[each[0]].priority))
        recall = spanned(said, question).recall
        inside.append(recall.low <= row["recall"] <= recall.high)
        facts = next(iter(said.values())).facts
        if row["exposures"] >= 30 and row["recall"] < 0.97 and not row["zipf"]:
            ratios.append(row["recall"] * question.facts / facts.value)
        if recall.low == 1:
            fitting.append(row["recall"])
    print("stored over published", len(ratios), np.quantile(ratios, (0.05, 0.5, 0.95)).round(2))
    print("recall if all fit", len(fitting), np.quantile(fitting, (0.05, 0.5)).round(2))
    print("inside", sum(inside), "of", len(inside))


if __name__ == "__main__":
    {"beyond": beyond, "published": published}.get(" ".join(sys.argv[1:]), write_law)()
