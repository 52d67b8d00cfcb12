"""A sweep written down as a TOML file: what is fixed, what varies, and how it is run.

    seeds = 8

    [problem]
    vocab = 128
    length = 8

    [grid]
    dim = [32, 64, 128]
    samples = { from = 64, to = 8192, count = 12 }

A file holds values only. Nothing in it is ever executed.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recallscope.cell import MOST_PROBLEMS, MOST_SEARCHES, Cell, Settings, check_amount
from recallscope.common.given_files import read_regular
from recallscope.executors.limits import Limits
from recallscope.measurement.axis import sizes_between
from recallscope.measurement.critical import CriticalSearch
from recallscope.parts.field import Field
from recallscope.parts.naming import find_part
from recallscope.parts.registry import KINDS
from recallscope.problem import (
    FIELDS,
    LARGEST_SEED,
    LATER_FIELDS,
    Problem,
    ProblemError,
    whole_number,
)
from recallscope.record import accuracy_name

_LARGEST_FILE = 2**20  # bytes
_MOST_STEPS = 10**6

_FIELDS = (*FIELDS, *LATER_FIELDS)
_TOP = ("seed", "seeds", "engine", "dtype", "test_samples", "device", "time_limit", "memory_limit")
_TABLES = ("problem", "grid", "zip", "critical")
_CRITICAL = ("for", "target", "accuracy", "low", "high", "precision", "budget", "theory")


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Problems and seeds, how they are run, and, if critical sizes are sought, how."""

    fixed: dict[str, Any]
    grid: dict[str, list[Any]]
    zipped: dict[str, list[Any]]
    first_seed: int
    seeds: int
    settings: Settings
    limits: Limits
    critical: dict[str, Any] | None = None

    @property
    def size(self) -> int:
        """How many problems there are, before equal ones are counted once."""
        together = len(next(iter(self.zipped.values()))) if self.zipped else 1
        return together * math.prod(len(values) for values in self.grid.values())

    def problems(self) -> Iterator[Problem]:
        """Every combination of the grid's values, with every row of those that vary together."""
        rows = zip(*self.zipped.values(), strict=True) if self.zipped else [()]
        for row in rows:
            for combination in itertools.product(*self.grid.values()):
                varied = zip((*self.zipped, *self.grid), (*row, *combination), strict=True)
                yield self._problem(self.fixed | dict(varied))

    def _problem(self, fields: dict[str, Any]) -> Problem:
        # A field of a part is for the problems that have the part; others do without.
        if fields.keys() <= set(_FIELDS):
            return Problem.from_dict(fields)
        return Problem.from_row(fields)

    def cells(self) -> Iterator[Cell]:
        """Every problem at every seed."""
        for problem in self.problems():
            for seed in range(self.first_seed, self.first_seed + self.seeds):
                yield Cell(problem, seed)

    def searches(self) -> list[CriticalSearch]:
        """A search for the critical size of every problem; no two share a seed."""
        assert self.critical is not None
        asked = dict(self.critical)
        quantity = asked.pop("for", "samples")
        accuracy = accuracy_name(asked.pop("accuracy", "recall"))
        prior = "theory" if asked.pop("theory", True) else None
        budget = whole_number("budget", asked.get("budget", 64), 1, 10**6)
        return [
            CriticalSearch(
                problem,
                quantity,
                accuracy=accuracy,
                first_seed=self.first_seed + number * budget,
                prior=prior,
                **asked,
            )
            for number, problem in enumerate(dict.fromkeys(self.problems()))
        ]


def read_sweep(path: str | Path) -> Sweep:
    """The sweep that a TOML file describes, or an error that says what is wrong with it."""
    content = read_regular(path, "sweep file", _LARGEST_FILE)
    try:
        text = content.decode("utf-8-sig")
        _check_keys(text)
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProblemError(f"the sweep file {str(path)!r} is not TOML: {error}") from None
    return sweep_from(document)


def _check_keys(text: str) -> None:
    """Raise if keys have so many dots that reading them, in the square of those, takes minutes."""
    without_fractions = re.sub(r"\d\.\d+(?=[\s,\]}eE])", "", text)
    if sum(line.count(".") ** 2 for line in without_fractions.splitlines()) > _MOST_STEPS:
        raise ValueError("a name of it has too many dots; a sweep has names such as grid.dim")


