"""The parts that a problem names, by kind and name: ours, those of other packages, and yours.

A registry is a dictionary. Ours come from the files of one folder for each kind, `PART` of a file
each; those of other packages from their entry points; and yours are passed where a name is
expected. All are objects of a subclass of `Part`, with the defaults of their fields.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from recallscope.common.checks import whole_number
from recallscope.common.errors import did_you_mean
from recallscope.common.source import Source, pack, source_of
from recallscope.common.source import unpack as unpack_source
from recallscope.problem.part import Part, fields_of, with_values

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_FOLDERS = {
    "embedding": "recallscope.model.families",
    "task": "recallscope.task.kinds",
    "model": "recallscope.model.kinds",
    "learner": "recallscope.training.learners",
    "metric": "recallscope.experiment.metrics",
    "law": "recallscope.theory.laws",
}
"""Of each kind of part, the folder of ours."""
KINDS = tuple(kind for kind in _FOLDERS if kind != "law")
"""The kinds of parts that a problem names; a law is not one of them."""
_CALLED = r"[a-z][a-z0-9-]{0,49}"
NAME = re.compile(rf"{_CALLED}(:([0-9a-f]{{16}}|v[1-9][0-9]{{0,5}}))?")
"""How a part may be called; behind the name of an object is the mark of its source."""

_loaded: dict[tuple[str, str], Any] = {}


class _Registered(NamedTuple):
    """A part that was passed as an object, and its source when it was first passed."""

    part: Any
    source: Source


_registered: dict[tuple[str, str], _Registered] = {}
_named: dict[tuple[str, int], tuple[Any, str]] = {}
"""The names of objects by kind and id. They are frozen, and kept, so that no other has their id."""


class UnknownPartError(LookupError):
    """There is no such part; the message lists those that there are."""


def part(kind: str, name: str) -> Any:
    """The part of this kind and name.

    >>> sorted(fields_of(part("learner", "three-step")))
    ['loss_function']
    """
    place = (kind, name)
    if place in _registered:
        return _registered[place].part
    if place not in _loaded:
        _loaded[place] = _load(kind, name)
    return _loaded[place]


def is_builtin(kind: str, name: str) -> bool:
    """Whether a part comes with this package."""
    return name in _own(kind)


def names(kind: str) -> list[str]:
    """The names of all parts of a kind, ours first.

    >>> names("metric")[0]
    'bits-per-parameter'
    """
    return [*dict.fromkeys([*_own(kind), *sorted(_entry_points(kind))])]


def object_of(part_or_class: Any) -> Any:
    """A part that was given where a name is expected: a class stands for one at its defaults."""
    return _at_defaults(part_or_class) if isinstance(part_or_class, type) else part_or_class


@cache
def _at_defaults(made: type[Part]) -> Part:
    try:
        return made()
    except TypeError as error:  # a method is missing, or something without a default
        raise ValueError(f"{made.__name__} cannot be made: {error}") from None


def register_object(kind: str, part_object: Any) -> str:
    """Take a part that was given where a name is expected, and return the name for it.

    A hash of its source is in the name, or the version that it has. Values of its fields are not:
    they are the problem's.
    """
    part_object = object_of(part_object)
    if (kind, id(part_object)) in _named:
        return _named[kind, id(part_object)][1]
    if not isinstance(part_object, Part) or part_object.kind_of_part != kind:
        raise ValueError(
            f"{kind} must be a name, or an object of recallscope.{_base(kind)}; this is a "
            f"{type(part_object).__name__}"
        )
    if not re.fullmatch(_CALLED, str(part_object.name)):
        raise ValueError(
            f"a {kind} that is passed as an object needs a name of small letters, digits and '-', "
            f"not {part_object.name!r:.60}"
        )
    if part_object.version is not None:
        whole_number(
            f"the version of the {kind} {part_object.name}", part_object.version, 1, 10**6 - 1
        )
    plain = with_values(
        part_object, {name: field.default for name, field in fields_of(part_object).items()}
    )
    source = source_of(plain, part_object.version)
    name = f"{part_object.name}:{source.mark}"
    _registered[kind, name] = _Registered(plain, source)
    _named[kind, id(part_object)] = (part_object, name)
    return name


def _base(kind: str) -> str:
    """The class of a kind of part."""
    return {"embedding": "Family"}.get(kind, kind.capitalize())


def files_of(used: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Of the parts among these that were passed as objects, hashes of their files."""
    hashes: dict[str, str] = {}
    for kind, name in used:
        if (kind, name) in _registered:
            hashes |= _registered[kind, name].source.files_of(name.partition(":")[0])
    return hashes


def packed(used: Iterable[tuple[str, str]]) -> bytes:
    """The parts among these kinds and names that another process could not find by itself."""
    if not _registered:
        return b""
    places = tuple(place for place in used if place in _registered)
    return _packed(places, tuple(id(_registered[place].part) for place in places))


@cache
def _packed(places: tuple[tuple[str, str], ...], objects: tuple[int, ...]) -> bytes:
    return pack({place: _registered[place] for place in places}) if places else b""


def unpack(parts: bytes) -> None:
    """Register what was passed in another process of ours."""
    if parts:
        _registered.update(unpack_source(parts))


def _load(kind: str, name: str) -> Any:
    if name in _own(kind):
        return importlib.import_module(_own(kind)[name]).PART
    entry_points = _entry_points(kind)
    if name in entry_points:
        if not NAME.fullmatch(name):
            raise UnknownPartError(
                f"the {kind} {name!r:.60} cannot be used: a name has small letters, digits and '-'"
            )
        try:
            return object_of(entry_points[name].load())
        except Exception as error:
            raise UnknownPartError(
                f"the {kind} {name} of {entry_points[name].value} cannot be loaded: "
                f"{type(error).__name__}: {error}"
            ) from error
    known = names(kind)
    raise UnknownPartError(
        f"{kind} must be one of {', '.join(known)}, not {name!r:.60}{did_you_mean(name, known)}"
    )


@cache
def _own(kind: str) -> dict[str, str]:
    """Our parts by name: the module of each."""
    folder = importlib.import_module(_FOLDERS[kind])
    return {
        name.replace("_", "-"): f"{folder.__name__}.{name}"
        for name in sorted(module.name for module in pkgutil.iter_modules(folder.__path__))
    }


@cache
def _entry_points(kind: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # here, as it takes longer than all else

    return {
        entry_point.name: entry_point for entry_point in entry_points(group=f"recallscope.{kind}s")
    }
