"""A sweep of a hundred thousand tiny cells: killed half-way, resumed, and the driver's memory.

    speed/many --csv many.csv

The command is killed with SIGKILL when half of the cells have a record, started again, and must
end with one record for every cell. Its memory is looked at every second.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recallscope import Store
from recallscope.common.csv_files import write_csv

SWEEP = """
seeds = 100
test_samples = 16
[problem]
vocab = 16
length = 4
[grid]
dim = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
samples = [{samples}]
"""


def resident(pid: int) -> float:
    """MiB of memory that a process has now; 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return int(status.split("VmRSS:")[1].split()[0]) / 1024 if "VmRSS:" in status else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=100, help="values of N; 1,000 cells each")
    parser.add_argument("--executor", default="processes")
    parser.add_argument("--csv", help="write the driver's memory over time to a table")
    given = parser.parse_args()
    cells, rows = 1000 * given.samples, []
    with tempfile.TemporaryDirectory() as folder:
        file, store = Path(folder) / "sweep.toml", Path(folder) / "facts"
        file.write_text(SWEEP.format(samples=", ".join(str(8 + n) for n in range(given.samples))))
        command = [sys.executable, "-m", "recallscope", "sweep", str(file), "--store", str(store)]
        for start in (1, 2):
            driver = subprocess.Popen([*command, "--executor", given.executor])
            began = time.monotonic()
            while driver.poll() is None:
                time.sleep(1)
                done = len(Store(store).statuses()) if store.exists() else 0
                memory = resident(driver.pid)
                if memory:
                    seconds = round(time.monotonic() - began, 1)
                    rows.append(
                        {"start": start, "seconds": seconds, "records": done, "MiB": memory}
                    )
                if start == 1 and done >= cells / 2:
                    driver.kill()
            driver.wait()
            print(
                f"start {start}: {time.monotonic() - began:.0f} s, exit {driver.returncode}, "
                f"{len(Store(store).statuses())} records",
                flush=True,
            )
        assert Store(store).by_status() == {"ok": cells}
        print(f"{len(Store(store).statuses())} records in {Store(store).files()} files")
    for start in (1, 2):
        own = [row for row in rows if row["start"] == start and row["records"]]
        first, last = own[len(own) // 4]["MiB"], own[-1]["MiB"]
        print(
            f"start {start}: driver {first:.0f} MiB a quarter of the way, {last:.0f} MiB at the "
            f"end, {max(row['MiB'] for row in own):.0f} at most"
        )
    if given.csv:
        write_csv(rows, given.csv)


if __name__ == "__main__":
    main()
