"""What a model is: a module that is built for a problem, and gives every label a logit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from recallscope.parts.field import ADDED, Field
from recallscope.parts.renamed import renamed
from recallscope.problem import Problem, no_check

if TYPE_CHECKING:
    from recallscope.models.instance import Instance


@dataclass(frozen=True, kw_only=True)
class Model:
    """A kind of model.

    Attributes:
        build: a module for an instance, its weights drawn from the instance's seed alone. It is
            called with tokens (n×L) and the marked positions (n), and gives logits (n×vocab); or,
            if it reads ids, with `input_ids` (n×T) alone, as language models are, and gives logits
            of every position, or an object that has them as `logits`.
        reads_ids: whether it is a map from `input_ids` to logits.
        fields: what it adds to problems.
        check: raises `ProblemError` for a problem that it cannot serve.
        closed_form: whether the formulas for one attention layer hold for it.
        name: needed only if it is handed over as an object.
        version: raised when the same problem and seed give another record; part of record keys.
    """

    build: Callable[[Instance], Any]
    reads_ids: bool = False
    fields: Mapping[str, Field] = field(default_factory=dict)
    check: Callable[[Problem], None] = no_check
    closed_form: bool = False
    name: str = ""
    version: int = field(default=1, metadata=ADDED)


__getattr__ = renamed(__name__, {"ModelKind": "Model"})
