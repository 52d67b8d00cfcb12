"""Every command and every piece of Python in the README runs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from blocks import code

README = Path(__file__).parents[1] / "README.md"

COMMANDS = [
    line for block in code(README, "sh") for line in block.replace("\\\n", " ").splitlines() if line
]
PYTHON = code(README, "python")


def test_the_readme_has_something_to_run():
    assert len(COMMANDS) >= 4
    assert len(PYTHON) >= 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One for all commands, with what a checkout has: some read what others wrote."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(README.parent / "examples", folder / "examples")
    return folder


def test_the_sweep_shown_is_the_example():
    assert code(README, "toml") == [(README.parent / "examples" / "sweep.toml").read_text()]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands(line, folder):
    name, *arguments = shlex.split(line)
    assert name == "recallscope"
    command = [sys.executable, "-m", "recallscope", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", PYTHON)
def test_python(block):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_shown_is_what_is_printed(place, folder):
    """All but the time it took."""
    shown = code(README, "text")[place].splitlines()
    line = next(line for line in COMMANDS if f" {('run', 'predict', 'critical')[place]} " in line)
    command = [sys.executable, "-m", "recallscope", *shlex.split(line)[1:]]
    printed = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert [line for line in shown if "engine" not in line] == [
        line for line in printed.stdout.splitlines() if "engine" not in line
    ]


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)]+)\)", README.read_text()):
        assert target.startswith("https://arxiv.org/") or (README.parent / target).exists(), target
