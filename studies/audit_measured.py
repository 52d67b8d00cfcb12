"""The predictions of the audit next to its measurements, for the embeddings of four real models.

    python studies/audit_measured.py     # studies/audit-measured.csv

Packages are those of real_tables.py; each table is audited with `measure=True`.
"""

from __future__ import annotations

from pathlib import Path

import real_tables

from recallscope import audit
from recallscope.common.csv_files import write_csv
from recallscope.theory.table_facts import SHARES


def main() -> None:
    """One row for each table, memory and share recalled."""
    rows = []
    for table in real_tables.TABLES:
        (found,) = audit(real_tables.whole_table(table), measure=True).checkpoints
        for memory, seen in found.measured.items():
            for share in SHARES:
                predicted, measured = seen.predicted[share], seen.measured[share]
                rows.append(
                    {
                        "table": table,
                        "memory": memory,
                        "dim": seen.dim,
                        "share": share,
                        "predicted": round(predicted, 1),
                        "measured": round(measured, 1),
                        "low": round(seen.low[share], 1),
                        "high": round(seen.high[share], 1),
                        "ratio": round(predicted / measured, 3),
                    }
                )
                print(rows[-1], flush=True)
    write_csv(rows, str(Path(__file__).with_name("audit-measured.csv")))


if __name__ == "__main__":
    main()
