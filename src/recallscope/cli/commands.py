"""The commands by name. Each is loaded when it is used, since loading all takes longer."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from recallscope.parts.data_files import data_next_to

COMMANDS: dict[str, str] = data_next_to(__file__, "commands.toml")
"""What each command does, in the order of the help; a test compares these with the commands."""

_TOGETHER = dict.fromkeys(("predict", "solve", "bound", "check"), "theory")  # in one module


def load_command(name: str) -> Any:
    """A command from its function, or a group of commands from its file."""
    module = import_module(f"recallscope.cli.{_TOGETHER.get(name, name)}")
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
