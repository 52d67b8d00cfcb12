"""Give every reader hostile input by the million: none may break, hang, run or write anything.

    faults/fuzz --minutes 60 --seed 0 --csv fuzz.csv
    faults/fuzz --readers shards,weights --minutes 1 --seed 1

Shards, folders of stores, weights and planes take most of the time, and more with atheris.

In tests/hostile, fuzz_readers.py has the readers and their sound inputs, fuzz_changes.py the
changes, and fuzz_judge.py what is bad. With atheris installed, inputs are chosen by coverage of the
package: one that reaches a new branch is changed further. Without it, all are changes of the sound
ones. Each reader runs in a child process, which is replaced when an input
ends it. Found inputs are written to the folder `--found`; results of several runs add up.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import mmap
import os
import pkgutil
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[3] / "tests" / "hostile"))

# Of a million: those that are fast have more.
PLANNED = {
    "command lines": 20_000,
    "shards": 10_500,
    "store folders": 10_500,
    "weights": 10_500,
    "checkpoints of trainings": 12_000,
    "configurations of transformers": 12_000,
    "embedding files": 20_000,
    "tables of laws": 25_000,
    "tables of planes": 10_500,
    "sweep files": 40_000,
    "frequency tables": 100_000,
    "saved results": 59_500,
    "saved records": 100_000,
    "configurations": 100_000,
    "problems": 157_500,
}
BAD = ("traceback", "hang", "above 2 GiB", "process ended", "executed", "written outside")
BAD += ("not a sentence", "exit code", "not JSON")
LONGEST, LONGEST_WAIT = 10, 120  # seconds of computing, and of waiting
_LARGEST = 2**22
_MOST_KEPT = 3 * 2**29  # bytes; a process that has read thousands of inputs grows


class Seen:
    """What one child has seen so far; kept in files, as an input may end the process."""

    def __init__(self, folder: Path, found: Path) -> None:
        self.folder, self.found = folder, found
        self.counts, self.where = Counter[str](), Counter[str]()
        self.sentences: set[str] = set()
        self.inputs: set[int] = set()
        with (folder / "current").open("wb") as file:
            file.truncate(_LARGEST)
        with (folder / "current").open("r+b") as file:
            self._current = mmap.mmap(file.fileno(), _LARGEST)

    def begin(self, content: bytes) -> None:
        part = content[: _LARGEST - 8]
        self._current[: 8 + len(part)] = len(part).to_bytes(8, "little") + part
        self.inputs.add(hash(content))
        # Their default actions end the process. A busy machine may wait longer than it works.
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT)

    def end(self, reader: str, content: bytes, ended: Any) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.counts[ended.outcome] += 1
        if ended.outcome == "refused" or not ended.bad:
            self.sentences.add(f"{ended.outcome}: {ended.said}")
        else:
            known = f"{ended.outcome} {ended.where}"
            self.where[known] += 1
            if self.where[known] <= 3:
                keep(self.found, reader, content, f"{known}: {ended.said}")
        if self.counts.total() % 200 == 0:
            self.save()

    def save(self) -> None:
        new = self.folder / "new"
        data = {"counts": self.counts, "sentences": sorted(self.sentences)}
        data |= {"inputs": len(self.inputs), "memory": peak()}
        new.write_text(json.dumps(data))
        new.rename(self.folder / "seen.json")


def keep(found: Path, reader: str, content: bytes, why: str) -> None:
    """Write a found input, and print why."""
    name = f"{reader.replace(' ', '-')}-{abs(hash(content)) % 10**8:08}"
    (found / name).write_bytes(content)
    print(f"{reader}: {why!r:.400} -> {name}", flush=True)


def peak() -> int:
    """The most bytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def child(name: str, count: int, seed: int, seconds: float, folder: Path, found: Path) -> None:
    """Read so many inputs in this process, in a separate folder, and end it."""
    os.setpriority(os.PRIO_PROCESS, 0, 10)
    guided = coverage()
    from fuzz_changes import of_bytes
    from fuzz_judge import Ended, judged, limit_memory, start
    from fuzz_readers import readers

    reader = readers()[name]
    (folder / "here").mkdir(exist_ok=True)
    os.chdir(folder / "here")
    seeds = reader.seeds()
    start(reader)
    for content in seeds:
        ended = judged(reader, content)
        if ended.bad:
            print(f"{name}: a sound input ended so: {ended}", flush=True)
    limit_memory()
    print(f"started {name}", flush=True)
    seen, until = Seen(folder, found), time.monotonic() + seconds

    def one(content: bytes) -> None:
        seen.begin(content)
        ended: Ended = judged(reader, content)
        seen.end(name, content, ended)
        if seen.counts.total() >= count or time.monotonic() > until or peak() > _MOST_KEPT:
            seen.save()
            sys.stdout.flush()
            os._exit(0)

    if guided is None:
        rng = random.Random(f"{seed} {name}")
        while True:
            one(reader.change(rng.choice(seeds), rng))
    corpus = folder.parent / f"corpus-{name.replace(' ', '-')}"
    corpus.mkdir(exist_ok=True)
    for number, content in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(content)

    def changed(content: bytes, most: int, number: int) -> bytes:
        rng = random.Random(number)
        if rng.random() < 0.1:
            return guided.Mutate(content, most)  # type: ignore[no-any-return]
        try:
            return reader.change(content, rng)[:most]
        except Exception:  # an input so broken that it is changed as bytes only
            return of_bytes(content, rng)[:most]

    options = [f"-seed={seed + 1}", "-max_len=1048576", "-len_control=0", "-timeout=0"]
    options += [
        "-rss_limit_mb=0",
        "-mutate_depth=1",
        "-verbosity=0",
        "-handle_segv=0",
        "-handle_abrt=0",
    ]
    guided.Setup([sys.argv[0], *options, str(corpus)], one, custom_mutator=changed)
    guided.Fuzz()


