"""Labels and captions of the problems that a figure shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.problem.naming import PART_DEFAULTS, declared_by, named_parts

LETTERS = {"vocab": "V", "samples": "N", "dim": "d", "length": "L", "width": "m"}


def letter(name: str) -> str:
    """How a field is called in a formula.

    >>> letter("dim"), letter("learning_rate")
    ('d', 'learning rate')
    """
    return LETTERS.get(name, name.replace("_", " "))


def axis_label(name: str) -> str:
    """The label of an axis.

    >>> axis_label("dim"), axis_label("learning_rate")
    ('d, dim', 'learning rate')
    """
    return f"{LETTERS[name]}, {name}" if name in LETTERS else letter(name)


def describe_fields(fields: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a problem as words, by name, without sizes of None.

    >>> list(describe_fields({"vocab": 512, "samples": None, "embedding": "sphere"}).values())
    ['V=512', 'attention alone', 'sphere embeddings']
    >>> list(describe_fields({"vocab": 512, "embedding": "sphere", "own": "train"}).values())
    ['experiment train', 'V=512']
    """
    words = {
        name: f"{letter}={fields[name]}"
        for name, letter in LETTERS.items()
        if fields.get(name) is not None
    }
    if fields.get("own"):  # of the user's, with another model
        return {"own": f"experiment {fields['own'].partition(' ')[0]}"} | words
    activation = fields.get("activation")
    words["activation"] = f"{activation} MLP" if activation else "attention alone"
    words["embedding"] = f"{fields['embedding']} embeddings"
    if fields.get("trigger_in_values"):
        words["trigger_in_values"] = "trigger in the values"
    if fields.get("regime") == "literal":
        words["regime"] = f"literal steps η={fields['eta']:g}, γ={fields['gamma']:g}"
    return words | _describe_parts(fields)


def _describe_parts(fields: Mapping[str, Any]) -> dict[str, str]:
    """The parts that are not the usual ones, and what was chosen for the fields that they add."""
    words = {
        name: f"{phrase} {fields[name]}"
        for name, phrase in (("task", "task"), ("model", "model"), ("learner", "learnt by"))
        if fields.get(name, PART_DEFAULTS[name]) not in (None, PART_DEFAULTS[name])
    }
    named = {kind: fields[kind] for kind in PART_DEFAULTS if fields.get(kind) is not None}
    try:
        declared = declared_by(named_parts(named))
    except ProblemError:  # a part of somebody else's, who is not here
        return words
    for name, field in declared.items():
        value = fields.get(name)
        if value is not None and value != field.default:
            words[name] = f"{name.replace('_', ' ')} {value}"
    return words


def describe_common_fields(many: Iterable[Mapping[str, Any]]) -> str:
    """Return what is the same for all problems, as one phrase."""
    words = [describe_fields(fields) for fields in many]
    return ", ".join(
        text
        for name, text in words[0].items()
        if all(phrases.get(name) == text for phrases in words)
    )


def noise_label(name: str) -> str:
    """The name of a noise as it is read.

    >>> noise_label("mean_bias"), noise_label("mlp_noise")
    ('mean bias', 'MLP noise')
    """
    return name.replace("_", " ").replace("mlp", "MLP")


def bottleneck_label(stage: str, noise: str, stages: int) -> str:
    """The name of a bottleneck, with its stage where a figure has several.

    >>> bottleneck_label("recall", "mlp_noise", 1), bottleneck_label("attention", "mean_bias", 2)
    ('MLP noise', 'attention: mean bias')
    """
    return f"{stage.replace('_', ' ')}: {noise_label(noise)}" if stages > 1 else noise_label(noise)


def accuracy_label(accuracy: str) -> str:
    """The name of an accuracy as it is read: first gradient, attention or recall."""
    return accuracy.removesuffix("_accuracy").replace("_", " ")
