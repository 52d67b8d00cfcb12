"""Give the command line tens of thousands of hostile lines and files: none may do harm.

    python studies/hostile_input.py 1 0 --csv studies/hostile_input.csv

The first number is the fraction of the 35,000 cases to try, the second the seed. Lines are made of
the real commands and options with values that nobody should give. Sweep files, tables, problems in
JSON, arrays and old readings are changed from sound ones, or they are too large, too deep or not
what they say (`hostile_input_cases.py`). Each case has a separate folder and runs in a child of
this process. Every hundredth line runs once more as a process, sometimes with a full output.

A case is bad if its exit code is not 0, 1, 2 or 130, if it shows a traceback or says more than a
few lines on stderr. It is bad if --json writes something else, if it takes ten seconds of CPU time
(or a minute of waiting) or two gibibytes, or if it changes a file outside of its folder. A case
with honest long work is ended where its first long run begins, and counted apart.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer.main
from hostile_input_cases import COUNTS, SOUND, Case, Hostile

import recallscope.api.paper
import recallscope.cli.main
import recallscope.experiment.run as experiment
import recallscope.sweeps.jobs
import recallscope.sweeps.sharded
import recallscope.validation.check
from recallscope import Problem, ProblemError
from recallscope.cli.main import main
from recallscope.common.csv_files import write_csv
from recallscope.learning.cost import predict_cost

LONGEST, LONGEST_WAIT, MOST_MEMORY = 10.0, 60.0, 2 * 2**30
MOST_LINES, MOST_LETTERS = 7, 2500
AT_ONCE = 200  # cases of one child
BAD = ("traceback", "exit code", "not a sentence", "not JSON", "hang", "above 2 GiB", "touched")


class Ended(NamedTuple):
    """How a case ended."""

    outcome: str
    seconds: float
    memory: int
    stderr: str


class HonestButLongError(BaseException):
    """Past all checks, where work begins that nobody should wait for here."""


def make_sound(folder: Path) -> None:
    """What hostile cases are made from, and what lies in the folder of each."""
    folder.mkdir()
    os.chdir(folder)
    Path("sweep.toml").write_text(
        "seeds = 2\ntest_samples = 64\n[problem]\nvocab = 32\nlength = 4\n"
        "[grid]\ndim = [8, 16]\nsamples = { from = 32, to = 64, count = 2 }\n"
    )
    called("sweep", "sweep.toml", "--store", "facts")
    called(*_line(("phase",)), "--table", "plane.csv")
    called(*_line(("fit",)), "--table", "law.csv")
    rng = np.random.default_rng(0)
    arrays = {"tokens": (32, 8), "outputs": (32, 8), "trigger": (8,), "end": (8,)}
    np.savez("own.npz", **{name: rng.standard_normal(shape) for name, shape in arrays.items()})  # type: ignore[arg-type]
    Path("paper/smoke").mkdir(parents=True)
    fields = Problem(vocab=32, samples=64, dim=8, length=4).to_dict()
    read = {
        "problem": fields,
        "seed": 0,
        "measure": "locking",
        "values": {"a": 1.0},
        "seconds": 1.0,
    }
    Path("paper/smoke/readings.jsonl").write_text(json.dumps(read) + "\n")
    for name in ("folder", "folder.csv"):
        Path(name).mkdir()
    for name in ("zero", "zero.csv", "zero.npz"):
        Path(name).symlink_to("/dev/zero")
    Path("loop").symlink_to("loop")


def _line(command: tuple[str, ...]) -> list[str]:
    return [*command, *(text for pair in SOUND[command].items() for text in pair)]


def called(*line: str) -> int:
    """Run a line in this process, and say how it ended."""
    sys.argv = ["recallscope", *line]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else -1
    return -1


def guard() -> None:
    """End a case where work begins that is honest and long."""
    spent = Counter[str]()

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(problem: Problem, *given: Any, **more: Any) -> Any:
            how = {name: more[name] for name in ("engine", "dtype", "test_samples") if name in more}
            try:
                experiment.check_memory(problem, **how)
                spent["runs"] += 1
                if spent["runs"] > 16 or predict_cost(problem, **how).seconds > 0.1:
                    raise HonestButLongError
            except ProblemError:
                pass  # refused at once by the call itself
            return call(problem, *given, **more)

        return run

    def too_long(*given: Any, **more: Any) -> Any:
        raise HonestButLongError

    run = guarded(experiment.run)
    for module in (experiment, recallscope.sweeps.sharded):
        module.run = run  # type: ignore[attr-defined]
    jobs = recallscope.sweeps.jobs
    jobs.run_together = guarded(jobs.run_together)
    check = recallscope.validation.check
    measure = check.measure

    def small_only(problem: Problem, seed: int) -> Any:
        if problem.samples * max(problem.vocab, problem.length, problem.width or 0) > 10**5:
            raise HonestButLongError
        return measure(problem, seed)

    check.measure = small_only  # type: ignore[assignment]
    recallscope.api.paper.bundled_evidence = too_long  # type: ignore[attr-defined]
    started = recallscope.sweeps.jobs.running

    def serial_only(executor: Any, *given: Any, **more: Any) -> Any:
        if executor in ("processes", "ray"):
            recallscope.executors.registry.check_executor(executor, *given)
            raise HonestButLongError
        return started(executor, *given, **more)

    recallscope.sweeps.jobs.running = serial_only  # type: ignore[attr-defined]
    globals()["reset"] = spent.clear


def reset() -> None:
    """Forget what the last case has run; the guard puts its own in this place."""


def memory_peak() -> int:
    """The most that this process has held since the last reset, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found.group(1)) * 1024 if found else 0


