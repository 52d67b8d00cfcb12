"""How often the 90 % intervals of laws hold: leaving one problem out, and beyond the small half.

    end_of_training/intervals          # intervals.csv

Each problem that a law was compared with is predicted with the errors of all others. Then with the
errors of the smaller half alone (by V): how much wider intervals must be for each factor of e
beyond it is the law's `widens`. The score is the width and 20 times what lies outside (for 90 %);
`constant` is the same with one width for all.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recallscope.theory.recorded_error import error_near, recorded
from recallscope.theory.simulations import simulations
from reproduction.studies.kept_runs import Row, write_table

TABLE = Path(__file__).with_suffix(".csv")
RANGES = {"all": (-1, 2), "up to 0.1": (-1, 0.1), "0.1 to 0.9": (0.1, 0.9), "from 0.9": (0.9, 2)}


class Compared(NamedTuple):
    """What errors near a problem are taken from: as the law takes them."""

    law: str
    accuracy: str
    sizes: dict[str, np.ndarray]
    kind: np.ndarray
    vocab: np.ndarray
    predicted: np.ndarray
    measured: np.ndarray


def every() -> list[Compared]:
    """All error columns."""
    known, simulated, predicted = simulations()
    names = ("vocab", "samples", "dim", "length", "width")
    found = [
        Compared(
            "three-step",
            name,
            {each: getattr(known, each) for each in names},
            2 * np.isinf(known.width) + known.marked,
            known.vocab,
            getattr(predicted, name),
            getattr(simulated, name),
        )
        for name in ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy")
    ]
    rows = recorded("trained.csv")
    natural = {
        "trigger_snr": np.maximum(rows["trigger_snr"], 1e-3),
        "away": np.maximum(np.abs(rows["share_of_edge"] - 1), 0.02),
    }
    some = np.isfinite(rows["recall_if_found"])  # an interval is around that of those that find it
    natural = {name: values[some] for name, values in natural.items()}
    for name in ("recall", "attention"):
        both = (rows[f"{of}{name}_if_found"][some] for of in ("predicted_", ""))
        kind = np.where(rows["width"] > 0, "mlp", rows["learner"])[some]
        sizes = kind, rows["vocab"][some]
        found.append(Compared("trained", f"{name}_accuracy", natural, *sizes, *both))
    rows = recorded("memories.csv")
    sizes = {each: rows[each] for each in ("vocab", "facts", "dim", "width")}
    both = rows["predicted"], rows["recall"]
    found.append(
        Compared("converged", "recall_accuracy", sizes, rows["kind"], rows["vocab"], *both)
    )
    rows = recorded("structured.csv")
    sizes = {each: rows[each] for each in ("vocab", "samples", "dim", "length")}
    for name in ("attention", "recall", "first_gradient"):
        pair = [rows[f"{what}_{name}"] for what in ("predicted", "measured")]
        same = np.zeros(len(pair[0]))
        found.append(Compared("tables", f"{name}_accuracy", sizes, same, rows["vocab"], *pair))
    return found


def half_widths(of: Compared, among: np.ndarray) -> np.ndarray:
    """Half of each interval, by the errors of some problems but its own."""
    widths = []
    for place, expected in enumerate(of.predicted):
        alike = among & (of.kind == of.kind[place])
        alike[place] = False
        here = {name: float(values[place]) for name, values in of.sizes.items()}
        error = error_near(here, float(expected), of.sizes, of.predicted, of.measured, alike)
        widths.append(math.nan if error is None else error.most)
    return np.array(widths)


def judged(of: Compared, half: np.ndarray, chosen: np.ndarray) -> dict[str, float]:
    """Coverage, median width and mean score of some intervals."""
    low, high = np.clip(of.predicted - half, 0, 1), np.clip(of.predicted + half, 0, 1)
    below, above = np.maximum(low - of.measured, 0), np.maximum(of.measured - high, 0)
    inside = (below < 1e-9) & (above < 1e-9)
    score = high - low + 20 * (below + above)
    return {
        "covered": round(float(inside[chosen].mean()), 3),
        "width": round(float(np.median((high - low)[chosen])), 3),
        "score": round(float(score[chosen].mean()), 4),
    }


def main() -> None:
    """Every law and accuracy."""
    table: list[Row] = []
    for of in every():
        whole = np.ones(len(of.predicted), dtype=bool)
        half = half_widths(of, whole)
        error = np.abs(of.predicted - of.measured)
        constant = np.full(len(error), np.quantile(error, 0.9))
        middle = float(np.median(of.vocab))
        small, large = of.vocab <= middle, of.vocab > middle
        beyond = half_widths(of, small)
        far = np.log(np.maximum(of.vocab / middle, 1))
        # The smallest factor for each factor of e with which 90 % of the large half are inside.
        steps = np.arange(0, 4.01, 0.05)
        held = [judged(of, beyond * (1 + each * far), large)["covered"] for each in steps]
        widens = next((float(e) for e, share in zip(steps, held, strict=True) if share >= 0.9), 4.0)
        for name, (least, most) in RANGES.items():
            chosen = (of.predicted > least) & (of.predicted <= most)
            if chosen.sum() < 5:
                continue
            row = {
                "law": of.law,
                "accuracy": of.accuracy,
                "predicted": name,
                "n": int(chosen.sum()),
            }
            row |= judged(of, half, chosen)
            row["constant_score"] = judged(of, constant, chosen)["score"]
            row |= {"beyond_without": held[0], "widens": round(widens, 2)}
            table.append(row)
            print(row)
    write_table(table, TABLE)


if __name__ == "__main__":
    main()
