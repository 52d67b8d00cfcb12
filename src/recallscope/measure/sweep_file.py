"""A sweep written down as a TOML file: what is fixed, what varies, and how it is run.

    seeds = 8

    [problem]
    vocab = 128
    length = 8

    [grid]
    dim = [32, 64, 128]
    samples = { from = 64, to = 8192, count = 12 }

A file has values only. Nothing in it is ever executed. Sizes may be texts with a unit: "50k".
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from typing_extensions import TypedDict  # pydantic refuses that of typing below Python 3.12

from recallscope.common.checks import LARGEST_SEED, LARGEST_SIZE, choice, shown, whole_number
from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError, did_you_mean
from recallscope.common.given_files import read_regular
from recallscope.experiment.cell import MOST_PROBLEMS, MOST_SEARCHES, Cell, Settings, check_amount
from recallscope.measure.critical_search import CriticalSearch
from recallscope.problem.axes import SIZES, sizes_between
from recallscope.problem.field import Field
from recallscope.problem.metrics import accuracy_name
from recallscope.problem.naming import find_part
from recallscope.problem.part import fields_of
from recallscope.problem.problem import ACTIVATIONS, DTYPES, FIELDS, REGIMES, Problem
from recallscope.problem.registry import KINDS, names
from recallscope.problem.rows import problem_of
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.job_array import check_part

_LARGEST_FILE = 2**20  # bytes
_MOST_STEPS = 10**6
_VARIED = ("problem", "grid", "zip")


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Problems and seeds, their settings, and the settings of searches, if there are any."""

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
                # Problems without a part ignore its fields.
                yield problem_of(self.fixed | dict(varied))

    def cells(self) -> Iterator[Cell]:
        """Every problem at every seed."""
        for problem in self.problems():
            for seed in range(self.first_seed, self.first_seed + self.seeds):
                yield Cell(problem, seed)

    def searches(self, part: tuple[int, int] | None = None) -> list[CriticalSearch]:
        """A search for the critical size of every problem; no two share a seed.

        Searches cost about the same, so a part takes every n-th of them.
        """
        which, parts = (1, 1) if part is None else check_part(part)
        assert self.critical is not None
        asked = dict(self.critical)
        quantity, budget = asked.pop("for", "samples"), asked.get("budget", 64)
        asked["accuracy"] = accuracy_name(asked.get("accuracy", "recall"))
        asked["prior"] = "theory" if asked.pop("theory", True) else None
        seeds = itertools.count(self.first_seed, budget)
        different = dict.fromkeys(self.problems())
        every = [
            CriticalSearch(problem, quantity, first_seed=seed, **asked)
            for problem, seed in zip(different, seeds, strict=False)
        ]
        return every[which - 1 :: parts]


def read_sweep(path: str | Path) -> Sweep:
    """The sweep that a TOML file describes, or an error that says what is wrong with it."""
    content = read_regular(path, "sweep file", _LARGEST_FILE)
    try:
        text = content.decode("utf-8-sig")
        _check_keys(text)
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProblemError(f"the sweep file {str(path)!r} is not TOML: {error}") from None
    try:
        return sweep_from(document)
    except ProblemError as error:
        raise ProblemError(f"in the sweep file {str(path)!r}, {error}") from None


def _check_keys(text: str) -> None:
    """Raise if keys have too many dots, since reading takes time quadratic in their number."""
    without_fractions = re.sub(r"\d\.\d+(?=[\s,\]}eE])", "", text)
    if sum(line.count(".") ** 2 for line in without_fractions.splitlines()) > _MOST_STEPS:
        raise ValueError("a name of it has too many dots; a sweep has names such as grid.dim")


def schema() -> dict[str, Any]:
    """The JSON schema of sweep files, for completion and checks in editors."""
    every_part = {_field_of(kind): names(kind) for kind in KINDS}
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return draft | _reader(_declared({"grid": every_part}))[1].json_schema()


