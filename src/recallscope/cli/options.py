"""The options of the command line, with the same names in every command.

Values are read as text: 1e6, 50k and inf are numbers, and all mistakes are reported the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from inspect import Parameter, signature
from types import SimpleNamespace
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from recallscope.parts.registry import KINDS, names
from recallscope.problem import ACTIVATIONS, DTYPES, REGIMES, ProblemError

# Copies: the files that define them are not loaded for a list of options.
SIZES = ("vocab", "samples", "dim", "length", "width")
ENGINES = ("auto", "stream", "counts")
EXECUTORS = ("serial", "processes", "ray")
ACCURACIES = ("recall", "lock", "one-step")
SCHEDULES = ("constant", "cosine", "warmup")
ATTENTION = ("mark", "three-step", "adam")
METHODS = ("pretrain", "full", "lora", "memory", "edit")
PRECISIONS = ("float32", "bfloat16", "float16", "int8", "int4")

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


def one_of(
    choices: Sequence[str] | str, more: str = ".", *flags: str, argument: bool = False, **how: Any
) -> Any:
    """An option with choices, for help and for shells; a text stands for the parts of a kind."""

    def complete() -> list[str]:
        return names(choices) if isinstance(choices, str) else list(choices)

    listed = f"{{{choices}}}" if isinstance(choices, str) else ", ".join(choices)
    how = {"metavar": "NAME", "help": listed + more} | how | {"autocompletion": complete}
    make: Any = typer.Argument if argument else typer.Option
    return make(*flags, **how)


def _text(metavar: str, help: str, default: str | None = None, **how: Any) -> tuple[Any, Any]:
    return Annotated[str | None, typer.Option(metavar=metavar, help=help, **how)], default


def _texts(metavar: str, help: str) -> tuple[Any, Any]:
    return Annotated[list[str] | None, typer.Option(metavar=metavar, help=help)], None


def _name(choices: Sequence[str] | str, default: str | None, more: str = ".") -> tuple[Any, Any]:
    return Annotated[str | None, one_of(choices, more)], default


def _flag(help: str, *flags: str) -> tuple[Any, Any]:
    return Annotated[bool, typer.Option(*flags, help=help)], False


Seed = Annotated[str, typer.Option(metavar="NUMBER", help="The first seed, 0 or more.")]
Seeds = Annotated[
    str, typer.Option(metavar="COUNT", help="How many seeds, from the first on; up to 1M.")
]
Dtype = Annotated[str, one_of(DTYPES)]
Device = Annotated[
    str,
    one_of(
        ("cpu", "cuda"), help="Where torch computes: cpu, or cuda (cuda:1, …), which is untested."
    ),
]
Target = Annotated[
    str, typer.Option(metavar="SHARE", help="The accuracy to reach, between 0 and 1.")
]
Accuracy = Annotated[str, one_of(ACCURACIES, ", or a metric.")]
LawName = Annotated[
    str | None, one_of("law", "; that with the highest priority that applies if not given.")
]
_SOUGHT = one_of(SIZES, ", or a field with which recall rises or falls.", "--for", metavar="SIZE")
Quantity = Annotated[str, _SOUGHT]
QuantityIfAny = Annotated[str | None, _SOUGHT]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Yes = Annotated[bool, typer.Option("--yes", help="Run it, though it may take hours.")]
Page = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write a page with a figure: .html.")
]
Source = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="FILE", help="Draw or fit what was measured before; run nothing."
    ),
]

_TRAINING = {
    "learning_rate": _text("RATE", "Of a training; chosen from the sizes if not given."),
    "steps": _text("COUNT", "The most steps of a training; 1000 if not given."),
    "batch": _text("COUNT", "Samples for each step; all if not given."),
    "fresh": _flag("Draw new samples for every step."),
    "schedule": _name(SCHEDULES, None, "; of the learning rate."),
    "momentum": _text("SHARE", "Of gd, sgd, muon and polar."),
    "weight_decay": _text("RATE", "Of a training."),
    "start": _text("SIZE", "Standard deviation of random first weights; 0 if not given."),
    "learn_embeddings": _flag("Train the embeddings too."),
    "learn_mlp": _flag("Train the first matrix of the MLP too."),
    "saturation": _text("SIZE", "Begin with two of three steps, scores varying by so much."),
    "attention": _name(ATTENTION, None, "; where converged looks."),
}
"""Fields that learners declare, as options."""
TRAINING = tuple(_TRAINING)
_PROBLEM = {
    "vocab": _text("V", "Tokens, and facts to learn; 2 or more."),
    "samples": _text("N", "Samples in the batch, or inf for its expectation."),
    "dim": _text("D", "Dimension of the embeddings."),
    "length": _text("L", "Tokens in a sequence."),
    "width": _text("M", "MLP width; omit for attention only."),
    "activation": _name(ACTIVATIONS, None, "; of the MLP, relu if not given."),
    "embedding": _name("embedding", "sphere"),
    "trigger_in_values": _flag(
        "Add the trigger to the values too.", "--trigger-in-values/--no-trigger-in-values"
    ),
    "regime": _name(REGIMES, "limit"),
    "eta": _text("STEP", "First step, above 0; literal regime only."),
    "gamma": _text("STEP", "Later steps, above 0; literal regime only."),
    "task": _name("task", "recall"),
    "model": _name("model", "transformer"),
    "learner": _name("learner", "three-step"),
    **_TRAINING,
    "metric": (Annotated[list[str] | None, one_of("metric", "; once for each.")], None),
    "field": _texts("NAME=VALUE", "A field that a part declares; once for each."),
}
_ARRAYS = {"embedding": _name("embedding", "sphere", ", or your own arrays: FILE.npz.")}
_SEARCH = {
    "target": (Target, "0.5"),
    "accuracy": (Accuracy, "recall"),
    "low": _text("SIZE", "The smallest size to look at."),
    "high": _text("SIZE", "The largest size to look at."),
    "precision": _text("SHARE", "The width of the interval that is good enough.", "0.1"),
    "budget": _text("COUNT", "The most runs of one search, up to 1M.", "64"),
    "seed": (Seed, "0"),
    "no_theory": _flag("Start from the whole range instead of the predicted size.", "--no-theory"),
}
_PLACE = {
    "store": _text("PLACE", "Keep records in a folder or s3://…; stored ones are not run again."),
    "executor": _name(EXECUTORS, "serial"),
    "workers": _text("COUNT", "Workers, up to 100k; one for each core if not given."),
    "address": _text("ADDRESS", "Address of a Ray cluster; a private one is started otherwise."),
}
_TESTS = {
    "engine": _name(ENGINES, "auto"),
    "test_samples": _text("COUNT", "Fresh samples to test on.", "4096"),
    "dtype": (Dtype, "float32"),
    "device": (Device, "cpu"),
}
_OUTPUT = {
    "table": _text("FILE", "Write a table: .csv, .parquet or .tex."),
    "figure": _text("FILE", "Write a figure: .pdf, .png or .svg."),
    "figure_width": _text("INCHES", "Of the figure: 3.25 for one column, 6.75 for two."),
    "no_caption": _flag("Write the caption to a text file instead.", "--no-caption"),
    "as_json": (Json, False),
}
OUTPUT = tuple(_OUTPUT)
_PLAN = {
    "model": _text("PATH", "A config.json of a model, or a folder with one; instead of sizes."),
    "d_model": _text("D", "Dimension of the embeddings."),
    "layers": _text("COUNT", "Layers; 1 if not given."),
    "heads": _text("COUNT", "Heads of attention; 1 if not given."),
    "mlp": _text("M", "Hidden units of an MLP; 4 for each dimension if not given."),
    "vocab": _text("COUNT", "Tokens of the model."),
    "precision": _name(PRECISIONS, None, "; of the weights at inference."),
    "method": _name(METHODS, None, "; lora with a rank, full with a model or layers, else memory."),
    "rank": _text("R", "Rank of the LoRA adapters."),
    "target_modules": _text(
        "NAMES", "What LoRA adapts: q_proj,v_proj or all-linear; as in PEFT if not given."
    ),
    "facts": _text("COUNT", "Facts to learn."),
    "answers": _text("COUNT", "Different answers; as many as facts if not given."),
    "frequencies": _name(("uniform", "zipf"), "uniform", "; how often facts are seen."),
    "zipf_exponent": _text("A", "Fact number k is seen as often as k^-A; 1 if not given."),
    "exposures": _text("COUNT", "How often each fact is seen: epochs, if once in each."),
    "tokens": _text("COUNT", "Tokens of training in all, instead of exposures; needs --context."),
    "context": _text("COUNT", "Tokens of each text that states a fact; 1 if not given."),
    "optimiser": _name(("adam", "gd", "muon"), "adam", "; of a memory."),
    "solve_for": _name(("facts", "rank", "exposures", "d-model"), None, "; what to find."),
    "target": (Target, "0.9"),
}
_AUDIT = {
    "inputs": _text("NAME", "The table that tokens are read from."),
    "outputs": _text("NAME", "The table of answers, if another."),
    "tokens": _text("FILE", "A tokenizer.json, or a token in each line."),
    "measure": _flag("Run experiments on some rows too; takes minutes.", "--measure"),
}
_FIT = {
    "quantity": (Annotated[str | None, _SOUGHT], None),
    "vary": _texts("AXIS", "dim=32:128:5, or dim=32,64,96; once for each size."),
    "expect": _texts(
        "SIZE=POWER", "An exponent to be tested, as in dim=-2; once for each, tested all at once."
    ),
}
_PHASE = {
    "x": _text("AXIS", "dim=16:256:30, or dim=16,32,64."),
    "y": _text("AXIS", "samples=512:65536:30; boundary along it."),
    "seeds": (Seeds, "4"),
    "seed": (Seed, "0"),
    "accuracy": (
        Annotated[str | None, one_of(ACCURACIES, ", or a metric.", show_default="recall")],
        None,
    ),
    "target": _text("SHARE", "The accuracy to cross, between 0 and 1.", None, show_default="0.5"),
    "theory_only": _flag("Closed forms at any size; run nothing.", "--theory-only"),
}
_SWEEP = {
    "shards": _text("COUNT", "Split every single cell over this many workers."),
    "part": _text("K/N", "Run part K of N only: 3/8, for one of eight jobs; see --dry-run."),
    "dry_run": _flag("Print the plan and its cost; run nothing.", "--dry-run"),
    "fail_fast": _flag("Stop at the first cell that fails, or not.", "--fail-fast/--keep-going"),
}
_TRAIN = {
    "seed": (Seed, "0"),
    **{name: option for name, option in _TESTS.items() if name != "engine"},
    "checkpoint": _text("FILE", "Resume from it, and save to it every few seconds."),
}
_RECORDS = {
    "store": _text("PLACE", "The folder or address of the records."),
    "as_json": (Json, False),
}


_GROUPS = {
    "audit": _AUDIT,
    "fit": _FIT,
    "phase": _PHASE,
    "plan": _PLAN,
    "problem": _PROBLEM,
    "search": _SEARCH,
    "tests": _TESTS,
    "where": _PLACE,
    "output": _OUTPUT,
    "records": _RECORDS,
    "sweep": _SWEEP,
    "train": _TRAIN,
}


class Asked(SimpleNamespace):
    """Options that many commands have, as they were given: a dictionary for each group taken."""


def takes(
    *groups: str, arrays: bool = False, **defaults: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command groups of options, and pass them as `asked`.

    `arrays` says whether the command accepts the user's arrays.
    """
    offered = {group: _GROUPS[group] for group in groups}
    if arrays:
        offered["problem"] = _PROBLEM | _ARRAYS

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        shared = [
            Parameter(
                name, Parameter.KEYWORD_ONLY, default=defaults.get(name, default), annotation=kind
            )
            for group in offered.values()
            for name, (kind, default) in group.items()
        ]
        signed = signature(command, eval_str=True)
        own = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for name, parameter in signed.parameters.items()
            if name != "asked"
        ]

        @wraps(command)
        def with_options(**given: Any) -> Any:
            asked = {
                group: {name: given.pop(name) for name in named} for group, named in offered.items()
            }
            return command(asked=Asked(**asked), **given)

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
        raise ProblemError(
            f"--from runs nothing and takes the rest from what it reads; leave {', '.join(others)} "
            "out"
        )