def tried(case: Case, folder: Path) -> Ended:
    """One case, in this process, from within its folder."""
    out, err = folder.with_name("out"), folder.with_name("err")
    Path("/proc/self/clear_refs").write_text("5")
    reset()
    used = time.process_time()
    outcome = "ok"
    with out.open("wb") as one, err.open("wb") as other:
        os.dup2(one.fileno(), 1)
        os.dup2(other.fileno(), 2)
        try:
            code = _problem(case.content) if case.kind == "problems" else called(*case.line)
            if code not in (0, 1, 2, 130):
                outcome = "exit code"
        except HonestButLongError:
            outcome, code = "long", 2
        except BaseException:
            traceback.print_exc()
            outcome = "traceback"
        sys.stdout.flush()
        sys.stderr.flush()
    seconds = time.process_time() - used
    with err.open("rb") as file:
        stderr = file.read(10**6).decode(errors="replace")
    return Ended(
        _judged(outcome, stderr, case, code if outcome == "ok" else 0, out),
        seconds,
        memory_peak(),
        stderr,
    )


def _problem(content: bytes) -> int:
    try:
        Problem.from_json(content.decode(errors="surrogateescape"))
    except ProblemError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _judged(outcome: str, stderr: str, case: Case, code: int, out: Path) -> str:
    if outcome == "long":
        return outcome
    if outcome == "ok" and ("Traceback" in stderr or "Exception ignored" in stderr):
        return "traceback"
    lines = [line for line in stderr.splitlines() if not line.startswith("timing ")]
    if outcome == "ok" and (
        len(lines) > MOST_LINES
        or len(stderr) > MOST_LETTERS
        or "\x1b" in stderr
        or (code == 2 and not stderr)
    ):
        return "not a sentence"
    if outcome == "ok" and "--json" in case.line and code in (0, 1) and out.stat().st_size < 10**7:
        text = out.read_text(errors="replace")
        try:
            if text.startswith(("{", "[")):
                found = json.loads(text, parse_constant=lambda name: 1 / 0)
                if _has_no_number(found):
                    return "no number"
        except (ValueError, ZeroDivisionError):
            return "not JSON"
    return outcome if outcome != "ok" else f"exit {code}"


def _has_no_number(document: Any) -> bool:
    """Whether a prediction has null where a number should be: the closed form gave none."""
    found = document.get("prediction") if isinstance(document, dict) else None
    return isinstance(found, dict) and "null" in json.dumps([found, document.get("noise")])


def prepare(sound: Path, place: Path, case: Case) -> Path:
    """A folder for a case, next to a precious one."""
    folder = place / "here"
    if folder.exists():
        os.chdir(place)
        shutil.rmtree(folder)
    shutil.copytree(sound, folder, symlinks=True)
    for name in ("pipe", "pipe.csv"):
        os.mkfifo(folder / name)
    if case.file:
        (folder / case.file).write_bytes(case.content)
    os.chdir(folder)
    return folder


