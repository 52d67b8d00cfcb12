"""Many problems at once: the sizes and options of problems as arrays of one shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from recallscope.common.checks import LARGEST_SIZE
from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Bool, Float, Int64
from recallscope.problem.naming import find_part
from recallscope.problem.part import fields_of
from recallscope.problem.problem import ACTIVATIONS, Problem

Array = Float[np.ndarray, ...]
POPULATION = 1e100
"""Stands for the population, N = ∞: nothing of order 1/N is left, and no inf minus inf is met."""

_ATTENTION_ALONE = ACTIVATIONS.index("identity")

OVERFLOW = (
    "no closed form at these sizes: terms of it leave the range of floating-point numbers; choose "
    "sizes that are less far apart"
)


class ProblemArrays(NamedTuple):
    """Problems as arrays: what the closed forms are functions of.

    Attention alone is the identity in an infinitely wide MLP, so one formula serves both models.
    """

    vocab: Float[np.ndarray, "*n"]
    samples: Float[np.ndarray, "*n"]
    dim: Float[np.ndarray, "*n"]
    length: Float[np.ndarray, "*n"]
    width: Float[np.ndarray, "*n"]
    activation: Int64[np.ndarray, "*n"]  # index into ACTIVATIONS
    gaussian: Bool[np.ndarray, "*n"]  # lengths of embeddings fluctuate
    orthogonal: Bool[np.ndarray, "*n"]
    marked: Bool[np.ndarray, "*n"]  # the trigger is in the values

    @property
    def per_token(self) -> Float[np.ndarray, "*n"]:
        """λ = N/V, the samples that show each fact."""
        return self.samples / self.vocab

    @property
    def effective_dim(self) -> Float[np.ndarray, "*n"]:
        """The d of the formulas: 1/d is the mean square overlap, so inf for orthogonal ones."""
        return np.where(self.orthogonal, np.inf, self.dim)

    def take(self, where: Any) -> ProblemArrays:
        """Some of the problems."""
        return take(self, where)


T = TypeVar("T", bound=tuple[Any, ...])


def take(fields: T, where: Any) -> T:
    """Some of the problems that a named tuple of arrays, or of arrays by name, is about."""
    return type(fields)(
        *(
            {name: values[where] for name, values in field.items()}
            if isinstance(field, dict)
            else field[where]
            for field in fields
        )
    )


def problem_arrays(
    *,
    vocab: Any,
    samples: Any,
    dim: Any,
    length: Any,
    width: Any = None,
    activation: Any = None,
    embedding: Any = "sphere",
    trigger_in_values: Any = False,
) -> ProblemArrays:
    """Broadcast sizes and options to arrays of one shape, and check their ranges.

    Names are those of `Problem`. A width of None or infinity is attention alone, whatever the
    activation. Sizes need not be whole. Numbers become arrays of one element.

    >>> s = problem_arrays(vocab=512, samples=[1e3, 1e4], dim=64, length=32)
    >>> s.per_token.round(2), s.effective_dim
    (array([ 1.95, 19.53]), array([64., 64.]))
    """
    sizes = {
        name: _sizes(name, value, smallest)
        for name, value, smallest in (
            ("vocab", vocab, 2),
            ("samples", samples, 1),
            ("dim", dim, 1),
            ("length", length, 1),
            ("width", np.inf if width is None else width, 1),
        )
    }
    sizes["samples"] = np.minimum(sizes["samples"], POPULATION)
    codes = _codes(activation)
    family = np.asarray(embedding)
    forms = np.empty(family.shape, dtype="U20")
    for name in np.unique(family):
        form = form_of(str(name))
        if form is None:
            raise NoClosedFormError(_no_form_message("embedding", str(name)))
        forms[family == name] = form
    alone = np.isinf(sizes["width"])
    codes = np.where(alone, _ATTENTION_ALONE, codes)
    arrays = np.broadcast_arrays(
        *sizes.values(),
        codes,
        forms == "gaussian",
        forms == "orthogonal",
        np.asarray(trigger_in_values, dtype=bool),
    )
    made = ProblemArrays(*(np.atleast_1d(array) for array in arrays))
    if np.any(made.orthogonal & (made.dim < made.vocab + 1)):
        raise ProblemError(
            "orthogonal embeddings need dim >= vocab + 1 (the trigger needs a direction too)"
        )
    return made


def arrays_of(problems: Problem | Iterable[Problem]) -> ProblemArrays:
    """The same from problems.

    >>> arrays_of(Problem(vocab=512, samples=8192, dim=64, length=32)).vocab
    array([512.])
    """
    listed: list[Problem] = [problems] if isinstance(problems, Problem) else list(problems)
    for problem in listed:
        if sentence := no_closed_form(problem):
            raise NoClosedFormError(sentence)
    return problem_arrays(
        **{
            name: [getattr(problem, name) for problem in listed]
            for name in ("vocab", "samples", "dim", "length", "embedding", "trigger_in_values")
        },
        width=[problem.width or np.inf for problem in listed],
        activation=[problem.activation or "identity" for problem in listed],
    )


class NoClosedFormError(ProblemError):
    """The closed forms say nothing of this problem; the message says because of what."""


def no_closed_form(problem: Problem) -> str | None:
    """Why the closed forms say nothing of a problem; None if they do.

    A closed form is only used for what it was derived for: a part says so of itself.

    >>> no_closed_form(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> no_closed_form(
    ...     Problem(vocab=64, samples=99, dim=8, length=4, embedding="arrays:0123456789abcdef"))
    'no closed form for your arrays'
    """
    if form_of(problem.embedding) is None:
        return _no_form_message("embedding", problem.embedding)
    if strange := no_form_for_parts(problem):
        return strange
    if problem.regime != "limit":
        return (
            "no closed form: they hold in the limit regime (η → 0, γ → ∞), not in the "
            f"{problem.regime} regime; leave regime, eta and gamma out"
        )
    return None


def no_form_for_parts(problem: Problem, free: Iterable[str] = ()) -> str | None:
    """Why no closed form is about the task, model or learner of a problem; None if one is.

    Fields that are `free` may have any value.
    """
    strange = part_without_form(problem, free)
    return None if strange is None else _no_form_message(*strange)


def part_without_form(problem: Problem, free: Iterable[str] = ()) -> tuple[str, str] | None:
    """The kind and name of the task, model or learner that no closed form is about, if any.

    The formulas were derived for parts at their defaults: one of their fields may be it too.
    """
    for kind in ("task", "model", "learner"):
        part = problem.part(kind)
        fields = fields_of(part)
        if not part.closed_form:
            return kind, getattr(problem, kind)
        for name, value in problem.declared:
            if name in fields and name not in free and value != fields[name].default:
                return name, str(value)
    return None


def form_of(embedding: str) -> str | None:
    """Which formulas are right for an embedding, if any."""
    if embedding.startswith("arrays:"):
        return None
    form: str | None = find_part("embedding", embedding).closed_form
    if form not in (None, "sphere", "gaussian", "orthogonal", "table"):
        raise ProblemError(
            f"the embedding {embedding} declares the closed forms of {form!r:.60}; "
            "there are those of sphere, gaussian, orthogonal and table"
        )
    return None if form == "table" else form  # which is worked out from a table that is drawn


def _no_form_message(kind: str, name: str) -> str:
    if name.startswith("arrays:"):
        return "no closed form for your arrays"
    # A part without its mark.
    return f"no closed form for the {kind.replace('_', ' ')} {name.partition(':')[0]}"


def _sizes(name: str, value: Any, smallest: int) -> Float[np.ndarray, "*n"]:
    try:
        sizes = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ProblemError(f"{name} must be numbers, not {value!r}") from None
    infinite = name in ("samples", "width")
    fine = (sizes >= smallest) & ((sizes <= LARGEST_SIZE) | (infinite & np.isinf(sizes)))
    if not np.all(fine):
        worst = np.atleast_1d(sizes)[~np.atleast_1d(fine)][0]
        raise ProblemError(
            f"{name} must be from {smallest} to 2^53{', or inf' if infinite else ''}, not {worst:g}"
        )
    return sizes


def _codes(activation: Any) -> Int64[np.ndarray, "*n"]:
    names = np.asarray("relu" if activation is None else activation)
    codes = np.full(names.shape, -1)
    for code, name in enumerate(ACTIVATIONS):
        codes[names == name] = code
    if np.any(codes < 0):
        wrong = np.atleast_1d(names)[np.atleast_1d(codes) < 0][0]
        raise ProblemError(f"activation must be one of {', '.join(ACTIVATIONS)}, not {wrong!s}")
    return codes
