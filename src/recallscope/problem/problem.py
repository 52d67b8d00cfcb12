"""The one description of an experiment: what is to be learnt, by what, from how much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recallscope.common.checks import LARGEST_SEED as LARGEST_SEED
from recallscope.common.checks import LARGEST_SIZE as LARGEST_SIZE
from recallscope.common.checks import checked_samples, step_size
from recallscope.common.checks import choice as choice
from recallscope.common.checks import shown as shown
from recallscope.common.checks import whole_number as whole_number
from recallscope.common.errors import ProblemError as ProblemError
from recallscope.common.errors import did_you_mean
from recallscope.problem.field import Field
from recallscope.problem.key import canonical, digest
from recallscope.problem.long_values import known_among, learn
from recallscope.problem.naming import (
    ARRAYS,
    PART_DEFAULTS,
    MissingPartError,
    declared_by,
    find_part,
    metric_names,
    named_parts,
    part_name,
    part_version,
    without_arrays,
)
from recallscope.problem.part import Part, values_of, with_values
from recallscope.problem.registry import packed, unpack

SCHEMA_VERSION = 4
"""Of keys and stores. It rises where a record or its key would be written otherwise."""

ACTIVATIONS = ("relu", "gelu", "tanh", "quadratic", "identity", "centred-relu")
REGIMES = ("limit", "literal")
DTYPES = ("float32", "float64")

FIELDS = (
    *("vocab", "samples", "dim", "length", "width", "activation", "embedding"),
    *("trigger_in_values", "regime", "eta", "gamma", "task", "model", "learner", "metrics"),
)
"""The fields of every problem; its parts declare others."""

_SIZES = ("vocab", "samples", "dim", "length")
_KINDS = tuple(kind for kind in PART_DEFAULTS if kind != "metrics")


@dataclass(frozen=True, init=False, repr=False)
class Problem:
    """One experiment, complete but for its seed.

    A sequence of `length` tokens out of `vocab` has one position marked by a trigger. The label is
    the image of that token under a fixed permutation. A transformer of one attention layer over
    frozen embeddings of dimension `dim` learns it from `samples` sequences.

    Args:
        vocab: V, the number of tokens and of facts.
        samples: N, the size of the one training batch; `math.inf` for its expectation.
        dim: d, the dimension of the embeddings.
        length: L, the number of tokens in a sequence.
        width: m, the width of the frozen random MLP; None for attention alone.
        activation: of the MLP; 'relu' where a width is given and no activation.
        embedding: 'sphere', 'gaussian', 'rademacher', 'orthogonal', or the name of given
            arrays (see `Embeddings.name`).
        trigger_in_values: whether the trigger is added to the values as well as to the keys.
        regime: 'limit' (η → 0, γ → ∞) or 'literal' (finite step sizes).
        eta: η, the step size of the first step; only in the literal regime.
        gamma: γ, the step size of the second and third; only in the literal regime.
        task: what is to be recalled.
        model: what learns it.
        learner: how it learns.
        metrics: what to measure of it in addition to the accuracies.
        declared: the fields that these parts have, by their names.

    Embedding, task, model, learner and metrics are parts. Parts of this package or of another
    installed one are given by name, others as objects (docs/extending.md).

    >>> problem = Problem(vocab=512, samples=8192, dim=64, length=32)
    >>> problem.embedding, problem.width
    ('sphere', None)
    >>> Problem.from_dict(problem.to_dict()) == problem
    True
    >>> Problem(vocab=512, samples=8192, dim=64, length=0)
    Traceback (most recent call last):
    recallscope.ProblemError: length must be a whole number from 1 to 2^53, not 0
    """

    vocab: int
    samples: float
    dim: int
    length: int
    width: int | None
    activation: str | None
    embedding: str
    trigger_in_values: bool
    regime: str
    eta: float | None
    gamma: float | None
    task: str
    model: str
    learner: str
    metrics: tuple[str, ...]
    declared: tuple[tuple[str, Any], ...]
    """The fields that the parts declare, with their values, in the order of their names."""

    def __init__(
        self,
        *,
        vocab: int,
        samples: float,
        dim: int,
        length: int,
        width: int | None = None,
        activation: str | None = None,
        embedding: Any = "sphere",
        trigger_in_values: bool = False,
        regime: str = "limit",
        eta: float | None = None,
        gamma: float | None = None,
        task: Any = "recall",
        model: Any = "transformer",
        learner: Any = "three-step",
        metrics: Any = (),
        **declared: Any,
    ) -> None:
        self._settle("vocab", whole_number("vocab", vocab, 2))
        self._settle("samples", checked_samples(samples))
        self._settle("dim", whole_number("dim", dim, 1))
        self._settle("length", whole_number("length", length, 1))
        self._settle("width", None if width is None else whole_number("width", width, 1))
        if width is None and activation is not None:
            raise ProblemError(
                f"activation {activation!r:.60} needs an MLP to act in; give a width, "
                "or no activation for attention alone"
            )
        if width is not None:
            activation = "relu" if activation is None else activation
            activation = choice("activation", activation, ACTIVATIONS)
        self._settle("activation", activation)
        if not isinstance(trigger_in_values, bool):
            raise ProblemError(
                f"trigger_in_values must be true or false, not {shown(trigger_in_values)}"
            )
        self._settle("trigger_in_values", trigger_in_values)
        self._settle("regime", choice("regime", regime, REGIMES))
        self._settle("eta", eta)
        self._settle("gamma", gamma)
        self._check_regime()
        named = {"embedding": embedding, "task": task, "model": model, "learner": learner}
        for kind, name_or_part in named.items():
            self._settle(kind, part_name(kind, name_or_part))
        self._settle("metrics", metric_names(metrics))
        # `dataclasses.replace` gives those of the problem before as what they are kept in.
        declared = dict(declared.pop("declared", ())) | declared
        declared = _values_of_objects([*named.values(), metrics]) | declared
        parts = self.parts()
        self._settle("declared", _checked(declared, declared_by(parts)))
        least = smallest_dim(self.embedding, self.vocab)
        if self.dim < least:
            raise ProblemError(
                f"{self.embedding} embeddings of {self.vocab} tokens and a trigger need dim >= "
                f"{least}, but dim is {self.dim}; raise dim or choose another embedding"
            )
        for kind, name in parts:
            self.part(kind, name).check(self)

    def _settle(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def parts(self) -> list[tuple[str, str]]:
        """The kind and the name of every part, without given arrays.

        >>> Problem(vocab=512, samples=8192, dim=64, length=32).parts()[0]
        ('embedding', 'sphere')
        """
        named = [(kind, getattr(self, kind)) for kind in PART_DEFAULTS if kind != "metrics"]
        return without_arrays([*named, *(("metric", name) for name in self.metrics)])

    def part(self, kind: str, name: str = "") -> Any:
        """The part of a kind, with this problem's values of its fields.

        Args:
            kind: embedding, task, model, learner or metric.
            name: of which metric.

        Returns:
            An object of the part's class.

        >>> problem = Problem(vocab=64, samples=512, dim=16, length=4, learner="adam", steps=10)
        >>> problem.part("learner").steps
        10
        """
        return with_values(find_part(kind, name or getattr(self, kind)), dict(self.declared))

    def __reduce__(self) -> tuple[Any, ...]:
        """Long values and parts that are objects travel along: others could not find them."""
        long = known_among(value for _, value in self.declared)
        return _unpickle, (dict(self.__dict__), packed(self.parts()), long)

    if not TYPE_CHECKING:  # to which a misspelt field is a mistake; those of parts: problem["k"]

        def __getattr__(self, name: str) -> Any:
            # Only asked for what is not there: the fields of parts read like all others.
            for declared, value in self.__dict__.get("declared", ()):
                if declared == name:
                    return value
            raise AttributeError(f"a problem has no field {name!r}")

    def __getitem__(self, name: str) -> Any:
        """A field by its name; type checkers do not know those that parts declare."""
        return getattr(self, name)

    def __repr__(self) -> str:
        fields = {name: getattr(self, name) for name in FIELDS}
        usual = [name for name, default in PART_DEFAULTS.items() if fields[name] == default]
        shown = {name: fields[name] for name in FIELDS if name not in usual} | self.chosen
        return f"Problem({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    @property
    def chosen(self) -> dict[str, Any]:
        """Of the fields that the parts declare, those that are not what they are by default."""
        if not self.declared:
            return {}
        try:
            fields = declared_by(self.parts())
        except MissingPartError:  # read from a store, which keeps those that were chosen
            fields = {}
        return {
            name: value
            for name, value in self.declared
            if name not in fields or value != fields[name].default
        }

    def _check_regime(self) -> None:
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
            self._settle(field, step_size(field, getattr(self, field)))
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

        It is a hash of every value, defaults written out, and of the versions of the parts. What is
        measured is no part of it: the metrics, and their fields at their defaults.

        >>> a = Problem(vocab=512, samples=8192, dim=64, length=32)
        >>> b = Problem(length=32, dim=64, samples=8192.0, vocab=512, embedding="sphere")
        >>> a.key == b.key, len(a.key)
        (True, 32)
        """
        return self.key_with(self.part_versions())

    def key_with(self, versions: Mapping[str, int]) -> str:
        """The key with the versions that the parts had when a record was made."""
        fields = {name: getattr(self, name) for name in FIELDS if name != "metrics"}
        fields = _for_json(fields | self.keyed_fields())
        named = {kind: versions[kind] for kind in _KINDS if kind in versions}
        return digest(f"recallscope {SCHEMA_VERSION} {canonical({**fields, 'versions': named})}")

    def keyed_fields(self) -> dict[str, Any]:
        """Of the fields that parts declare, those in the key: all but defaults of the metrics."""
        parts = self.parts()
        try:
            needed = declared_by([part for part in parts if part[0] != "metric"])
            measured = declared_by([part for part in parts if part[0] == "metric"])
        except MissingPartError:  # read from a store, which keeps those that were in the key
            return dict(self.declared)
        return {
            name: value
            for name, value in self.declared
            if name in needed or value != measured[name].default
        }

    def part_versions(self) -> dict[str, int]:
        """The version of every part: by kind, and of metrics by name.

        >>> Problem(vocab=512, samples=8192, dim=64, length=32).part_versions()
        {'embedding': 1, 'task': 1, 'model': 1, 'learner': 1}
        """
        return {
            name if kind == "metric" else kind: part_version(kind, name)
            for kind, name in self.parts()
        }

    def replace(self, **changes: Any) -> Problem:
        """The same problem with some fields changed, and checked again.

        Fields without a meaning after the change are left out, unless the change names them.
        Examples are the activation without an MLP, and step sizes in the limit regime.

        Args:
            changes: fields by name.

        Returns:
            A new problem; this one stays as it is.

        Raises:
            ProblemError: an unknown field, or an impossible value.

        >>> problem = Problem(vocab=512, samples=8192, dim=64, length=32, width=128)
        >>> problem.replace(dim=96).dim, problem.replace(width=None).activation
        (96, None)
        """
        fields = {name: getattr(self, name) for name in FIELDS} | changes
        without_meaning = {"activation"} if fields["width"] is None else set()
        if fields["regime"] == "limit":
            without_meaning |= {"eta", "gamma"}
        fields |= dict.fromkeys(without_meaning - changes.keys())
        # What another part does not declare falls away with the part that did.
        known = declared_by(named_parts(fields)) if self.declared else {}
        kept = {name: value for name, value in self.declared if name in known}
        return Problem.from_dict(kept | fields)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON: an infinite number of samples is written 'inf'.

        Those fields that parts declare are there where they are not what they are by default.
        """
        return _for_json({name: getattr(self, name) for name in FIELDS} | self.chosen)

    def keyed_dict(self) -> dict[str, Any]:
        """The same with the key, as results have their problem."""
        return self.to_dict() | {"key": self.key}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Problem:
        """A problem from plain values; unknown and missing fields are errors.

        A `key` among them, as results have it, must be that of the problem.

        Args:
            fields: plain values by name.

        Returns:
            The problem, checked.

        Raises:
            ProblemError: fields that are missing, unknown or cannot be.
        """
        if not isinstance(fields, Mapping):
            raise ProblemError(f"a problem is a dictionary of its fields, not {shown(fields)}")
        if "key" in fields:
            rest = {name: value for name, value in fields.items() if name != "key"}
            problem = cls.from_dict(rest)
            if fields["key"] != problem.key:
                raise ProblemError(f"the key {fields['key']!r:.80} is not that of these fields")
            return problem
        for name in fields:
            if not isinstance(name, str) or name in ("self", "declared"):
                raise ProblemError(f"unknown field {name!r:.60}; fields have names such as vocab")
        for name in _SIZES:
            if name not in fields:
                raise ProblemError(
                    f"{name} is missing; a problem needs vocab, samples, dim, length"
                )
        return cls(**fields)


def _unpickle(fields: dict[str, Any], parts: bytes, long: dict[str, str]) -> Problem:
    """A problem as another process sent it, which has checked it."""
    unpack(parts)
    learn(long)
    problem = object.__new__(Problem)
    problem.__dict__.update(fields)
    return problem


def _for_json(fields: dict[str, Any]) -> dict[str, Any]:
    if math.isinf(fields["samples"]):
        fields["samples"] = "inf"
    if "metrics" in fields:
        fields["metrics"] = list(fields["metrics"])
    return fields


def _values_of_objects(parts: list[Any]) -> dict[str, Any]:
    """The values of parts that were given as objects, where they are not the defaults."""
    values: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, (list, tuple)):
            values |= _values_of_objects([*part])
        elif isinstance(part, Part):
            values |= values_of(part)
    return values


def _checked(
    fields: Mapping[str, Any], declarations: Mapping[str, Field]
) -> tuple[tuple[str, Any], ...]:
    """All declared fields, those that were not given with their defaults."""
    for name in declarations:
        if name in Problem.__dataclass_fields__ or hasattr(Problem, name):
            raise ProblemError(
                f"a part has a field {name}, which every problem has already; give it another name"
            )
    for name in fields:
        if name not in declarations:
            known = [*FIELDS, *declarations]
            raise ProblemError(
                f"unknown field {name!r:.60}; the fields are {', '.join(known)}"
                f"{did_you_mean(name, known)}"
            )
    try:
        return tuple(
            (name, field.checked(name, fields[name]) if name in fields else field.default)
            for name, field in sorted(declarations.items())
        )
    except ValueError as error:
        raise ProblemError(str(error)) from None


def smallest_dim(embedding: str, vocab: int) -> int:
    """The least dimension in which there are such embeddings of so many tokens.

    >>> smallest_dim("orthogonal", vocab=64)
    65
    """
    if ARRAYS.fullmatch(embedding):
        return 1
    least: int = find_part("embedding", embedding).smallest_dim(vocab)
    return least


def check_dtype(dtype: str) -> None:
    """Raise unless experiments can be run with numbers of this kind."""
    choice("dtype", dtype, DTYPES)
