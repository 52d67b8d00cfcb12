"""The one description of an experiment: what is to be learnt, by what, from how much."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

SCHEMA_VERSION = 1
"""Raised whenever the same problem and seed would give another record."""

ACTIVATIONS = ("relu", "gelu", "tanh", "quadratic", "identity")
FAMILIES = ("sphere", "gaussian", "rademacher", "orthogonal")
REGIMES = ("limit", "literal")
DTYPES = ("float32", "float64")

LARGEST_SIZE = 2**53
"""Sizes up to here are exact as floating-point numbers, which the closed forms rely on."""

LARGEST_SEED = 2**63 - 1

_ARRAYS = re.compile(r"arrays:[0-9a-f]{16}")


class ProblemError(ValueError):
    """A problem, or something given with it, that cannot be: one sentence that says why.

    >>> try:
    ...     Problem(vocab=1, samples=100, dim=8, length=4)
    ... except ProblemError as error:
    ...     print(error)
    vocab must be a whole number from 2 to 2^53, not 1
    """


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One experiment, complete but for its seed.

    A sequence of `length` tokens out of `vocab` has one position marked by a trigger; the
    label is the image of that token under a fixed permutation. A transformer of one attention
    layer over frozen embeddings of dimension `dim` learns it from `samples` sequences.

    Args:
        vocab: V, the number of tokens and of facts.
        samples: N, the size of the one training batch; `math.inf` for its expectation.
        dim: d, the dimension of the embeddings.
        length: L, the number of tokens in a sequence.
        width: m, the width of the frozen random MLP; None for attention alone.
        activation: of the MLP; 'relu' where a width is given and no activation.
        embedding: 'sphere', 'gaussian', 'rademacher', 'orthogonal', or the name of your own
            arrays (see `Embeddings.name`).
        trigger_in_values: whether the trigger is added to the values as well as to the keys.
        regime: 'limit' (η → 0, γ → ∞) or 'literal' (finite step sizes).
        eta: η, the step size of the first step; only in the literal regime.
        gamma: γ, the step size of the second and third; only in the literal regime.

    >>> problem = Problem(vocab=512, samples=8192, dim=64, length=32)
    >>> problem.embedding, problem.width
    ('sphere', None)
    >>> Problem.from_json(problem.to_json()) == problem
    True
    >>> Problem(vocab=512, samples=8192, dim=64, length=0)
    Traceback (most recent call last):
    recallscope.problem.ProblemError: length must be a whole number from 1 to 2^53, not 0
    """

    vocab: int
    samples: float
    dim: int
    length: int
    width: int | None = None
    activation: str | None = None
    embedding: str = "sphere"
    trigger_in_values: bool = False
    regime: str = "limit"
    eta: float | None = None
    gamma: float | None = None

    def __post_init__(self) -> None:
        self._settle("vocab", whole_number("vocab", self.vocab, 2))
        self._settle("samples", _samples(self.samples))
        self._settle("dim", whole_number("dim", self.dim, 1))
        self._settle("length", whole_number("length", self.length, 1))
        if self.width is not None:
            self._settle("width", whole_number("width", self.width, 1))
        if self.width is None and self.activation is not None:
            raise ProblemError(
                f"activation {self.activation!r} needs an MLP to act in; give a width, "
                "or no activation for attention alone"
            )
        if self.width is not None:
            activation = "relu" if self.activation is None else self.activation
            self._settle("activation", _choice("activation", activation, ACTIVATIONS))
        if not isinstance(self.trigger_in_values, bool):
            raise ProblemError(
                f"trigger_in_values must be true or false, not {self.trigger_in_values!r}"
            )
        self._check_embedding()
        self._check_regime()

    def _settle(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _check_embedding(self) -> None:
        name = self.embedding
        if isinstance(name, str) and _ARRAYS.fullmatch(name):
            return
        if not isinstance(name, str) or name not in FAMILIES:
            raise ProblemError(
                f"embedding must be one of {', '.join(FAMILIES)} or the name of your own arrays "
                f"(arrays: and 16 hexadecimal digits), not {_shown(name)}"
            )
        self._settle("embedding", str(name))
        if name == "orthogonal" and self.dim < self.vocab + 1:
            raise ProblemError(
                f"orthogonal embeddings need dim >= vocab + 1 = {self.vocab + 1} (the trigger "
                f"needs a direction too), but dim is {self.dim}; "
                "raise dim or choose another embedding"
            )

    def _check_regime(self) -> None:
        self._settle("regime", _choice("regime", self.regime, REGIMES))
        if self.regime == "limit":
            for field in ("eta", "gamma"):
                if getattr(self, field) is not None:
                    raise ProblemError(
                        f"{field} has no meaning in the limit regime; "
                        "leave it out, or choose the literal regime"
                    )
            return
        for field in ("eta", "gamma"):
            if getattr(self, field) is None:
                raise ProblemError(f"the literal regime needs {field}, a positive step size")
            self._settle(field, _step_size(field, getattr(self, field)))
        if math.isinf(self.samples):
            raise ProblemError(
                "the literal regime needs a finite number of samples, not inf; "
                "the expectation over the population is known in the limit regime only"
            )

    @property
    def hidden(self) -> int:
        """The number of features the value matrix reads: m, or d for attention alone."""
        return self.width or self.dim

    @property
    def key(self) -> str:
        """A content key: equal for equal problems, on every machine.

        >>> a = Problem(vocab=512, samples=8192, dim=64, length=32)
        >>> b = Problem(length=32, dim=64, samples=8192.0, vocab=512, embedding="sphere")
        >>> a.key == b.key, len(a.key)
        (True, 32)
        """
        text = f"recallscope problem {SCHEMA_VERSION} {self.to_json()}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def replace(self, **changes: Any) -> Problem:
        """The same problem with some fields changed, and checked again.

        >>> Problem(vocab=512, samples=8192, dim=64, length=32).replace(dim=128).dim
        128
        """
        return Problem.from_dict(dataclasses.asdict(self) | changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON: an infinite number of samples is written 'inf'."""
        fields = dataclasses.asdict(self)
        if math.isinf(self.samples):
            fields["samples"] = "inf"
        return fields

    def to_json(self) -> str:
        """Canonical JSON: sorted fields, no spaces, every field present."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Problem:
        """A problem from plain values; unknown and missing fields are errors."""
        known = {field.name: field for field in dataclasses.fields(cls)}
        for name in fields:
            if name not in known:
                raise ProblemError(f"unknown field {name!r}; the fields are {', '.join(known)}")
        for name, field in known.items():
            if field.default is dataclasses.MISSING and name not in fields:
                raise ProblemError(
                    f"{name} is missing; a problem needs vocab, samples, dim, length"
                )
        return cls(**fields)

    @classmethod
    def from_json(cls, text: str) -> Problem:
        """The inverse of `to_json`."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ProblemError(f"not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise ProblemError(f"a problem is a JSON object, not {type(fields).__name__}")
        return cls.from_dict(fields)


def whole_number(
    name: str, value: object, smallest: int, largest: int = LARGEST_SIZE, instead: str = ""
) -> int:
    """The value as an int, or an error that says what was expected: 1e6 and NumPy's will do.

    >>> whole_number("dim", 64.0, smallest=1)
    64
    """
    number = smallest - 1
    if isinstance(value, bool):
        pass  # to Python it is a number
    elif isinstance(value, Integral):
        number = int(value)
    elif isinstance(value, Real) and float(value).is_integer() and abs(float(value)) <= 2**53:
        number = int(float(value))
    if smallest <= number <= largest:
        return number
    top = {LARGEST_SIZE: "2^53", LARGEST_SEED: "2^63 - 1"}.get(largest, largest)
    raise ProblemError(
        f"{name} must be a whole number from {smallest} to {top}{instead}, not {_shown(value)}"
    )


def check_dtype(dtype: str) -> None:
    """Raise unless experiments can be run with numbers of this kind."""
    _choice("dtype", dtype, DTYPES)


def _samples(value: object) -> float:
    if isinstance(value, (str, float)) and value in ("inf", math.inf):
        return math.inf
    return whole_number("samples", value, 1, instead=", or inf")


def _choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ProblemError(f"{name} must be one of {', '.join(choices)}, not {_shown(value)}")
    return str(value)  # plain: it travels to processes that may not know the class of the value


def _step_size(name: str, value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e300:
        return float(value)
    raise ProblemError(f"{name} must be a positive, finite number, not {_shown(value)}")


def _shown(value: object) -> str:
    """A value as an error shows it, however long it was."""
    try:
        text = repr(value).replace("\n", " ")
    except ValueError:  # Python writes out no integer of more than 4,300 digits
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:57]}..."