def work(cases: list[Case], sound: Path, place: Path, answers: Connection) -> None:
    """A child: one case after another, each answered for."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    mapped = re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())
    most = int(mapped.group(1)) * 1024 + 2 * MOST_MEMORY if mapped else -1
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    guard()
    for case in cases:
        answers.send(tried(case, prepare(sound, place, case)))
    answers.close()
    os._exit(0)


def in_children(cases: list[Case], sound: Path, place: Path) -> Iterator[Ended]:
    """Every case in a child of this process, and a new child where one was ended."""
    context = multiprocessing.get_context("fork")
    gc.freeze()  # else a child copies memory that it only reads
    left = list(cases)
    while left:
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=work, args=(left[:AT_ONCE], sound, place, sender))
        child.start()
        sender.close()
        done = 0
        while done < min(AT_ONCE, len(left)):
            ended = None
            if receiver.poll(LONGEST_WAIT):
                try:
                    ended = receiver.recv()
                except EOFError:
                    ended = Ended("exit code", 0.0, 0, "the process was ended from outside")
            else:
                ended = Ended("hang", LONGEST_WAIT, 0, "no answer")
            done += 1
            yield ended
            if ended.stderr in ("no answer", "the process was ended from outside"):
                break
        try:
            os.killpg(child.pid or 0, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            child.kill()
        child.join()
        receiver.close()
        left = left[done:]


def as_process(case: Case, sound: Path, place: Path, full: bool) -> Ended:
    """The same line as a user gives it, with a full output if asked for."""
    folder = prepare(sound, place, case)
    line = [sys.executable, "-m", "recallscope", *case.line]
    encoded = [os.fsencode(text) for text in line]
    out = folder.with_name("out")
    with Path("/dev/full" if full else out).open("wb") as sink:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(
                encoded,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.PIPE,
                timeout=LONGEST_WAIT,
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ended("hang", LONGEST_WAIT, 0, "no answer")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    stderr = done.stderr.decode(errors="replace")
    outcome = "ok" if done.returncode in (0, 1, 2, 130) else "exit code"
    code = done.returncode if outcome == "ok" else 0
    return Ended(_judged(outcome, stderr, case, code, out), seconds, 0, stderr)


def snapshot(folder: Path) -> dict[str, object]:
    """What is in a folder."""
    return {
        path.name: (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes())
        for path in folder.iterdir()
    }


def main_study() -> None:
    """Try the cases of a seed, and say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("share", type=float)
    parser.add_argument("seed", type=int)
    parser.add_argument("--csv", help="write the counts to a table")
    parser.add_argument("--only", help="one kind of case", choices=COUNTS)
    given = parser.parse_args()
    given.csv = given.csv and Path(given.csv).absolute()
    revised = experiment._revision()
    if given.only:
        COUNTS.update({kind: 0 for kind in COUNTS if kind != given.only})
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"  # where credentials are waited for
    # Made once, here, and not at every line: it is the larger part of a line's time.
    recallscope.cli.main.app = typer.main.get_command(recallscope.cli.main.app)  # type: ignore
    counts: dict[str, Counter[str]] = {}
    slowest: dict[str, float] = {}
    peaks: dict[str, int] = {}

    def seen(kind: str, case: Case, ended: Ended) -> None:
        outcome = ended.outcome
        if outcome not in BAD and ended.seconds > LONGEST:
            outcome = "hang"
        if outcome not in BAD and ended.memory > MOST_MEMORY:
            outcome = "above 2 GiB"
        counts.setdefault(kind, Counter())[outcome] += 1
        slowest[kind] = max(slowest.get(kind, 0.0), ended.seconds)
        peaks[kind] = max(peaks.get(kind, 0), ended.memory)
        if outcome in (*BAD, "no number"):
            line = " ".join(ascii(text)[:80] for text in case.line)
            print(f"{outcome} ({ended.seconds:.1f} s): {line} {case.content[:60]!r}")
            print("   ", ended.stderr.strip()[-300:].replace("\n", "\n    "), flush=True)

    started = time.monotonic()
    with tempfile.TemporaryDirectory() as work_folder:
        place = Path(work_folder)
        make_sound(place / "sound")
        outside = place / "outside"
        outside.mkdir()
        (outside / "precious").write_text("precious")
        before = snapshot(outside)
        cases = list(Hostile(place / "sound", random.Random(given.seed)).cases(given.share))
        again = []
        for number, (case, ended) in enumerate(
            zip(cases, in_children(cases, place / "sound", place), strict=True)
        ):
            if snapshot(outside) != before:
                ended = ended._replace(outcome="touched")
                before = snapshot(outside)
            seen(case.kind, case, ended)
            if number % 100 == 0 and case.kind == "lines" and ended.outcome != "long":
                again.append(case)
            if (number + 1) % 1000 == 0:
                print(f"{number + 1} cases, {time.monotonic() - started:.0f} s", flush=True)
        print(f"{len(again)} lines once more, as processes", flush=True)
        for number, case in enumerate(again):
            if not {"processes", "ray"} & {*case.line}:
                ended = as_process(case, place / "sound", place, full=number % 4 == 0)
                seen("lines as processes", case, ended)
        os.chdir("/")
    rows = [{"what": "seed", "value": given.seed}, {"what": "revision", "value": revised}]
    for kind, count in counts.items():
        rows.append({"what": f"{kind}: cases", "value": count.total()})
        rows += [{"what": f"{kind}: bad, {name}", "value": count[name]} for name in BAD]
        rows += [
            {"what": f"{kind}: {name}", "value": count[name]}
            for name in sorted(count)
            if name not in BAD
        ]
        rows.append({"what": f"{kind}: slowest, s", "value": round(slowest[kind], 2)})
        if peaks[kind]:
            rows.append({"what": f"{kind}: peak, GiB", "value": round(peaks[kind] / 2**30, 2)})
    for row in rows:
        print(f"{row['what']:40} {row['value']}")
    if given.csv:
        write_csv(rows, given.csv)


if __name__ == "__main__":
    main_study()
