"""A command and its function take the same arguments."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import recallscope
from recallscope.cli import commands, options
from recallscope.cli.commands import load_command
from recallscope.cli.parsing import PROBLEM as PROBLEM_OPTIONS
from recallscope.plot.result import Result

ROOT = Path(__file__).parents[2]

# A problem is one object in Python, and many options in a shell.
PROBLEM = {*PROBLEM_OPTIONS}
# Output of a result, which Python returns, and confirmations of a command.
SHELL_ONLY = {*options.OUTPUT, "yes", "help"}
# Functions, which a shell cannot pass.
PYTHON_ONLY = {"run", "name", "version", "progress", "callback", "watch"}
# The same under the name that is usual there.
OTHER_NAMES = {"no_theory": "prior"}

# Additional arguments of single commands, and what replaces them on the other side.
SHELL_TOO = {
    "fit": {"source"},  # scaling_from_rows
    "phase": {"source", "theory_only"},  # from_rows, phase_of_store; phase_map
    "plan": {"page"},
    "teach": {"prompt", "answer", "test_prompt", "count", "chat"},  # Facts has these
    "sweep": {"dry_run", "file", "schema"},  # the file is `cells`
}
PYTHON_TOO = {
    "predict": {"sizes"},  # arrays of them
    # For cells that are given one by one; a sweep file has these options itself.
    "sweep": {
        *("cells", "engine", "dtype", "test_samples", "device", "time_limit", "memory_limit"),
    },
    "teach": {"tokenizer"},  # of a model that is an object
    "ablate": {"embeddings"},  # own arrays are not ablated
}
COMMANDS = [
    *("run", "train", "predict", "solve", "bound", "check", "critical", "fit", "phase", "ablate"),
    *("sweep", "explore", "plan", "teach"),
]


def shell(name: str) -> set[str]:
    command = load_command(name)
    names = {OTHER_NAMES.get(each.name, each.name) for each in command.params}
    return names - SHELL_ONLY - SHELL_TOO.get(name, set())


def python(name: str) -> set[str]:
    shown = inspect.signature(getattr(recallscope, name)).parameters
    return {*shown} - PYTHON_ONLY - PYTHON_TOO.get(name, set())


def test_there_are_no_other_commands():
    assert {*commands.COMMANDS} - {"records", "parts"} == {*COMMANDS}


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_the_list_has_the_description_of_each_command(name):
    first = load_command(name).help.split("\n\n")[0]
    assert commands.COMMANDS[name] == " ".join(first.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_its_function_take_the_same(name):
    typed, called = shell(name), python(name)
    if "problem" in called:
        assert {"vocab", "samples", "dim", "length"} <= typed
        typed, called = typed - PROBLEM, called - {"problem", "embeddings"}
    assert typed == called


@pytest.mark.parametrize("name", COMMANDS)
def test_defaults_are_the_same(name):
    command = load_command(name)
    shown = inspect.signature(getattr(recallscope, name)).parameters
    for each in command.params:
        if each.name in shown and each.name not in PROBLEM and each.default is not None:
            default = shown[each.name].default
            if name == "run" and each.name == "seeds":
                continue  # without it Python has one record, and not a collection of one
            assert str(each.default) == str(default), each.name


PARTS = ("Family", "Task", "Model", "Learner", "Setup", "Outcome", "Metric", "Law")


def test_the_page_on_parts_shows_one_of_each():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    for name in PARTS:
        assert re.search(rf"{name}\(|setup", page), name


@pytest.mark.parametrize("name", recallscope.__all__)
def test_every_public_name_has_an_executed_example(name):
    made = getattr(recallscope, name)
    # Results are shown by the functions that return them, and parts by the page on them.
    if inspect.isclass(made) and (issubclass(made, (Exception, Result)) or name in PARTS):
        return
    text = inspect.getdoc(made) or ""
    methods = (
        [each for each in vars(made).values() if callable(each)] if inspect.isclass(made) else []
    )
    documented = [text, *(inspect.getdoc(each) or "" for each in methods)]
    assert any(">>> " in each for each in documented), f"{name} has no example"
