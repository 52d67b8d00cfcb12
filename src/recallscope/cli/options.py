"""The options of the command line, named alike in every command."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from recallscope.parts.registry import names
from recallscope.problem import ACTIVATIONS, REGIMES, ProblemError

# Sizes come as text, so that 1e6 and inf are numbers and every mistake is told the same way.
Vocab = Annotated[str | None, typer.Option(metavar="V", help="Tokens, and facts to learn.")]
Samples = Annotated[
    str | None, typer.Option(metavar="N", help="Samples in the batch, or inf for its expectation.")
]
Dim = Annotated[str | None, typer.Option(metavar="D", help="Dimension of the embeddings.")]
Length = Annotated[str | None, typer.Option(metavar="L", help="Tokens in a sequence.")]
Width = Annotated[str | None, typer.Option(metavar="M", help="MLP width; omit for attention only.")]
Activation = Annotated[str | None, typer.Option(metavar="NAME", help=", ".join(ACTIVATIONS) + ".")]
_FAMILIES = ", ".join(names("embedding"))
Embedding = Annotated[str, typer.Option(metavar="NAME", help=f"{_FAMILIES}.")]
EmbeddingOrArrays = Annotated[
    str, typer.Option(metavar="NAME", help=f"{_FAMILIES}, or your own arrays: FILE.npz.")
]
TriggerInValues = Annotated[
    bool,
    typer.Option(
        "--trigger-in-values/--no-trigger-in-values", help="Add the trigger to the values too."
    ),
]
Regime = Annotated[str, typer.Option(metavar="NAME", help=", ".join(REGIMES) + ".")]
Eta = Annotated[str | None, typer.Option(metavar="STEP", help="First step; literal regime only.")]
Gamma = Annotated[
    str | None, typer.Option(metavar="STEP", help="Later steps; literal regime only.")
]
Task = Annotated[str, typer.Option(metavar="NAME", help=", ".join(names("task")) + ".")]
Model = Annotated[str, typer.Option(metavar="NAME", help=", ".join(names("model")) + ".")]
Learner = Annotated[str, typer.Option(metavar="NAME", help=", ".join(names("learner")) + ".")]
Metric = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help=", ".join(names("metric")) + "; once for each."),
]
Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--field", metavar="NAME=VALUE", help="A field that a part declares; once for each."
    ),
]
Engine = Annotated[str, typer.Option(metavar="NAME", help="auto, stream, counts.")]
Seed = Annotated[str, typer.Option(metavar="NUMBER", help="The first seed.")]
Seeds = Annotated[str, typer.Option(metavar="COUNT", help="How many seeds, from the first on.")]
TestSamples = Annotated[str, typer.Option(metavar="COUNT", help="Fresh samples to test on.")]
Dtype = Annotated[str, typer.Option(metavar="NAME", help="float64, float32.")]
Device = Annotated[str, typer.Option(metavar="NAME", help="Where torch computes: cpu, cuda, …")]
Repeats = Annotated[str, typer.Option(metavar="COUNT", help="Turns to time, 5 or more.")]
Target = Annotated[str, typer.Option(metavar="SHARE", help="The accuracy to reach, 0 to 1.")]
Figure = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write a figure: .pdf, .png or .svg.")
]
Csv = Annotated[str | None, typer.Option("--csv", metavar="FILE", help="Write a table: .csv.")]
Accuracy = Annotated[str, typer.Option(metavar="NAME", help="recall, lock, one-step, or a metric.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Yes = Annotated[bool, typer.Option("--yes", help="Run it, though it may take hours.")]
Quantity = Annotated[
    str, typer.Option("--for", metavar="SIZE", help="samples, dim, width, vocab or length.")
]
Low = Annotated[str | None, typer.Option(metavar="SIZE", help="The smallest size to look at.")]
High = Annotated[str | None, typer.Option(metavar="SIZE", help="The largest size to look at.")]
Precision = Annotated[
    str, typer.Option(metavar="SHARE", help="The width of the interval that is good enough.")
]
Budget = Annotated[str, typer.Option(metavar="COUNT", help="The most runs of one search.")]
NoTheory = Annotated[
    bool,
    typer.Option("--no-theory", help="Start from the whole range instead of the predicted size."),
]
Source = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="FILE", help="Draw or fit what was measured before; run nothing."
    ),
]
StorePlace = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        help="Keep records in a folder or s3://…; stored ones are not run again.",
    ),
]
RecordsPlace = Annotated[
    str | None,
    typer.Option("--store", metavar="PLACE", help="The folder or address of the records."),
]
ExecutorName = Annotated[
    str, typer.Option("--executor", metavar="NAME", help="serial, processes, ray.")
]
WorkerCount = Annotated[
    str | None,
    typer.Option("--workers", metavar="COUNT", help="Threads; one for each core by default."),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Address of a Ray cluster; by default a private one is started."
    ),
]


_PROBLEM = {
    "vocab": (Vocab, None),
    "samples": (Samples, None),
    "dim": (Dim, None),
    "length": (Length, None),
    "width": (Width, None),
    "activation": (Activation, None),
    "embedding": (Embedding, "sphere"),
    "trigger_in_values": (TriggerInValues, False),
    "regime": (Regime, "limit"),
    "eta": (Eta, None),
    "gamma": (Gamma, None),
    "task": (Task, "recall"),
    "model": (Model, "transformer"),
    "learner": (Learner, "three-step"),
    "metric": (Metric, None),
    "field": (Fields, None),
}
_SEARCH = {
    "target": (Target, "0.5"),
    "accuracy": (Accuracy, "recall"),
    "low": (Low, None),
    "high": (High, None),
    "precision": (Precision, "0.1"),
    "budget": (Budget, "64"),
    "seed": (Seed, "0"),
    "no_theory": (NoTheory, False),
}
_PLACE = {
    "store": (StorePlace, None),
    "executor": (ExecutorName, "serial"),
    "workers": (WorkerCount, None),
    "address": (Address, None),
}


_RECORDS = {"store": (RecordsPlace, None), "as_json": (Json, False)}


def asks_for_a_problem(
    arrays: bool = False, **defaults: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a problem, and hand them over as one dictionary.

    `arrays` says whether the command can do something with arrays of the user's own.
    """
    offered = {"embedding": (EmbeddingOrArrays, "sphere")} if arrays else {}
    return _shares("options", _PROBLEM | offered, defaults)