def sweep_from(document: Mapping[str, Any]) -> Sweep:
    """A sweep from plain values; unknown names are errors that list the valid ones.

    >>> sweep = sweep_from(
    ...     {
    ...         "seeds": 2,
    ...         "problem": {"vocab": 64, "length": 4},
    ...         "grid": {"dim": [16, 32], "samples": {"from": 100, "to": 10000, "count": 3}},
    ...     }
    ... )
    >>> sweep.size, len(list(sweep.cells()))
    (6, 12)
    """
    _known("the file", document, (*_TOP, *_TABLES))
    tables = {name: document.get(name, {}) for name in _TABLES}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ProblemError(f"{name} is a table: write [{name}] and its lines below it")
    declared = _declared(tables)
    names = (*_FIELDS, *declared)
    for name in ("problem", "grid", "zip"):
        _known(f"[{name}]", tables[name], names)
    fractions = {name for name, field in declared.items() if isinstance(field.default, float)}
    grid = {name: _values(name, given, fractions) for name, given in tables["grid"].items()}
    zipped = {name: _values(name, given, fractions) for name, given in tables["zip"].items()}
    if len({len(values) for values in zipped.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(values)}" for name, values in zipped.items())
        raise ProblemError(f"what varies together needs as many values each, but {lengths}")
    for name in names:
        places = [place for place in ("problem", "grid", "zip") if name in tables[place]]
        if len(places) > 1:
            raise ProblemError(f"{name} is given twice, in {' and '.join(places)}")
    seeds = whole_number("seeds", document.get("seeds", 1), 1, 10**9)
    critical = None
    fixed = dict(tables["problem"])
    if "critical" in document:
        critical = tables["critical"]
        _known("[critical]", critical, _CRITICAL)
        if not isinstance(critical.get("accuracy", ""), str):
            raise ProblemError("accuracy is a name in quotes: recall, lock or one-step")
        if not isinstance(critical.get("theory", True), bool):
            raise ProblemError(f"theory is true or false, not {critical['theory']!r:.60}")
        if "seeds" in document:
            raise ProblemError("searches for critical sizes choose their seeds; leave seeds out")
        # The size sought has no value of its own; any that makes a problem will do.
        sought = str(critical.get("for", "samples"))
        if sought in (*fixed, *grid, *zipped):
            raise ProblemError(f"{sought} is the size sought; leave it out of the problem")
        vocabs = [fixed.get("vocab", 2), *grid.get("vocab", []), *zipped.get("vocab", [])]
        fixed[sought] = _placeholder(sought, vocabs)
    found = Sweep(
        fixed=fixed,
        grid=grid,
        zipped=zipped,
        first_seed=whole_number("seed", document.get("seed", 0), 0, LARGEST_SEED - seeds + 1),
        seeds=seeds,
        settings=_settings(document),
        limits=Limits(
            seconds=_positive("time_limit", document.get("time_limit")),
            memory=_positive("memory_limit", document.get("memory_limit")),
        ),
        critical=critical,
    )
    check_amount("the sweep", found.size, found.seeds)
    if critical is not None and found.size > MOST_SEARCHES:
        raise ProblemError(
            f"the sweep has {found.size} searches, more than {MOST_SEARCHES}; cut it into several"
        )
    return found


def _declared(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Field]:
    """The fields that the parts named in a sweep declare."""
    found: dict[str, Field] = {}
    for kind in KINDS:
        field = "metrics" if kind == "metric" else kind
        given = [tables[place].get(field, []) for place in ("problem", "grid", "zip")]
        for name in _texts(given):
            if not name.startswith("arrays:"):
                found |= find_part(kind, name).fields
    return found


def _texts(given: Any) -> Iterator[str]:
    """All texts in lists of lists."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, list):
        for each in given:
            yield from _texts(each)


def _settings(document: Mapping[str, Any]) -> Settings:
    names = ("engine", "dtype", "test_samples", "device")
    given = {name: document[name] for name in names if name in document}
    for name in ("engine", "dtype", "device"):
        if not isinstance(given.get(name, ""), str):
            raise ProblemError(f"{name} is a name in quotes, not {given[name]!r:.60}")
    if "test_samples" in given:
        given["test_samples"] = whole_number("test_samples", given["test_samples"], 1)
    return Settings(**given)


def _known(place: str, given: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in given:
        if name not in names:
            raise ProblemError(
                f"unknown name {name!r:.60} in {place}; known are {', '.join(names)}"
            )


def _values(name: str, given: Any, fractions: set[str]) -> list[Any]:
    """A list of values, or a range of them evenly spaced in the logarithm."""
    if isinstance(given, list):
        if not 1 <= len(given) <= MOST_PROBLEMS:
            raise ProblemError(f"{name} needs from 1 to {MOST_PROBLEMS} values, not {len(given)}")
        return given
    if not isinstance(given, dict) or set(given) != {"from", "to", "count"}:
        raise ProblemError(
            f"{name} varies over a list, as in [16, 32], or over a range, as in "
            f"{{ from = 16, to = 256, count = 5 }}, not {given!r:.60}"
        )
    low, high = (_positive(f"{end} of {name}", given[end]) for end in ("from", "to"))
    count = whole_number(f"count of {name}", given["count"], 2, MOST_PROBLEMS)
    assert low is not None
    assert high is not None
    if low >= high:
        raise ProblemError(f"the range of {name} must rise, not go from {low:g} to {high:g}")
    if name in ("eta", "gamma") or name in fractions:
        return [float(value) for value in np.geomspace(low, high, count)]
    return sizes_between(low, high, count)


def _positive(name: str, value: Any) -> float | None:
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < 1e300:
        raise ProblemError(f"{name} must be a positive number, not {value!r:.60}")
    return float(value)


def _placeholder(sought: str, vocabs: list[Any]) -> int:
    """A value of a size that is sought, for want of another: one that makes a problem."""
    if sought == "dim":  # enough for embeddings that are orthogonal
        return 1 + max(whole_number("vocab", vocab, 2) for vocab in vocabs)
    return 2 if sought == "vocab" else 1
