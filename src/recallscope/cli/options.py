"""The options of the command line, with the same names in every command; options.toml has them.

Values are read as text: 1e6, 50k and inf are numbers, and all mistakes are reported the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from types import SimpleNamespace
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from recallscope.cli.output import output_from
from recallscope.cli.sentences import said
from recallscope.parts.data_files import data_next_to
from recallscope.parts.registry import KINDS, names
from recallscope.problem import ACTIVATIONS, DTYPES, REGIMES, ProblemError

_WRITTEN = data_next_to(__file__, "options.toml")
CHOICES: dict[str, Sequence[str]] = {
    **_WRITTEN["choices"],
    **{"activation": ACTIVATIONS, "dtype": DTYPES, "regime": REGIMES},
}
SIZES = CHOICES["size"]
_annotated: Any = Annotated  # types of options are known at run time only

UNITS = "Sizes and counts: 50k is 50,000 (k = 1000), 1M 10^6, 1B 10^9; 1e6 and 1_000 will do too."


class Command(TyperCommand):
    """A command that looks for the parts of other packages only when its help is shown.

    The search takes as long as everything else.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments; a mistake in them gets its command, to point to its help."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if getattr(error, "ctx", ctx) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise

    def get_help(self, ctx: Any) -> str:
        """The help, with the names of parts."""
        self._name_parts()
        return super().get_help(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options; training options come last, as most commands do not need them."""
        lists: dict[str, list[Any]] = {"Arguments": [], "Options": [], "Training options": []}
        for each in self.get_params(ctx):
            option = "Training options" if each.name in TRAINING else "Options"
            title = "Arguments" if each.param_type_name == "argument" else option
            lists[title].append(each.get_help_record(ctx))
        for title, records in lists.items():
            if shown := [each for each in records if each is not None]:
                with formatter.section(title):
                    formatter.write_dl(shown)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Options and their help, for shells that show it."""
        self._name_parts()
        return super().shell_complete(ctx, incomplete)

    def _name_parts(self) -> None:
        """Put names where help says {embedding}, {task} and so on."""
        params: list[Any] = self.params
        for each in params:
            if text := getattr(each, "help", None):
                kinds = rf"{{({'|'.join((*KINDS, 'law'))})}}"
                each.help = re.sub(kinds, lambda kind: ", ".join(names(kind[1])), text)


def command_group(name: str, help: str) -> typer.Typer:
    """Commands below one name."""
    return typer.Typer(name=name, rich_markup_mode=None, add_completion=False, help=help)


def _read_options() -> dict[str, dict[str, Parameter]]:
    """The options of each group, as parameters of a function that typer makes a command of."""
    shared = _WRITTEN["shared"]
    groups = {
        group: {name: _parameter(name, given, shared.get(name, {})) for name, given in each.items()}
        for group, each in _WRITTEN.items()
        if group not in ("choices", "shared")
    }
    groups["problem"] |= groups["training"] | groups["fields"]
    return groups


def _parameter(name: str, given: Any, shared: Mapping[str, Any]) -> Parameter:
    """An option as the file describes it; anything but a table is the default of a shared one."""
    how = {**shared, **(given if isinstance(given, dict) else {"default": given})}
    flag, many, required = (how.pop(each, False) for each in ("flag", "many", "required"))
    missing = Parameter.empty if required else False if flag else None
    default = how.pop("default", missing)
    kind: Any = bool if flag else list[str] if many else str
    kind = kind if flag or required else kind | None
    make: Any = typer.Argument if how.pop("argument", False) else typer.Option
    if choices := how.pop("choices", None):
        listed = ", ".join(CHOICES[choices]) if choices in CHOICES else f"{{{choices}}}"
        named = {"metavar": "NAME", "help": listed + how.pop("more", ".")}
        how = named | how | {"autocompletion": lambda: _complete(choices)}
    typed = [each for each in (flag, how.pop("named", None)) if isinstance(each, str)]
    annotation = _annotated[kind, make(*typed, **how)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _complete(choices: str) -> list[str]:
    """The choices of an option, for shells: of a list, or the parts of a kind."""
    return list(CHOICES.get(choices) or names(choices))


GROUPS = _read_options()
TRAINING, OUTPUT = tuple(GROUPS["training"]), tuple(GROUPS["output"])


class Asked(SimpleNamespace):
    """Options as they were given: a dictionary for each group taken; of output, an `Output`."""


def takes(
    *groups: str, arrays: bool = False, **defaults: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command groups of options; those that it does not name are passed as `asked`.

    `arrays` says whether the command accepts the user's arrays.
    """
    offered = {group: GROUPS[group] for group in groups}
    if arrays:
        offered["problem"] = GROUPS["problem"] | GROUPS["arrays"]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        shared = [
            each.replace(default=defaults.get(each.name, each.default))
            for group in offered.values()
            for each in group.values()
        ]
        signed = signature(command, eval_str=True)
        known = {"asked", *(each.name for each in shared)}
        own = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for name, parameter in signed.parameters.items()
            if name not in known
        ]

        @wraps(command)
        def with_options(**given: Any) -> Any:
            if "asked" in signed.parameters:
                rest: dict[str, Any] = {
                    group: {name: given.pop(name) for name in each if name not in signed.parameters}
                    for group, each in offered.items()
                }
                if "output" in rest:  # checked before any work begins
                    rest["output"] = output_from(rest["output"])
                given["asked"] = Asked(**rest)
            return command(**given)

        with_options.__signature__ = signed.replace(parameters=[*shared, *own])  # type: ignore[attr-defined]
        with_options.__annotations__ = {each.name: each.annotation for each in [*shared, *own]}
        return with_options

    return decorate


def given_options(context: typer.Context) -> dict[str, str]:
    """The options that were typed, by name; options at their defaults are left out."""
    flags = {each.name: each.opts[0] for each in context.command.params if each.name}
    sources = {name: context.get_parameter_source(name) for name in flags}
    return {
        name: flags[name]
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    }


def refuse_all_but(meant: Collection[str], context: typer.Context) -> None:
    """Raise if an option was given that has no meaning with --from."""
    others = [flag for name, flag in given_options(context).items() if name not in meant]
    if others:
        raise ProblemError(said("only_from", ", ".join(others)))
