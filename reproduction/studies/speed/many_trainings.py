"""Two thousand small trainings in one sweep, killed and resumed; searches of trained models on Ray.

    speed/many_trainings [sweep critical phase fit] [--csv many_trainings.csv]

The sweep is started by the command line, killed with its workers three times, and then run to its
end; a sample of its records is compared with the same trainings run alone in this process. A
search, a phase diagram and a law of trained models are run on Ray, killed, and resumed.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from deltalake import DeltaTable

from recallscope import Record, Store, run

DIMS = [*range(8, 33)]
SWEEP = f"""
seeds = 16

[problem]
vocab = 64
length = 4
learner = "adam"
steps = 300

[grid]
dim = {DIMS}
samples = [64, 96, 128, 192, 256]
"""
COMMON = ["--vocab", "64", "--samples", "512", "--dim", "16", "--length", "4"]
TRAINED = ["--learner", "adam", "--steps", "200", "--executor", "ray", "--workers", "2"]
COMMANDS = {
    "critical": ["critical", "--for", "dim", "--target", "0.99", "--budget", "24"],
    "phase": ["phase", "--x", "dim=12:24:4", "--y", "samples=64:256:3", "--seeds", "4"],
    "fit": ["fit", "--for", "dim", "--target", "0.9", "--vary", "vocab=32,48,64", "--budget", "12"],
}
SAMPLE = 60


def command(*arguments: str) -> list[str]:
    """The command line of this very package."""
    return [sys.executable, "-m", "recallscope", *arguments]


def records_in(place: Path) -> int:
    """How many there are so far."""
    return sum(1 for _ in Store(place).records()) if place.exists() else 0


def killed(arguments: list[str], seconds: float, folder: Path, store: Path | None = None) -> None:
    """Start a command, and kill it and all that it has started: after a while, or a few records."""
    child = subprocess.Popen(
        command(*arguments),
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + seconds
    while time.monotonic() < end and (store is None or records_in(store) < 4):
        time.sleep(0.1)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def same(record: Record) -> bool:
    """Whether a training that is run here, alone, has the same bits."""
    alone = run(record.problem, record.seed, test_samples=record.test_samples)
    ours, theirs = alone.result(), record.result()
    return ours == {**theirs, "revision": ours["revision"]}


def many(folder: Path) -> dict[str, object]:
    """The sweep: killed three times, then run to its end."""
    (folder / "many.toml").write_text(SWEEP)
    arguments = [
        "sweep",
        "many.toml",
        "--store",
        "many",
        "--executor",
        "processes",
        "--workers",
        "2",
    ]
    source = random.Random(0)
    started = time.monotonic()
    kept = []
    for _ in range(3):
        killed(arguments, source.uniform(10, 25), folder)
        kept.append(records_in(folder / "many"))
    done = subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True)
    seconds = time.monotonic() - started
    store = Store(folder / "many")
    records = list(store.records())
    cells = {(record.problem.key, record.seed) for record in records}
    again = source.sample(records, SAMPLE)
    equal = sum(same(each) for each in again)
    return {
        "what": "sweep",
        "exit": done.returncode,
        "records": len(records),
        "different": len(cells),
        "ok": sum(record.status == "ok" for record in records),
        "kept_at_kills": " ".join(map(str, kept)),
        "sound": DeltaTable(store.place).count() == len(records),
        "compared": SAMPLE,
        "equal": equal,
        "seconds": round(seconds),
        "training_seconds": round(sum(each.provenance.elapsed_seconds for each in records)),
    }


def measured(name: str, folder: Path) -> dict[str, object]:
    """A command on Ray: killed, resumed, and run once more from its store alone."""
    sought = {"critical": ["--dim"], "fit": ["--dim"], "phase": ["--dim", "--samples"]}[name]
    sizes = [
        part
        for size, value in zip(COMMON[::2], COMMON[1::2], strict=True)
        for part in (size, value)
        if size not in sought
    ]
    arguments = [*COMMANDS[name], *sizes, *TRAINED, "--store", name, "--json"]
    started = time.monotonic()
    killed(arguments, 120, folder, folder / name)
    before = records_in(folder / name)
    first = subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True)
    seconds = time.monotonic() - started
    records = list(Store(folder / name).records())
    second = subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True)
    again = random.Random(1).sample(records, min(len(records), 10))
    equal = sum(same(each) for each in again)
    repeated = json.loads(first.stdout) == json.loads(second.stdout)
    print(first.stdout[:300], first.stderr[-300:])
    return {
        "what": name,
        "exit": first.returncode,
        "records": len(records),
        "different": len({(record.problem.key, record.seed) for record in records}),
        "ok": sum(record.status == "ok" for record in records),
        "kept_at_kills": str(before),
        "sound": DeltaTable(folder / name).count() == len(records) and repeated,
        "compared": len(again),
        "equal": equal,
        "seconds": round(seconds),
        "training_seconds": round(sum(each.provenance.elapsed_seconds for each in records)),
    }


def main() -> None:
    """Everything, one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["sweep", *COMMANDS])
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = []
        for what in asked.what:
            rows.append(many(folder) if what == "sweep" else measured(what, folder))
            print(rows[-1], flush=True)
    if asked.csv:
        with asked.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
