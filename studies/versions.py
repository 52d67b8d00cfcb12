"""Test with other versions: of Python, and the lowest ones that the package says it works with.

    pip install uv
    python studies/versions.py [PYTHON ...]

For each Python (3.11, 3.12 and 3.13 unless said; as uv finds or fetches them) a new environment is
made, the package installed into it and a quick part of the tests run; for the lowest Python also
with the lowest versions of direct dependencies that pyproject.toml allows. What came of it is a
table, studies/versions.csv. Where a Python cannot be had, the table says so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from recallscope.common.csv_files import write_csv

RESULTS = Path(__file__).with_suffix(".csv")
ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
LOWEST = "3.11"
PACKAGE = ".[sweep,paper,s3]"
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "jaxtyping", "duckdb", "polars")
TESTS = tuple(f"tests/test_{name}.py" for name in ("theory", "problem", "cli", "store"))
COLUMNS = ("python", "resolution", "passed", "failed", "outcome", "versions")
SHOWN = ("torch", "numpy", "scipy", "matplotlib", "typer", "rich", "cloudpickle", "pyarrow")
SHOWN += ("filelock", "jinja2", "fsspec", "s3fs")


def called(*line: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program at the root of the checkout, with nothing of this environment in its way."""
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


def uv(*line: str | Path) -> subprocess.CompletedProcess[str]:
    """Run uv."""
    return called("uv", *line)


def tried(python: str, resolution: str, folder: Path) -> dict[str, object]:
    """Make an environment, install, test, and say what came of it."""
    row: dict[str, object] = {"python": python, "resolution": resolution, "passed": 0, "failed": 0}
    inside = folder / "bin" / "python"
    made = uv("venv", "--quiet", "--python", python, folder)
    if made.returncode:
        return row | {"outcome": f"no such Python: {_last(made.stderr)}", "versions": ""}
    row["python"] = called(inside, "--version").stdout.split()[-1]
    install = ("pip", "install", "--quiet", "--python", inside)
    for line in (
        (*install, "--resolution", resolution, PACKAGE),
        (*install, *TOOLS),
        (*install, "--no-deps", "./tests/strangers"),
    ):
        done = uv(*line)
        if done.returncode:
            return row | {"outcome": f"not installed: {_last(done.stderr)}", "versions": ""}
    listed = json.loads(uv("pip", "list", "--python", inside, "--format", "json").stdout)
    versions = {each["name"]: each["version"] for each in listed}
    row["versions"] = " ".join(f"{name}={versions[name]}" for name in SHOWN if name in versions)
    # Warnings are errors where versions are ours to choose: old ones may warn of newer ones.
    how = ("-q", "-p", "no:cacheprovider", "-o", "filterwarnings=default")
    tested = called(inside, "-m", "pytest", *how, *TESTS)
    for what in ("passed", "failed"):
        found = re.search(rf"(\d+) {what}", tested.stdout)
        row[what] = int(found.group(1)) if found else 0
    errors = re.search(r"(\d+) errors?\b", tested.stdout)
    row["failed"] = int(str(row["failed"])) + (int(errors.group(1)) if errors else 0)
    if tested.returncode:
        print(tested.stdout[-3000:], tested.stderr[-1000:], flush=True)
    return row | {"outcome": "tested" if row["passed"] else _last(tested.stdout + tested.stderr)}


def _last(text: str) -> str:
    """The last line of what a program said."""
    return (text.strip().splitlines() or ["nothing said"])[-1].strip()[:150]


def main() -> None:
    """Try every Python, and print the table."""
    rows = []
    pythons = sys.argv[1:] or PYTHONS
    asked = [(python, "highest") for python in pythons]
    if LOWEST in pythons:
        asked.insert(0, (LOWEST, "lowest-direct"))
    for python, resolution in asked:
        with tempfile.TemporaryDirectory() as folder:
            row = tried(python, resolution, Path(folder) / "environment")
        rows.append({name: row[name] for name in COLUMNS})
        print(" | ".join(str(value) for value in rows[-1].values()), flush=True)
    write_csv(rows, RESULTS)


if __name__ == "__main__":
    main()