def asks_for_a_search() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a search, and hand them over as one dictionary."""
    return _shares("how", _SEARCH, {})


def asks_where_to_run(**defaults: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of executors and stores, and hand them over as one dictionary."""
    return _shares("where", _PLACE, defaults)


def asks_for_a_store() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command about records their store, and hand it over with whether JSON is wanted."""
    return _shares("asked", _RECORDS, {})


def given_options(context: typer.Context) -> dict[str, str]:
    """The options that were typed, and not left at their defaults: by name, as they are typed."""
    flags = {each.name: each.opts[0] for each in context.command.params if each.name}
    sources = {name: context.get_parameter_source(name) for name in flags}
    return {
        name: flags[name]
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    }


def refuse_all_but(meant: Collection[str], context: typer.Context) -> None:
    """Raise if an option was given beside --from that has no meaning with it."""
    others = [flag for name, flag in given_options(context).items() if name not in meant]
    if others:
        raise ProblemError(
            f"--from runs nothing and takes the rest from what it reads; leave {', '.join(others)} "
            "out"
        )


def _shares(
    place: str, group: dict[str, tuple[Any, Any]], defaults: dict[str, str]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        shared = [
            Parameter(
                name, Parameter.KEYWORD_ONLY, default=defaults.get(name, default), annotation=kind
            )
            for name, (kind, default) in group.items()
        ]
        asked = signature(command, eval_str=True)
        own = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for name, parameter in asked.parameters.items()
            if name != place
        ]

        @wraps(command)
        def with_options(**given: Any) -> Any:
            given[place] = {name: given.pop(name) for name in group}
            return command(**given)

        with_options.__signature__ = asked.replace(parameters=[*shared, *own])  # type: ignore[attr-defined]
        with_options.__annotations__ = {each.name: each.annotation for each in [*shared, *own]}
        return with_options

    return decorate
