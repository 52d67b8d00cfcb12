"""Parts as a problem names them: found, checked, and their fields put together."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from recallscope.common.checks import whole_number
from recallscope.common.errors import ProblemError
from recallscope.problem.field import Field
from recallscope.problem.part import fields_of
from recallscope.problem.registry import UnknownPartError, part, register_object

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


def part_name(kind: str, name_or_part: Any) -> str:
    """The name of a part, whether the name was given or the part itself."""
    if isinstance(name_or_part, str):
        if kind == "embedding" and ARRAYS.fullmatch(name_or_part):
            return str(name_or_part)
        find_part(kind, name_or_part)
        return str(name_or_part)
    try:
        return register_object(kind, name_or_part)
    except ValueError as error:
        raise ProblemError(str(error)) from None


def part_version(kind: str, name: str) -> int:
    """The version of a part, which records are kept under."""
    version = getattr(find_part(kind, name), "version", None)
    if version is None:
        return 1
    return whole_number(f"the version of the {kind} {name}", version, 1, 10**6 - 1)


def metric_names(metrics: Any) -> tuple[str, ...]:
    """The names of metrics that were given by name or as objects, one or many of them."""
    many = list(metrics) if isinstance(metrics, (list, tuple)) else [metrics]
    named = sorted({part_name("metric", metric) for metric in many})
    for first, second in itertools.pairwise(name.partition(":")[0] for name in named):
        if first == second:
            raise ProblemError(f"there are two metrics {first}; a record could hold one only")
    return tuple(named)


def named_parts(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The kind and the name of every part among some fields; the others are the default."""
    named = {kind: fields.get(kind, default) for kind, default in PART_DEFAULTS.items()}
    metrics = named.pop("metrics")
    listed = [(kind, part_name(kind, name_or_part)) for kind, name_or_part in named.items()]
    listed += [("metric", name) for name in metric_names(metrics)]
    return without_arrays(listed)


def without_arrays(named: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Kinds and names without embeddings that are arrays of the user's, which no registry has."""
    return [kind_and_name for kind_and_name in named if not ARRAYS.fullmatch(kind_and_name[1])]


def declared_by(parts: Iterable[tuple[str, str]]) -> dict[str, Field]:
    """The fields that parts add to a problem which names them; two may share one and the same.

    >>> list(declared_by([("metric", "recall-at-k"), ("model", "transformer")]))
    ['k']
    """
    fields: dict[str, Field] = {}
    owners: dict[str, str] = {}
    for kind, called in parts:
        owner = f"the {kind} {called.partition(':')[0]}"
        for name, field in fields_of(find_part(kind, called)).items():
            other = fields.setdefault(name, field)
            if other != field:
                raise ProblemError(
                    f"{owners[name]} and {owner} both have a field {name}, and not the same; "
                    "give one of them another name"
                )
            owners.setdefault(name, owner)
    return fields
