"""Interrupt commands at random moments: each must end within two seconds and leave a sound store.

    python studies/interrupts.py [COUNT] [SEED]

The commands are sweeps in this process, in processes and on Ray, searches, and the paper's claims,
each as a user starts it. Each gets Ctrl-C (to all processes of the terminal, as a terminal does) or
SIGTERM (to the command, as a scheduler does) between the start of Python and the middle of the
work. All use the same store, so later interrupts also hit a resumed command.

Every interrupt is a line of studies/interrupts.csv: how long the command took to end, its exit code
(130; a signal's own if it hit before Python had started our code; 0 if all was done before), and
what was wrong.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from recallscope.common.csv_files import write_csv
from recallscope.store.store import Store

RESULTS = Path(__file__).with_suffix(".csv")
LIMIT = 2.0  # seconds
SWEEP = """
seeds = 400
[problem]
vocab = 256
samples = 4096
length = 16
[grid]
dim = [32, 48, 64, 96, 128]
"""
SEARCH = "critical --for samples --vocab 512 --dim 96 --length 16 --budget 4000 --precision 0.001"

# What is started, the folder of its records below its store, and the latest moment to interrupt.
COMMANDS: dict[str, tuple[str, str, float]] = {
    "serial": ("sweep sweep.toml --executor serial --store {store}", "", 6.0),
    "processes": ("sweep sweep.toml --executor processes --store {store}", "", 6.0),
    "ray": ("sweep sweep.toml --executor ray --store {store}", "", 11.0),
    "searches": (SEARCH + " --executor processes --store {store}", "", 6.0),
    "claims": ("paper run all --size short --store {store}", "short/records", 7.0),
}


def marked(mark: str) -> list[int]:
    """The processes that have this mark in their environment, zombies left out."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
        except OSError:
            continue
        if mark.encode() in environment:
            found.append(int(process.name))
    return found


def interrupt(where: str, by: signal.Signals, after: float, folder: Path) -> dict[str, Any]:
    """Start a command, interrupt it, and see how it ends."""
    command, records, _ = COMMANDS[where]
    store = folder / where
    mark = f"INTERRUPTED_{uuid.uuid4().hex}"
    driver = subprocess.Popen(
        [sys.executable, "-m", "recallscope", *command.format(store=store).split()],
        cwd=folder,
        env=os.environ | {mark: "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(after)
    done_before = driver.poll() is not None
    started = time.monotonic()
    if not done_before:
        (os.killpg if by is signal.SIGINT else os.kill)(driver.pid, by)
    wrong = []
    try:
        _, errors = driver.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        driver.kill()
        _, errors = driver.communicate()
        wrong.append("not obeyed")
    seconds = time.monotonic() - started
    while (left := marked(mark)) and time.monotonic() - started < LIMIT + 1:
        time.sleep(0.05)
    if seconds > LIMIT:
        wrong.append("slow")
    if left:
        wrong.append(f"{len(left)} processes left")
    if driver.returncode not in (0, 130, -by):
        wrong.append(f"exit code {driver.returncode}")
    if "Traceback" in errors and driver.returncode != -by:
        wrong.append("traceback: " + errors.strip().splitlines()[-1])
    place = store / records
    if list(place.glob("*.parquet")) and not Store(place).verify().sound:
        wrong.append("store not sound")
    return {
        "where": where,
        "signal": by.name,
        "after": round(after, 2),
        "seconds": round(seconds, 3),
        "code": driver.returncode,
        "wrong": "; ".join(wrong),
    }


def main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it is run by nohup
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sweep.toml").write_text(SWEEP)
        for number in range(count):
            where = list(COMMANDS)[number % len(COMMANDS)]
            by = rng.choice((signal.SIGINT, signal.SIGTERM))
            row = interrupt(where, by, rng.uniform(0.1, COMMANDS[where][2]), folder)
            rows.append({"number": number} | row)
            print(*row.values(), flush=True)
    write_csv(rows, RESULTS)
    for where in COMMANDS:
        own = [row["seconds"] for row in rows if row["where"] == where and row["code"] != 0]
        print(f"{where:10} {len(own)} obeyed, median {statistics.median(own):.2f} s, ", end="")
        print(f"longest {max(own):.2f} s")
    print(f"{sum(bool(row['wrong']) for row in rows)} of {count} went wrong")


if __name__ == "__main__":
    main()
