"""Test with other versions of dependencies: the lowest that pyproject.toml declares, or the newest.

    python tools/versions.py --lowest     # exit code 1 if anything fails
    python tools/versions.py --newest --write
    python tools/versions.py --newest --python python3.13 --torch none

Pip installs the direct dependencies of all extras into a new environment, and a quick part of the
tests is run there. The version of torch is that of `.ci/constraints.txt`, as other builds are
large: `--torch lane` takes the lowest or the newest, and `--torch none` tests what needs no torch.
`--write` puts the result into `tools/versions.csv`, in place of an older one of the same Python.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from recallscope.common.csv_files import read_csv, write_csv

RESULTS = Path(__file__).with_suffix(".csv")
ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
TESTS = (
    *("tests/problem/test_problem.py", "tests/theory/test_theory.py", "tests/cli/test_cli.py"),
    *("tests/sweeps/test_store.py", "tests/sweeps/test_sweep.py", "tests/measure/test_spec.py"),
    "tests/plot/test_results.py",
)
WITHOUT_TORCH = tuple(f"src/recallscope/{name}" for name in ("problem", "theory", "statistics"))
COLUMNS = ("python", "lane", "torch", "passed", "failed", "minutes", "outcome", "versions")

Row = dict[str, object]


def requirements(lane: str, torch: str) -> list[str]:
    """What pip installs: every direct dependency of all extras, once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = set(project["dependencies"]).union(*project["optional-dependencies"].values())
    wanted = {}
    for line in sorted(declared):
        if found := re.match(r"([\w.-]+)>=([\w.]+)", line):  # not recallscope[sweep]
            name, lowest = found.groups()
            wanted[name] = f"{name}=={lowest}" if lane == "lowest" else line
    if torch != "lane":
        del wanted["torch"]
    if torch == "pinned":
        wanted["torch"] = re.findall(r"(?m)^torch==.*$", CONSTRAINTS.read_text())[0]
    return list(wanted.values())


def called(*line: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program at the root of the checkout, without the environment of this one."""
    foreign = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in foreign}
    return subprocess.run(
        [str(word) for word in line],
        cwd=ROOT,
        env=environment | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def tried(python: str, lane: str, torch: str, folder: Path) -> Row:
    """Make an environment, install, test, and return the row of the table."""
    row: Row = dict.fromkeys(COLUMNS, "") | {"python": python, "lane": lane, "torch": torch}
    try:
        made = called(python, "-m", "venv", folder)
    except OSError:
        return row | {"outcome": "no such Python"}
    if made.returncode:
        return row | {"outcome": f"no environment: {_last(made)}"}
    inside = folder / "bin" / "python"
    row["python"] = called(inside, "--version").stdout.split()[-1]
    pip = (inside, "-m", "pip", "--disable-pip-version-check")
    for what in (requirements(lane, torch), ("--no-deps", "-e", ".", "./tests/plugin")):
        installed = called(*pip, "install", "--quiet", "--no-compile", *what)
        if installed.returncode:
            print(installed.stderr[-3000:], flush=True)
            return row | {"outcome": f"not installed: {_last(installed)}"}
    begun = time.monotonic()
    tested = called(inside, "-m", "pytest", *_how(lane, torch))
    print(tested.stdout[-3000:], tested.stderr[-1000:], flush=True)
    row["minutes"] = round((time.monotonic() - begun) / 60, 1)
    row["passed"] = _count("passed", tested.stdout)
    row["failed"] = _count("failed", tested.stdout) + _count("errors?", tested.stdout)
    row["versions"] = _versions(pip)
    fine = tested.returncode == 0
    return row | {"outcome": "passed" if fine else f"failed: {_last(tested)}"}


def _how(lane: str, torch: str) -> list[str]:
    """Arguments of pytest. Old versions may warn of newer ones; new ones should not warn."""
    how = ["-q", "-p", "no:cacheprovider", "-m", "not slow and not alone"]
    if lane == "lowest":
        how += ["-o", "filterwarnings=default"]
    if torch == "none":
        return [*how, "--noconftest", *WITHOUT_TORCH]
    return [*how, "-n", "2", *TESTS]


def _versions(pip: tuple[str | Path, ...]) -> str:
    """The installed versions of direct dependencies, by name."""
    listed = json.loads(called(*pip, "list", "--format", "json").stdout)
    direct = {re.split("[=<>]", line)[0] for line in requirements("newest", "lane")}
    names = {each["name"].lower().replace("_", "-"): each["version"] for each in listed}
    return " ".join(f"{name}={names[name]}" for name in sorted(direct) if name in names)


def _count(what: str, said: str) -> int:
    """How many tests passed or failed, as pytest counts them."""
    found = re.search(rf"(\d+) {what}\b", _last_line(said))
    return int(found.group(1)) if found else 0


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """The last line that a program printed, of its errors if there are any."""
    return _last_line(done.stderr) or _last_line(done.stdout)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1].strip()[:150]


def main() -> int:
    """Test, print the row, and write it where that is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    lanes = parser.add_mutually_exclusive_group(required=True)
    for lane in ("lowest", "newest"):
        lanes.add_argument(f"--{lane}", dest="lane", action="store_const", const=lane)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch", choices=("pinned", "lane", "none"), default="pinned")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        row = tried(asked.python, asked.lane, asked.torch, Path(folder) / "environment")
    print(" | ".join(str(row[name]) for name in COLUMNS))
    if asked.write:
        rows = [each for each in read_csv(RESULTS) if _of(each) != _of(row)]
        ordered = sorted([*rows, row], key=_of)
        write_csv([{name: each[name] for name in COLUMNS} for each in ordered], RESULTS)
    return 0 if row["outcome"] == "passed" else 1


def _of(row: Row) -> tuple[str, ...]:
    """What a row is of: a later one replaces it."""
    return tuple(str(row[name]) for name in ("python", "lane", "torch"))


if __name__ == "__main__":
    sys.exit(main())
