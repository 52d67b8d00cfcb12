"""Ask `recallscope audit` about hostile checkpoints, and judge how each case ends.

Each case is a file or a folder (`hostile_checkpoint_cases.py`). Cases run in children of this
process. A case is bad if its exit code is not 0 or 2, or if it shows a traceback. It is bad
too if it prints more than a sentence, or executes code from the file. The limits are ten seconds
of CPU time, two minutes of waiting and a gibibyte. Matrices of a valid file are audited.
The number of facts that fit takes seconds, and is computed for the first of them only.

studies/hostile_checkpoints.py tries thousands of cases; a test tries some of them.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import typer.main

import recallscope.api.audit as api
import recallscope.audits.page
import recallscope.cli.main
from hostile_checkpoint_cases import Case, hostile_case, sound_gguf
from recallscope.audits.facts import TREATMENTS, TableFacts
from recallscope.cli.main import main

LONGEST, LONGEST_WAIT, MOST_MEMORY = 20.0, 120.0, 2**30  # CPU seconds, seconds, bytes
MOST_LINES, MOST_LETTERS = 3, 1200
AT_ONCE = 500  # cases of one child
IN_FULL = 1  # of the first child: how many facts fit is worked out
WAS_RUN = Path("/tmp/recallscope-was-run")
BAD = ("traceback", "exit code", "not a sentence", "hang", "above 1 GiB", "was run")


class Ended(NamedTuple):
    """How a case ended."""

    kind: str
    outcome: str
    seconds: float
    memory: int
    said: str


def memory(which: str) -> int:
    """Memory of this process (VmRSS), or its peak since the last reset (VmHWM)."""
    found = re.search(rf"{which}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found.group(1)) * 1024 if found else 0


def tried(case: Case, folder: Path) -> Ended:
    """One case, in this process."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = case.write(folder)
    out, err = folder.with_name("out"), folder.with_name("err")
    Path("/proc/self/clear_refs").write_text("5")
    before, used = memory("VmRSS"), time.process_time()
    outcome, code = "", -1
    with out.open("wb") as one, err.open("wb") as other:
        os.dup2(one.fileno(), 1)
        os.dup2(other.fileno(), 2)
        sys.argv = ["recallscope", "audit", str(path), "--json"]
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else -1
        except BaseException:
            traceback.print_exc()
            outcome = "traceback"
        sys.stdout.flush()
        sys.stderr.flush()
    seconds, held = time.process_time() - used, memory("VmHWM") - before
    said = err.read_text(errors="replace")[:10_000]
    if not outcome:
        outcome = judged(code, said, seconds, held)
    return Ended(case.kind, outcome, seconds, held, said)


def judged(code: int, said: str, seconds: float, held: int) -> str:
    """What is bad about how a case ended, or its exit code."""
    if WAS_RUN.exists():
        return "was run"
    if "Traceback" in said or "Exception ignored" in said:
        return "traceback"
    if code not in (0, 2):
        return "exit code"
    if len(said.splitlines()) > MOST_LINES or len(said) > MOST_LETTERS or "\x1b" in said:
        return "not a sentence"
    if "RuntimeWarning" in said or ("encountered in" in said and "recallscope:" in said):
        return "not a sentence"
    if code == 2 and (not said.startswith("recallscope: ") or "not enough memory" in said):
        return "not a sentence"
    if seconds > LONGEST:
        return "hang"
    return "above 1 GiB" if held > MOST_MEMORY else f"exit {code}"


def work(numbers: range, seed: int, place: Path, answers: Connection) -> None:
    """A child process: it runs one case after another and sends each result."""
    os.setsid()
    warnings.simplefilter("default")  # what a user would see, as a separate sentence
    facts_of, left = api.facts_of, IN_FULL * (numbers.start == 0)

    def some_in_full(*given: object) -> TableFacts:
        nonlocal left
        left -= 1
        if left >= 0:
            return facts_of(*given)  # type: ignore[arg-type]
        none = {0.5: 1.0, 0.9: 1.0, 0.99: 1.0}
        every = dict.fromkeys(TREATMENTS, none)
        return TableFacts(
            one_step=none, trained=none, treated=every, looked_at=1, bottleneck="mean"
        )

    api.facts_of = some_in_full  # type: ignore[assignment]
    for number in numbers:
        answers.send(tried(hostile_case(number, seed), place / "here"))
    answers.close()
    os._exit(0)


def in_children(count: int, seed: int, place: Path) -> Iterator[Ended]:
    """Every case in a child process; a child that did not answer is replaced."""
    context = multiprocessing.get_context("fork")
    done = 0
    while done < count:
        receiver, sender = context.Pipe(duplex=False)
        numbers = range(done, min(done + AT_ONCE, count))
        child = context.Process(target=work, args=(numbers, seed, place, sender))
        child.start()
        sender.close()
        for number in numbers:
            ended = None
            if receiver.poll(LONGEST_WAIT):
                try:
                    ended = receiver.recv()
                except EOFError:
                    ended = Ended("", "exit code", 0.0, 0, "the process was ended")
            done += 1
            if ended is None:
                yield Ended(hostile_case(number, seed).kind, "hang", LONGEST_WAIT, 0, "no answer")
                break
            yield ended
            if ended.said == "the process was ended":
                break
        try:
            os.killpg(child.pid or 0, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            child.kill()
        child.join()
        receiver.close()


def counted(count: int, seed: int) -> list[dict[str, object]]:
    """Try the cases of a seed: one row for each kind; bad cases are printed at once."""
    WAS_RUN.unlink(missing_ok=True)
    # Made once, and not at every line: it is the larger part of a line's time.
    recallscope.cli.main.app = typer.main.get_command(recallscope.cli.main.app)  # type: ignore
    sound_gguf()  # made once, and by every child had from this process
    counts: dict[str, Counter[str]] = {}
    slowest, most = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        for number, ended in enumerate(in_children(count, seed, Path(place))):
            counts.setdefault(ended.kind, Counter())[ended.outcome] += 1
            slowest[ended.kind] = max(slowest[ended.kind], ended.seconds)  # type: ignore[assignment]
            most[ended.kind] = max(most[ended.kind], ended.memory)
            if ended.outcome in BAD:
                said = ended.said.strip()[-400:]
                print(f"{number}: {ended.kind}: {ended.outcome}: {said}", flush=True)
    return [
        {
            "kind": kind,
            "cases": found.total(),
            "audited": found["exit 0"],
            "refused": found["exit 2"],
            "bad": sum(found[each] for each in BAD),
            "slowest_seconds": round(slowest[kind], 2),
            "most_mebibytes": round(most[kind] / 2**20, 1),
        }
        for kind, found in sorted(counts.items())
    ]
