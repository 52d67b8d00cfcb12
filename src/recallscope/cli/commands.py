"""The commands by name. Each is loaded when it is used, since loading all takes longer."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

COMMANDS = {
    "plan": "Plan a training: exposures until facts are recalled, what limits it, what to change.",
    "run": "Run one experiment at one or more seeds.",
    "train": "Train once, and watch attention and recall along the way.",
    "teach": "Teach facts to a checkpoint, and report which of them it recalls.",
    "predict": "Predict the accuracies by a law, and explain them; exit 1 if no law applies.",
    "solve": "Find the size that reaches a target accuracy, all else given.",
    "bound": "Lower bound for estimators that see only the first gradient.",
    "check": "Compare every closed form with Monte Carlo, around one small problem.",
    "critical": "Measure the size at which an accuracy crosses a target, with an interval.",
    "fit": "Measure the power law of a critical size: exponents with intervals, and a test of fit.",
    "phase": "Measure accuracy over a plane of two sizes, and compare it with the theory.",
    "ablate": "Change one thing at a time, and compare accuracies at the same seeds.",
    "sweep": "Run every cell of a sweep that the store has no record of.",
    "explore": "Write one page to play with the closed forms, and open it in the browser.",
    "records": "List, verify, repair, compact, merge or export the records of a store.",
    "parts": "List the parts of a kind, or the fields that a part adds to problems.",
}
"""Summaries of the commands, in the order of the help; a test compares these with the commands."""


def load_command(name: str) -> Any:
    """A command from its function, or a group of commands from its file."""
    module = import_module(f"recallscope.cli.{name}")
    if hasattr(module, "app"):
        return typer.main.get_command(module.app)
    from recallscope.cli.options import UNITS, Command

    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    units = None if name == "explore" else UNITS
    alone.command(name, cls=Command, epilog=units)(getattr(module, name))
    return typer.main.get_command(alone)


class Commands(TyperGroup):
    """All commands; listing them loads none."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of them, if there is one of that name."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Names and summaries."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
