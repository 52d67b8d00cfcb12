"""Numbers that stand on several pages: computed from tables of studies, compared with pages.

    python -m reproduction.shared_numbers   # lists sentences that differ; exit code 1 if any do

A place quotes a part of a page with names of numbers in braces. A page whose number has changed, or
whose sentence has, fails: correct the page, or the place here.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from reproduction.recorded_names import with_todays_names

ROOT = Path(__file__).parents[1]
STUDIES = Path(__file__).with_name("studies")

PLACES = (
    ("README.md", "fresh problems recall was off by {recall:.3f} on average, and by {hard:.3f}"),
    ("README.md", "No record was lost in {faults:,} injected faults"),
    (
        "docs/limitations.md",
        "error is {attention:.4f} for attention, {recall:.4f} for recall and {first:.4f}",
    ),
    ("docs/limitations.md", "it is {hard_attention:.4f}, {hard:.4f} and {hard_first:.4f}"),
    ("docs/limitations.md", "in the other 60 it is off by {above:.4f}, where their mean"),
    ("docs/theory.md", "| attention | {attention:.4f} |"),
    ("docs/theory.md", "| recall | {recall:.4f} |"),
    (
        "docs/tutorials/predict-and-check.md",
        "error of recall is {recall:.4f}, and {hard:.3f} where",
    ),
    ("docs/tutorials/predict-and-check.md", "For attention it is {hard_attention:.3f} there"),
    ("docs/sweeps.md", "{faults:,} faults were injected"),
    ("reproduction/studies/faults/README.md", "No record was lost in {faults:,} faults"),
    ("docs/end-of-training.md", "had an error of **{trained:.3f}** in mean recall"),
    (
        "reproduction/studies/end_of_training/README.md",
        "Mean error is {trained:.3f} on 60 preregistered problems",
    ),
    ("docs/stock-transformers.md", "mean error of recall is {small:.3f}"),
    ("reproduction/studies/planner/README.md", "mean error of the fitted law is {small:.3f}"),
    ("docs/end-of-training.md", "the mean error of recall is {unequal:.3f}"),
    (
        "reproduction/studies/frequencies/README.md",
        "Mean error {unequal:.3f} on 20 preregistered problems",
    ),
)


def rows_of(path: str) -> list[dict[str, str]]:
    """The rows of a table of the studies."""
    with (STUDIES / path).open(encoding="utf-8") as file:
        return with_todays_names(csv.DictReader(file))


def off(rows: list[dict[str, str]], predicted: str, measured: str) -> float:
    """The mean absolute error of two columns."""
    return float(np.mean([abs(float(row[predicted]) - float(row[measured])) for row in rows]))


def shared_numbers() -> dict[str, float]:
    """Each number by its name."""
    numbers: dict[str, float] = {}
    measured, predicted = (
        rows_of("random_problems/fresh.csv"),
        rows_of("random_problems/fresh-predictions.csv"),
    )
    for name, column in (
        ("attention", "attention_accuracy"),
        ("recall", "recall_accuracy"),
        ("first", "first_gradient_accuracy"),
    ):
        pairs = [
            {"expected": there[column], "found": here[column]}
            for here, there in zip(measured, predicted, strict=True)
        ]
        hard = [pair for pair in pairs if 0.1 < float(pair["found"]) < 0.9]
        numbers[name] = off(pairs, "expected", "found")
        if name == "recall":
            above = [pair for pair in pairs if float(pair["found"]) > 0.05]
            numbers["above"] = off(above, "expected", "found")
        numbers["hard" if name == "recall" else f"hard_{name}"] = off(hard, "expected", "found")
    faults = rows_of("faults/faults.csv")
    numbers["faults"] = sum(int(row["injected"]) for row in faults if "longest" not in row["fault"])
    runs = rows_of("end_of_training/end-law-again.csv")
    again = rows_of("end_of_training/end-law-again-predictions.csv")
    for row in again:
        recalls = [float(run["recall"]) for run in runs if run["problem"] == row["problem"]]
        row["recall"] = str(np.mean(recalls))
    numbers["trained"] = off(again, "predicted", "recall")
    small = rows_of("../../src/recallscope/theory/small_transformers.csv")
    planned = [training for training in small if training["study"] in ("planned", "more")]
    numbers["small"] = off(planned, "expected", "recall")
    unequal = rows_of("frequencies/frequencies-preregistered-runs.csv")
    numbers["unequal"] = off(unequal, "predicted", "measured")
    return numbers


def wrong_places() -> list[str]:
    """What pages do not say, though it is so."""
    numbers = shared_numbers()
    wrong = []
    for page, text in PLACES:
        sentence = text.format(**numbers)
        if sentence not in " ".join((ROOT / page).read_text(encoding="utf-8").split()):
            wrong.append(f"{page}: expected {sentence!r}")
    return wrong


if __name__ == "__main__":
    wrong = wrong_places()
    print("\n".join(wrong) if wrong else f"{len(PLACES)} places quote shared numbers as they are.")
    sys.exit(1 if wrong else 0)