def coverage() -> Any:
    """Atheris, which counts the branches of the package that an input reaches; None without it."""
    try:
        import atheris
    except ImportError:
        return None
    quiet = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # it names every module
    atheris.instrument_imports(include=["recallscope"]).__enter__()
    import recallscope

    for module in pkgutil.walk_packages(recallscope.__path__, "recallscope."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # of what is not installed
                importlib.import_module(module.name)
    os.dup2(quiet, 2)
    return atheris


def fuzzed(name: str, count: int, seed: int, seconds: float, work: Path, found: Path) -> Counter:
    """Read so many inputs in children of this process, for so long at most."""
    total, until, turn = Counter[str](), time.monotonic() + seconds, 0
    sentences: set[str] = set()
    before = computed()
    while total["inputs"] < count and time.monotonic() < until and turn < 40:
        folder = work / f"{name.replace(' ', '-')}-{turn}"
        folder.mkdir()
        given = [name, str(count - total["inputs"]), str(seed * 100 + turn)]
        given += [str(until - time.monotonic()), str(folder), str(found)]
        log = (folder / "log").open("w+")
        process = subprocess.Popen(
            [sys.executable, str(HERE), "--child", *given], stdout=log, stderr=log
        )
        code = process.wait()
        log.seek(0)
        said = log.read()
        for line in said.splitlines():
            if line.startswith(f"{name}: "):
                print(line[:400], flush=True)
        file = folder / "seen.json"
        seen = json.loads(file.read_text()) if file.exists() else {}
        for outcome, number in seen.get("counts", {}).items():
            total[outcome] += number
            total["inputs"] += number
        total["distinct"] += seen.get("inputs", 0)
        total["memory"] = max(total["memory"], seen.get("memory", 0))
        sentences |= set(seen.get("sentences", ()))
        if code != 0 and not (folder / "current").exists():
            raise SystemExit(f"{name} did not start: {said[-2000:]}")
        if code != 0:
            held = (folder / "current").read_bytes()
            content = held[8 : 8 + int.from_bytes(held[:8], "little")]
            outcome = "hang" if -code in (signal.SIGALRM, signal.SIGPROF) else "process ended"
            total[outcome] += 1
            total["inputs"] += 1
            keep(found, name, content, f"{outcome} by {code}: {said[-300:]}")
        turn += 1
    total["outcomes"] = len(sentences)
    total["seconds"] = round(computed() - before)
    return total


def computed() -> float:
    """Seconds that children of this process have computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def row(name: str, total: Counter, seed: int) -> dict[str, Any]:
    """One line of the table."""
    return {
        "reader": name,
        "guided": importlib.util.find_spec("atheris") is not None,
        "inputs": total["inputs"],
        "distinct_inputs": total["distinct"],
        "read": total["read"],
        "refused": total["refused"],
        "cut_as_long": total["long"],
        "distinct_outcomes": total["outcomes"],
        "tracebacks": total["traceback"],
        "hangs": total["hang"],
        "above_2_gib": total["above 2 GiB"],
        "other_bad": sum(
            total[each] for each in BAD if each not in ("traceback", "hang", "above 2 GiB")
        ),
        "most_mebibytes": round(total["memory"] / 2**20),
        "seconds": total["seconds"],
        "seed": seed,
    }


def main() -> None:
    """Try every reader, and say what was seen."""
    if sys.argv[1:2] == ["--child"]:
        name, count, seed, seconds, folder, found = sys.argv[2:]
        child(name, int(count), int(seed), float(seconds), Path(folder), Path(found))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60, help="of the million inputs")
    parser.add_argument("--inputs", type=float, default=1.0, help="the fraction of the million")
    parser.add_argument("--readers", default=",".join(PLANNED))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--found", type=Path, default=Path("found"))
    parser.add_argument("--csv", type=Path, help="write, or append, the counts to a table")
    given = parser.parse_args()
    given.found.mkdir(exist_ok=True)
    rows, until = [], time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory() as work:
        for name in given.readers.split(","):
            count = round(PLANNED[name] * given.inputs)
            left = until - time.monotonic()
            total = fuzzed(name, count, given.seed, left, Path(work), given.found.resolve())
            rows.append(row(name, total, given.seed))
            print(rows[-1], flush=True)
            if given.csv:
                new = not given.csv.exists()
                with given.csv.open("a", newline="") as file:
                    writer = csv.DictWriter(file, list(rows[-1]), lineterminator="\n")
                    if new:
                        writer.writeheader()
                    writer.writerow(rows[-1])
    print(sum(each["inputs"] for each in rows), "inputs")


if __name__ == "__main__":
    main()
