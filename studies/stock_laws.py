"""Samples at which a small transformer recalls one half, over d and L, and what moves them.

    python studies/stock_laws.py run 0 2     # every second point, from the first: two at once
    python studies/stock_laws.py run 1 2
    python studies/stock_laws.py report      # writes stock_laws.csv and docs/stock-laws.png

One size varies at a time around V = 64, d = 32, L = 8. Each point is a search with at most ten
trainings. In the model with one layer each feature is switched off at two points. The line of three
steps and that of the trained law are of the paper's model at the same sizes.
"""

from __future__ import annotations

import csv
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

from recallscope import Problem, critical

HERE = Path(__file__).parent
TABLE = HERE / "stock_laws.csv"
STORES = Path(tempfile.gettempdir()) / "recallscope-stock-laws"
DIMS, LENGTHS, BASE = (8, 16, 32, 64), (4, 8, 16, 32), {"dim": 32, "length": 8}
OFF: dict[str, dict[str, Any]] = {
    "positions": {"positions": False},
    "layer norm": {"layer_norm": False},
    "residual": {"residual": False},
    "MLP": {"mlp_ratio": 0.0},
    "learned embeddings": {"freeze_embeddings": True},
}
OFF["all of them"] = {name: value for each in OFF.values() for name, value in each.items()}


def problem(layers: int, sizes: dict[str, int], off: str = "") -> Problem:
    """A training of a small transformer, whose number of samples is sought."""
    return Problem(
        **{"vocab": 64, "samples": 64, **BASE, **sizes},
        model="gpt",
        layers=layers,
        learner="adamw",
        learning_rate=0.003,
        batch=128,
        steps=300,
        **OFF.get(off, {}),
    )


def points() -> list[tuple[int, dict[str, int], str]]:
    """Layers, sizes that are not those in the middle, and the feature that is off."""
    sizes: list[dict[str, int]] = [{"dim": dim} for dim in DIMS]
    sizes += [{"length": length} for length in LENGTHS if length != BASE["length"]]
    found = [(layers, each, "") for layers in (1, 2) for each in sizes]
    return found + [
        (1, {"length": length}, off) for length in (BASE["length"], LENGTHS[-1]) for off in OFF
    ]


def run(first: int, step: int) -> None:
    """Search at some of the points; what is in the store is not run again."""
    for number in range(first, len(points()), step):
        asked = problem(*points()[number])
        found = critical(
            asked,
            "samples",
            0.5,
            low=8,
            high=8192,
            budget=10,
            prior=100,
            precision=0.2,
            test_samples=1024,
            store=STORES / f"point-{number}",
            executor="serial",
            progress=False,
        )
        print(number, points()[number], found, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(int(sys.argv[2]), int(sys.argv[3]))
