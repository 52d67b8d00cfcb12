"""Some hostile inputs for every reader, and all that once broke one; the study faults has more.

Each reader runs in another process, in an empty folder, as it limits memory and is watched.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOUND = HERE / "fuzzed"
"""A folder for each reader, with inputs that it once failed to refuse."""

QUICK = ["problems", "sweep files", "tables of laws", "tables of planes", "frequency tables"]
QUICK += ["embedding files", "configurations", "files of rows", "logs", "saved records"]
QUICK += ["command lines"]
SLOW = ["weights", "configurations of transformers", "checkpoints of trainings", "saved results"]

CODE = """
import os, sys, time
from pathlib import Path
import fuzz_judge, fuzz_readers
found, count, *names = sys.argv[1:]
every, here = fuzz_readers.readers(), Path.cwd()
for name in names:
    Path(here, name).mkdir()
    os.chdir(here / name)
    kept = sorted(Path(found, name.replace(" ", "-")).glob("*"))
    tried = fuzz_judge.some(every[name], [each.read_bytes() for each in kept], int(count))
    print(f"{name}: {len(tried)} inputs, {time.process_time():.1f} s so far")
    for content, ended in tried:
        if ended.bad:
            print(f"BAD {name}: {ended} of {content[:200]!r}")
"""


def fuzz(folder: Path, count: int, names: list[str]) -> str:
    line = [sys.executable, "-c", CODE, str(FOUND), str(count), *names]
    path = {"PYTHONPATH": f"{HERE}:{HERE.parents[1] / 'src'}", "PATH": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, env=path)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


def test_hostile_inputs_are_read_or_refused_in_a_sentence(tmp_path):
    said = fuzz(tmp_path, 20, QUICK)
    assert said.count(" inputs, ") == len(QUICK)
    assert "BAD" not in said, said


@pytest.mark.slow
def test_more_hostile_inputs_are_read_or_refused_in_a_sentence(tmp_path):
    said = fuzz(tmp_path, 300, [*QUICK[:-1], *SLOW, QUICK[-1]])
    assert "BAD" not in said, said


def test_what_must_not_happen_is_seen(tmp_path):
    """A reader that raises, runs, writes outside, and says too much."""
    code = """
import os, socket, sys
from pathlib import Path
from fuzz_judge import Reader, some
from recallscope import ProblemError
def read(content):
    if content == b"raise": {}["a"]
    if content == b"run": os.system("true")
    if content == b"write": Path("../outside").write_text("")
    if content == b"here": Path("here").write_text("")
    if content == b"remove": os.remove("../mine")
    if content == b"connect": socket.create_connection(("127.0.0.1", 1))
    if content == b"lines": raise ProblemError("one\\ntwo")
    if content == b"fine": raise ProblemError("one")
Path("mine").write_text("")
os.mkdir("work"); os.chdir("work")
reader = Reader("any", list, lambda content, rng: content, bytes, read)
given = [b"raise", b"run", b"write", b"here", b"remove", b"connect", b"lines", b"fine", b"ok"]
print(*(ended.outcome for _, ended in some(reader, given, 0)), sep="\\n")
"""
    line = [sys.executable, "-c", code]
    path = {"PYTHONPATH": f"{HERE}:{HERE.parents[1] / 'src'}", "PATH": "/bin:/usr/bin"}
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=tmp_path, env=path)
    assert done.stdout.splitlines() == [
        *("traceback", "executed", "written outside", "written outside", "written outside"),
        *("executed", "not a sentence", "refused", "read"),
    ]
