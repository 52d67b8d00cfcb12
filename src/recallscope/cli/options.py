"""Options that commands share, each as a type: `vocab: Vocab = None` in a command is --vocab.

Values are read as text: 1e6, 50k and inf are numbers, and all mistakes are reported the same way.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from recallscope.common.errors import ProblemError
from recallscope.problem.axes import SIZES
from recallscope.problem.problem import ACTIVATIONS, DTYPES, REGIMES
from recallscope.problem.registry import KINDS, names

UNITS = "Sizes and counts: 50k is 50,000 (k = 1000), 1M 10^6, 1B 10^9; 1e6 and 1_000 will do too."

# Copies: the files that define them are not loaded for a list of options. A test compares them.
ENGINES = ("auto", "stream", "counts", "reference")
EXECUTORS = ("serial", "processes", "ray")
ACCURACIES = ("recall", "attention", "first-gradient")


def named(
    choices: Collection[str],
    *flags: str,
    more: str = ".",
    argument: bool = False,
    **how: Any,
) -> Any:
    """An option with choices: a list, or the kind of a part, whose names are found when needed."""
    listed = f"{{{choices}}}" if isinstance(choices, str) else ", ".join(choices)

    def complete() -> list[str]:
        return names(choices) if isinstance(choices, str) else list(choices)

    usual = {"metavar": "NAME", "help": listed + more, "autocompletion": complete}
    make: Any = typer.Argument if argument else typer.Option
    return make(*flags, **usual | how)


def complete_field(context: typer.Context, incomplete: str) -> list[str]:
    """Return NAME= of every field of the parts that a line names."""
    from recallscope.cli.parsing import parts_from
    from recallscope.problem.naming import declared_by

    return [f"{name}=" for name in declared_by(parts_from(context.params))]


# A problem.
Vocab = Annotated[
    str | None, typer.Option(metavar="V", help="Tokens, and facts to learn; 2 or more.")
]
Samples = Annotated[
    str | None, typer.Option(metavar="N", help="Samples in the batch, or inf for its expectation.")
]
Dim = Annotated[str | None, typer.Option(metavar="D", help="Dimension of the embeddings.")]
Length = Annotated[str | None, typer.Option(metavar="L", help="Tokens in a sequence.")]
Width = Annotated[str | None, typer.Option(metavar="M", help="MLP width; omit for attention only.")]
Activation = Annotated[str | None, named(ACTIVATIONS, more="; of the MLP, relu if not given.")]
EmbeddingFamily = Annotated[str, named("embedding")]
Embedding = Annotated[str, named("embedding", more=", or your own arrays: FILE.npz.")]
TriggerInValues = Annotated[
    bool,
    typer.Option(
        "--trigger-in-values/--no-trigger-in-values", help="Add the trigger to the values too."
    ),
]
Regime = Annotated[str, named(REGIMES)]
Eta = Annotated[
    str | None, typer.Option(metavar="STEP", help="First step, above 0; literal regime only.")
]
Gamma = Annotated[
    str | None, typer.Option(metavar="STEP", help="Later steps, above 0; literal regime only.")
]
Task = Annotated[str, named("task")]
Model = Annotated[str, named("model")]
Learner = Annotated[str, named("learner")]
LearningRate = Annotated[
    str | None,
    typer.Option(metavar="RATE", help="Of a training; chosen from the sizes if not given."),
]
Steps = Annotated[
    str | None,
    typer.Option(metavar="COUNT", help="The most steps of a training; 1000 if not given."),
]
Batch = Annotated[
    str | None, typer.Option(metavar="COUNT", help="Samples for each step; all if not given.")
]
Metric = Annotated[list[str] | None, named("metric", more="; once for each.")]
Field = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        autocompletion=complete_field,
        help="A field that a part declares, as recallscope parts lists them; once for each.",
    ),
]

# A search for a size.
_FOR = named(SIZES, "--for", metavar="SIZE", more=", or a field with which recall rises or falls.")
Quantity = Annotated[str, _FOR]
OptionalQuantity = Annotated[str | None, _FOR]
Target = Annotated[
    str, typer.Option(metavar="SHARE", help="The accuracy to reach, between 0 and 1.")
]
Accuracy = Annotated[str, named(ACCURACIES, more=", or a metric.")]
Low = Annotated[str | None, typer.Option(metavar="SIZE", help="The smallest size to look at.")]
High = Annotated[str | None, typer.Option(metavar="SIZE", help="The largest size to look at.")]
Precision = Annotated[
    str,
    typer.Option(metavar="SHARE", help="The width of the interval that is good enough."),
]
Budget = Annotated[
    str, typer.Option(metavar="COUNT", help="The most runs of one search, up to 1M.")
]
NoTheory = Annotated[
    bool,
    typer.Option("--no-theory", help="Start from the whole range instead of the predicted size."),
]
Seed = Annotated[str, typer.Option(metavar="NUMBER", help="The first seed, 0 or more.")]
Seeds = Annotated[
    str, typer.Option(metavar="COUNT", help="How many seeds, from the first on; up to 1M.")
]
Law = Annotated[
    str | None,
    named("law", more="; that with the highest priority that applies if not given."),
]
Source = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="FILE", help="Draw or fit what was measured before; run nothing."
    ),
]

# How runs are made, and where.
Engine = Annotated[str, named(ENGINES)]
TestSamples = Annotated[str, typer.Option(metavar="COUNT", help="Fresh samples to test on.")]
Dtype = Annotated[str, named(DTYPES)]
Device = Annotated[
    str,
    named(
        ("cpu", "cuda"),
        help="Where torch computes: cpu, or cuda (cuda:1, …), which is untested.",
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE", help="Keep records in a folder or s3://…; stored ones are not run again."
    ),
]
Executor = Annotated[str, named(EXECUTORS)]
Workers = Annotated[
    str | None,
    typer.Option(metavar="COUNT", help="Workers, up to 100k; one for each core if not given."),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Address of a Ray cluster; a private one is started otherwise."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Run it, though it may take hours.")]

# Where a result goes.
Table = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write a table: .csv, .parquet or .tex.")
]
Figure = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write a figure: .pdf, .png or .svg.")
]
FigureWidth = Annotated[
    str | None,
    typer.Option(metavar="INCHES", help="Of the figure: 3.25 for one column, 6.75 for two."),
]
NoCaption = Annotated[
    bool, typer.Option("--no-caption", help="Write the caption to a text file instead.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
OUTPUT = ("table", "figure", "figure_width", "no_caption", "as_json")


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

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Options and their help, for shells that show it."""
        self._name_parts()
        return super().shell_complete(ctx, incomplete)

    def _name_parts(self) -> None:
        """Put names where help says {embedding}, {task} and so on."""
        params: list[Any] = self.params
        for parameter in params:
            if text := getattr(parameter, "help", None):
                kinds = rf"{{({'|'.join((*KINDS, 'law'))})}}"
                parameter.help = re.sub(kinds, lambda kind: ", ".join(names(kind[1])), text)


def typed_options(context: typer.Context) -> dict[str, str]:
    """Return the options that were typed, by name; options at their defaults are left out."""
    flags = {
        parameter.name: parameter.opts[0] for parameter in context.command.params if parameter.name
    }
    sources = {name: context.get_parameter_source(name) for name in flags}
    return {
        name: flags[name]
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    }


def refuse_all_but(meant: Collection[str], context: typer.Context) -> None:
    """Raise if an option was given that has no meaning with --from."""
    others = [flag for name, flag in typed_options(context).items() if name not in meant]
    if others:
        raise ProblemError(
            "--from runs nothing and takes the rest from what it reads; leave "
            f"{', '.join(others)} out"
        )
