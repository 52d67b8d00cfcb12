"""Give the audit thousands of hostile checkpoints: none may get through.

    python studies/hostile_checkpoints.py 20000 0 --csv studies/hostile_checkpoints.csv

The first number is how many cases there are, the second the seed. tests/hostile_checkpoint_cases.py
makes the cases. tests/hostile_audits.py tries them, and says what makes a case bad. The tests use
both too.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from recallscope.common.csv_files import write_csv

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from hostile_audits import counted


def main() -> None:
    """Try the cases, and say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--csv", help="write the counts to a table")
    given = parser.parse_args()
    rows = counted(given.count, given.seed)
    for row in rows:
        print(row)
    if given.csv:
        write_csv(rows, given.csv)
    sys.exit(1 if any(row["bad"] for row in rows) else 0)


if __name__ == "__main__":
    main()
