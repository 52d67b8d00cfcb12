"""Parts as a problem names them: found, checked, and their fields put together."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from recallscope.parts.checks import whole_number
from recallscope.parts.errors import ProblemError
from recallscope.parts.field import FIELD_NAME, Field
from recallscope.parts.registry import UnknownPartError, part, register_object

PART_DEFAULTS: dict[str, Any] = {
    "embedding": "sphere",
    "task": "recall",
    "model": "transformer",
    "learner": "three-step",
    "metrics": (),
}
"""The fields of a problem that name parts, with their defaults."""

ARRAYS = re.compile(r"arrays:[0-9a-f]{16}")
"""The name of embeddings that are arrays of the user's."""

TAKEN = frozenset(
    [
        *PART_DEFAULTS,
        *(
            "vocab",
            "samples",
            "dim",
            "length",
            "width",
            "activation",
            "trigger_in_values",
            "regime",
            "eta",
            "gamma",
            "hidden",
            "key",
            "parts",
            "chosen",
            "declared",
            "replace",
            "to_dict",
            "from_dict",
            "metric",
            "field",
            "x",
            "y",
            "accuracy",
            "target",
            "own",
            "right",
            "tests",
            "infeasible",
            "failed",
            "mean",
            "low",
            "high",
            "predicted",
            "difference",
            "disagrees",
            "stage",
            "term",
            "key_with",
            "keyed_fields",
            "part_versions",
            "seed",
            "seeds",
            "status",
            "reason",
            "measure",
            "value",
            "theory",
            "quantity",
            "curve",
            "problem_key",
            "test_samples",
            "engine",
            "dtype",
            "device",
            "versions",
            "revision",
            "elapsed_seconds",
            "schema",
            "lock_accuracy",
            "recall_accuracy",
            "one_step_accuracy",
            "score_signal",
            "score_noise",
            "trigger_cosine",
            "first_value_cosine",
            "second_value_cosine",
            "provenance",
            "ended",
            "evaluations",
            "failures",
            "log_mean",
            "log_sd",
            "without_theory",
            "problem",
            "files",
        ),
    ]
)
"""Names that problems, and rows of tables about them, have already."""


class MissingPartError(ProblemError):
    """A part that is neither ours nor of another package that is installed."""


def find_part(kind: str, name: str) -> Any:
    """The part of this kind and name, or an error that lists those that there are."""
    try:
        return part(kind, name)
    except UnknownPartError as error:
        also = " or the name of given arrays (arrays: and 16 hexadecimal digits), not "
        sentence = str(error)
        if kind == "embedding":
            sentence = sentence.replace(", not ", also)
        raise MissingPartError(sentence) from None


def part_name(kind: str, given: Any) -> str:
    """The name of a part, whether the name was given or the part itself."""
    if isinstance(given, str):
        if kind == "embedding" and ARRAYS.fullmatch(given):
            return str(given)
        find_part(kind, given)
        return str(given)
    try:
        return register_object(kind, given)
    except ValueError as error:
        raise ProblemError(str(error)) from None


def part_version(kind: str, name: str) -> int:
    """The version of a part, which records are kept under."""
    version = getattr(find_part(kind, name), "version", None)
    if version is None:
        return 1
    return whole_number(f"the version of the {kind} {name}", version, 1, 10**6 - 1)


def metric_names(given: Any) -> tuple[str, ...]:
    """The names of metrics that were given by name or as objects, one or many of them."""
    many = list(given) if isinstance(given, (list, tuple)) else [given]
    named = sorted({part_name("metric", each) for each in many})
    for first, second in itertools.pairwise(name.partition(":")[0] for name in named):
        if first == second:
            raise ProblemError(f"there are two metrics {first}; a record could hold one only")
    return tuple(named)


def named_parts(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The kind and the name of every part among some fields; the others are the default."""
    named = {kind: fields.get(kind, default) for kind, default in PART_DEFAULTS.items()}
    metrics = named.pop("metrics")
    listed = [(kind, part_name(kind, given)) for kind, given in named.items()]
    listed += [("metric", name) for name in metric_names(metrics)]
    return without_arrays(listed)


def without_arrays(named: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Kinds and names without embeddings that are arrays of the user's, which no registry has."""
    return [each for each in named if not ARRAYS.fullmatch(each[1])]


def declared_by(parts: Iterable[tuple[str, str]]) -> dict[str, Field]:
    """The fields that parts declare, each under a name that nothing else has.

    >>> list(declared_by([("metric", "recall-at-k"), ("model", "transformer")]))
    ['k']
    """
    found: dict[str, Field] = {}
    for kind, called in parts:
        for name, field in find_part(kind, called).fields.items():
            if not _is_free(name):
                raise ProblemError(
                    f"the {kind} {called} declares a field {name!r:.60}; a field has a name of "
                    "small letters, digits and '_', none that problems or tables of results use"
                )
            other = found.setdefault(name, field)
            if other is not field and other != field:
                raise ProblemError(
                    f"two parts declare a field {name}, and not the same; give one another name"
                )
    return found


@cache  # asked for each problem that is made
def _is_free(name: str) -> bool:
    return re.fullmatch(FIELD_NAME, name) is not None and name not in TAKEN
