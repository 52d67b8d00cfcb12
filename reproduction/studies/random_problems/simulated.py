"""Put the simulations of all studies of closed forms together, for `predict` to tell errors by.

random_problems/simulated     # writes src/recallscope/theory/simulated.csv
"""

from __future__ import annotations

import csv
from pathlib import Path

from reproduction.recorded_names import with_todays_names
from reproduction.studies.random_problems.design import ACCURACIES, path

STUDIES = ("design", "holdout", "few", "wide")
COLUMNS = [
    *("vocab", "samples", "dim", "length", "width", "activation", "embedding"),
    "trigger_in_values",
    *ACCURACIES,
]
TABLE = Path(__file__).parents[3] / "src" / "recallscope" / "theory" / "simulated.csv"


def rows() -> list[dict[str, str]]:
    """All simulated problems, with what `predict` needs to know of each."""
    found = []
    for study in STUDIES:
        if path(study).exists():
            with path(study).open() as file:
                lines = with_todays_names(csv.DictReader(file))
            found += [{name: line[name] for name in COLUMNS} for line in lines]
    return found


def main() -> None:
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows())


if __name__ == "__main__":
    main()
