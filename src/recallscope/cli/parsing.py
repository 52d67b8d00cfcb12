"""From the texts of options to problems, searches, settings and paths."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.common.checks import LARGEST_SEED, LARGEST_SIZE, whole_number
from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError
from recallscope.problem.axes import SIZES, axis_field
from recallscope.problem.metrics import accuracy_name
from recallscope.problem.naming import declared_by, find_part, metric_names, named_parts
from recallscope.problem.problem import FIELDS, Problem

if TYPE_CHECKING:
    from recallscope.problem.axes import Axis
    from recallscope.problem.given_embeddings import Embeddings

_TRUTH = {"true": True, "false": False}
TRAINING = ("learning_rate", "steps", "batch")
PROBLEM = (
    *(*SIZES, "activation", "embedding", "trigger_in_values", "regime", "eta", "gamma"),
    *("task", "model", "learner", *TRAINING, "metric", "field"),
)
"""The options that say what a problem is."""
_NUMBERS = ("vocab", "samples", "dim", "length", "width", "eta", "gamma")


def problem_from(options: Mapping[str, Any]) -> Problem:
    """Return the problem that the options of a command say."""
    fields, declared = _texts({name: options[name] for name in PROBLEM})
    width = fields.get("width")
    if isinstance(width, float) and not width.is_integer():
        raise ProblemError(
            f"the width of an MLP is a whole number, not {width:g}; that of a figure is "
            "--figure-width INCHES"
        )
    known = declared_by(named_parts(fields))
    for name, value in declared.items():
        kind = type(known[name].default) if name in known else str
        truth = _TRUTH.get(value, value)
        fields[name] = {str: value, bool: truth}.get(kind, number_or_text(value))
    return Problem.from_dict(fields)


def _texts(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields of a problem that were given, and the texts of those that parts declare."""
    fields = {
        name: number_or_text(value) if name in _NUMBERS else value
        for name, value in options.items()
        if value is not None and name not in (*TRAINING, "field", "metric")
    }
    if options.get("metric"):
        fields["metrics"] = options["metric"]
    declared = {}
    for option in options.get("field") or []:
        name, equals, text = option.partition("=")
        if not equals or name in FIELDS:
            raise ProblemError(f"a field of a part is NAME=VALUE, as in k=5, not {option!r:.60}")
        declared[name] = text
    for name in TRAINING:
        if value := options.get(name):
            if name in declared:
                raise ProblemError(f"{name} is given twice; leave out --field {name}=…")
            declared[name] = value
    return fields, declared


def closed_form_problem(options: dict[str, Any]) -> Problem:
    """A problem to predict; arrays of the user are refused, as they have no closed form."""
    no_arrays(options, "have no closed form; use recallscope run")
    return problem_from(options)


def problem_to_run(
    options: dict[str, Any], varied: Collection[str] = ()
) -> tuple[Problem, Embeddings | None]:
    """A problem, with values for sizes that are sought or varied, and its arrays, if any."""
    arrays, options["embedding"] = own_arrays(options["embedding"])
    for size in ("vocab", "dim"):
        if arrays is not None and size in varied:
            raise ProblemError(f"your arrays have one {size} only; vary samples, length or width")
    return problem_from(options), arrays


def own_arrays(embedding: str) -> tuple[Embeddings | None, str]:
    """The arrays of a file and their name, or no arrays and the name of a family."""
    if not _is_file(embedding):
        return None, embedding
    from recallscope.problem.given_embeddings import Embeddings

    arrays = Embeddings.load(embedding)
    return arrays, arrays.name


def _is_file(embedding: str) -> bool:
    if Path(embedding).suffix == ".npy":
        raise ProblemError(
            f"give four arrays in a .npz file, not one in {embedding!r}: make it by "
            "np.savez('own.npz', tokens=…, outputs=…, trigger=…, end=…); tokens and outputs are "
            "vocab×dim, trigger and end vectors of dim numbers with about the norm of a token, for "
            "example drawn like tokens"
        )
    return Path(embedding).suffix == ".npz"


def no_arrays(options: dict[str, Any], why: str) -> None:
    """Raise if the user's arrays are given to a command that does not accept them."""
    if _is_file(options["embedding"]):
        raise ProblemError(f"your arrays {why}")


def selection_from(options: dict[str, Any], flags: Collection[str]) -> dict[str, Any]:
    """The fields that records are to have, by the options of a problem that were given."""
    fields, declared = _texts({name: options[name] for name in PROBLEM if name in flags})
    if "metrics" in fields:
        fields["metrics"] = metric_names(fields["metrics"])
    if "embedding" in fields:
        fields["embedding"] = own_arrays(fields["embedding"])[1]
    # Attention alone has no width.
    fields = {name: None if value == "none" else value for name, value in fields.items()}
    return fields | {
        name: _TRUTH.get(text, number_or_text(text)) for name, text in declared.items()
    }


def parts_from(options: dict[str, Any]) -> list[tuple[str, str]]:
    """The kinds and names of the parts that options name."""
    parts = {name: options[name] for name in ("embedding", "task", "model", "learner")}
    if _is_file(parts["embedding"]):
        del parts["embedding"]
    return named_parts(parts)


def fill_in(options: dict[str, Any], size: str, axes: Sequence[Axis] = ()) -> None:
    """Give a size that is sought or varied some valid value."""
    if size not in SIZES:  # a field of a part has a default
        axis_field(size, parts_from(options))
        return
    varied = {axis.name: axis.values for axis in axes}
    if size in varied:  # not all embeddings exist in few dimensions
        options[size] = str(varied[size][-1 if size == "dim" else 0])
        return
    options[size] = "2" if size == "vocab" else "1"
    if size == "dim" and options["vocab"]:
        vocab = whole_number("vocab", number_or_text(options["vocab"]), 2, LARGEST_SIZE - 1)
        if not _is_file(options["embedding"]) and ":" not in options["embedding"]:
            options["dim"] = str(find_part("embedding", options["embedding"]).smallest_dim(vocab))


def seeds_from(seeds: str, seed: str, largest: int | None = None) -> tuple[int, int]:
    """How many seeds, and the first of them."""
    count = whole_number("seeds", number_or_text(seeds), 1, 10**6)
    most = LARGEST_SEED - count + 1 if largest is None else largest
    return count, whole_number("seed", number_or_text(seed), 0, most)


def settings_from(tests: dict[str, Any], arrays: Embeddings | None = None) -> dict[str, Any]:
    """The settings of runs, as arguments of a function and of `Settings`."""
    samples = whole_number("test-samples", number_or_text(tests["test_samples"]), 1)
    return {
        **{name: tests[name] for name in ("engine", "dtype", "device")},
        "test_samples": samples,
        "embeddings": arrays,
    }


def search_from(how: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a search."""
    low, high = (
        None if how[name] is None else number_or_text(how[name]) for name in ("low", "high")
    )
    return {
        "target": number_or_text(how["target"]),
        "accuracy": accuracy_name(how["accuracy"]),
        "low": low,
        "high": high,
        "precision": number_or_text(how["precision"]),
        "budget": whole_number("budget", number_or_text(how["budget"]), 1, 10**6),
        "seed": whole_number("seed", number_or_text(how["seed"]), 0, 2**62),
        "prior": None if how["no_theory"] else "theory",
    }