def sweep_from(document: Mapping[str, Any]) -> Sweep:
    """A sweep from plain values; unknown names are errors that list the valid ones.

    >>> sweep = sweep_from(
    ...     {
    ...         "seeds": 2,
    ...         "problem": {"vocab": 64, "length": 4},
    ...         "grid": {"dim": [16, 32], "samples": {"from": 100, "to": "10k", "count": 3}},
    ...     }
    ... )
    >>> sweep.size, len(list(sweep.cells()))
    (6, 12)
    """
    file, reader = _reader(_declared(document))
    try:
        given = reader.validate_python(document)
    except pydantic.ValidationError as error:
        raise ProblemError(_sentence(file, error)) from None
    fixed, grid, zipped = (given.get(name, {}) for name in _VARIED)
    if len({len(values) for values in zipped.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(values)}" for name, values in zipped.items())
        raise ProblemError(f"what varies together needs as many values each, but {lengths}")
    for name in (*fixed, *grid):
        places = [place for place in _VARIED if name in given.get(place, {})]
        if len(places) > 1:
            raise ProblemError(f"{name} is given twice, in {' and '.join(places)}")
    critical = given.get("critical")
    if critical is not None:
        if "seeds" in given:
            raise ProblemError("searches for critical sizes choose their seeds; leave seeds out")
        # The size sought has no value; any valid one will do.
        sought = critical.get("for", "samples")
        if sought in (*fixed, *grid, *zipped):
            raise ProblemError(f"{sought} is the size sought; leave it out of the problem")
        vocabs = [fixed.get("vocab", 2), *grid.get("vocab", []), *zipped.get("vocab", [])]
        orthogonal = 1 + max(whole_number("vocab", vocab, 2) for vocab in vocabs)
        fixed[sought] = {"vocab": 2, "dim": orthogonal}.get(sought, 1)
    seeds = given.get("seeds", 1)
    settings = ("engine", "dtype", "test_samples", "device")
    found = Sweep(
        fixed=fixed,
        grid=grid,
        zipped=zipped,
        first_seed=whole_number("seed", given.get("seed", 0), 0, LARGEST_SEED - seeds + 1),
        seeds=seeds,
        settings=Settings(**{name: given[name] for name in settings if name in given}),
        limits=Limits(seconds=given.get("time_limit"), memory=given.get("memory_limit")),
        critical=critical,
    )
    check_amount("the sweep", found.size, found.seeds)
    if critical is not None and found.size > MOST_SEARCHES:
        raise ProblemError(
            f"the sweep has {found.size} searches, more than {MOST_SEARCHES}; cut it into several"
        )
    return found


def _sentence(file: Any, error: pydantic.ValidationError) -> str:
    """The first thing that is wrong with a file."""
    wrong = error.errors(include_url=False)[0]
    *table, name = map(str, wrong["loc"])
    came = shown(wrong["input"])
    if wrong["type"] == "extra_forbidden":
        known = (file.__annotations__[table[0]] if table else file).__annotations__
        place = f"[{table[0]}]" if table else "the file"
        listed = f"known are {', '.join(known)}{did_you_mean(name, known)}"
        return f"unknown name {name!r:.60} in {place}; {listed}"
    return {
        "dict_type": f"{name} is a table: write [{name}] and its lines below it",
        "string_type": f"{name} is a name in quotes, not {came}",
        "bool_type": f"{name} is true or false, not {came}",
    }.get(wrong["type"], wrong["msg"].removeprefix("Value error, "))


def _field_of(kind: str) -> str:
    return "metrics" if kind == "metric" else kind


def _texts(given: Any) -> Iterator[str]:
    """All texts in lists of lists."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, list):
        for each in given:
            yield from _texts(each)


# The contents of a file: types for editors, and checks that report mistakes.
_one_of: Any = Literal  # its choices are known at run time only
_Number = float | Annotated[str, pydantic.Field(pattern=r"^([\d._]+(e\d+)?[kMB]?|inf)$")]
_Positive = Annotated[float, pydantic.Field(gt=0)]


def _table(name: str, fields: Mapping[str, Any]) -> Any:
    make: Any = TypedDict
    made = make(name, dict(fields), total=False)
    made.__pydantic_config__ = pydantic.ConfigDict(extra="forbid", strict=True)
    return made


def _checked(kind: Any, check: Callable[[str, Any], Any] = lambda name, value: value) -> Any:
    """A type for editors, with a check that gets the name of the field and the value."""

    def validate(value: Any, info: pydantic.ValidationInfo) -> Any:
        return check(str(info.field_name), _number(kind, value))

    return Annotated[Any, pydantic.PlainValidator(validate, json_schema_input_type=kind)]


def _number(kind: Any, value: Any) -> Any:
    return number_or_text(value) if isinstance(value, str) and kind is not str else value


def _whole(smallest: int, largest: int = LARGEST_SIZE) -> Any:
    return _checked(_Number, lambda name, value: whole_number(name, value, smallest, largest))


def _choice(choices: tuple[str, ...]) -> Any:
    return _checked(_one_of[choices], lambda name, value: choice(name, value, choices))


def _positive(name: str, value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < 1e300:
        raise ProblemError(f"{name} must be a positive number, not {shown(value)}")
    return float(value)


_Range = _table("Range", dict.fromkeys(("from", "to", "count"), _Number))
_Settings = {
    "seed": _whole(0, LARGEST_SEED),
    "seeds": _whole(1, 10**9),
    "engine": str,
    "dtype": _choice(DTYPES),
    "test_samples": _whole(1),
    "device": str,
    "time_limit": _checked(_Positive, _positive),
    "memory_limit": _checked(_Positive, _positive),
}
_Critical = {
    "target": _checked(_Positive),
    "accuracy": str,
    "low": _checked(_Number),
    "high": _checked(_Number),
    "precision": _checked(_Positive),
    "budget": _whole(1, 10**6),
    "theory": bool,
}


def _declared(document: Mapping[str, Any]) -> tuple[tuple[str, type], ...]:
    """The fields, with their types, that the parts named in a file declare."""
    given = [table for place in _VARIED if isinstance(table := document.get(place), dict)]
    declared: dict[str, Field] = {}
    for kind in KINDS:
        for name in _texts([table.get(_field_of(kind), []) for table in given]):
            if not name.startswith("arrays:"):
                declared |= fields_of(find_part(kind, name))
    return tuple((name, type(field.default)) for name, field in declared.items())


@cache  # making one takes as long as reading a hundred files
def _reader(declared: tuple[tuple[str, type], ...]) -> tuple[Any, pydantic.TypeAdapter[Any]]:
    """The type of a file with the fields that its parts declare, and its reader."""
    kinds: dict[str, Any] = dict.fromkeys(SIZES, _Number) | {"trigger_in_values": bool}
    kinds |= dict.fromkeys(("eta", "gamma"), _Positive)
    kinds |= {"activation": _one_of[ACTIVATIONS], "regime": _one_of[REGIMES]}
    kinds |= {_field_of(kind): _one_of[(*names(kind),)] | str for kind in KINDS}
    kinds["metrics"] |= list[str]
    fields = {name: kinds[name] for name in FIELDS} | dict(declared)
    fixed = {name: _checked(kind) for name, kind in fields.items()}
    many: Any = list
    varied = {
        name: _checked(many[kind] | _Range, partial(_values, kind)) for name, kind in fields.items()
    }
    sought = _choice((*SIZES, *(name for name, kind in declared if kind in (int, float))))
    critical = {"for": sought} | _Critical
    tables = {"problem": fixed, "grid": varied, "zip": varied, "critical": critical}
    inner = {name: _table(name.title(), each) for name, each in tables.items()}
    file = _table("Sweep", _Settings | inner)
    return file, pydantic.TypeAdapter(file)


def _values(kind: Any, name: str, given: Any) -> list[Any]:
    """A list of values, or a range of them evenly spaced in the logarithm."""
    if isinstance(given, list):
        if not 1 <= len(given) <= MOST_PROBLEMS:
            raise ProblemError(f"{name} needs from 1 to {MOST_PROBLEMS} values, not {len(given)}")
        return [_number(kind, each) for each in given]
    if not isinstance(given, dict) or set(given) != {"from", "to", "count"}:
        raise ProblemError(
            f"{name} varies over a list, as in [16, 32], or over a range, as in "
            f"{{ from = 16, to = 256, count = 5 }}, not {shown(given)}"
        )
    low, high = (_positive(f"{end} of {name}", _number(kind, given[end])) for end in ("from", "to"))
    count = whole_number(f"count of {name}", _number(kind, given["count"]), 2, MOST_PROBLEMS)
    if low >= high:
        raise ProblemError(f"the range of {name} must rise, not go from {low:g} to {high:g}")
    if kind in (float, _Positive):
        return [float(value) for value in np.geomspace(low, high, count)]
    return sizes_between(low, high, count)
