"""The changes that CONTRIBUTING.md shows line by line work."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = re.findall(
    r"^### (.*?)$.*?^```diff\n(.*?)^```\n.*?^```console\nrecallscope (.*?)$",
    (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


def test_there_are_five() -> None:
    assert [title for title, *_ in CHANGES] == [
        *("A law", "A task", "A model", "A metric", "A command")
    ]


@pytest.mark.parametrize(("title", "change", "command"), CHANGES, ids=[each[0] for each in CHANGES])
def test_it_applies_and_its_command_runs(tmp_path, title, change, command) -> None:
    copy = tmp_path / "src" / "recallscope"
    shutil.copytree(
        ROOT / "src" / "recallscope", copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    subprocess.run(["git", "apply"], input=change, text=True, cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "recallscope", *shlex.split(command)],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
