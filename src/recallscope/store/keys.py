"""The keys that name cells in a store: a hash of all that a record depends on, and the seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from recallscope.cell import Settings
from recallscope.parts.canonical import canonical
from recallscope.parts.naming import PART_DEFAULTS
from recallscope.problem import SCHEMA_VERSION, Problem
from recallscope.record import Record

_KINDS = tuple(kind for kind in PART_DEFAULTS if kind != "metrics")


class CellKeys:
    """The content keys of cells that are run with some settings: 16 bytes of hash and the seed.

    It covers every value of the problem, the name and version of its parts other than metrics, and
    how it is run. Engines and dtypes agree to rounding only, and a test on fewer samples is another
    test. A measure settles all of this itself, and is in the key by its name.

    >>> problem = Problem(vocab=64, samples=512, dim=32, length=4)
    >>> key = CellKeys(Settings())
    >>> key((problem, 0)) == key((problem.replace(dim=32), 0)) != key((problem, 1))
    True
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._last: Problem | None = None
        self._digest = b""
        self._former: tuple[bytes, ...] | None = None

    def __call__(self, cell: tuple[Problem, int]) -> bytes:
        problem, seed = cell
        self._look_at(problem)
        return self._digest + seed.to_bytes(8, "big")

    def every(self, cell: tuple[Problem, int]) -> Iterator[bytes]:
        """The key, and then those under which 0.1 and 0.2 would have kept the same."""
        for digest in self.digests(cell[0]):
            yield digest + cell[1].to_bytes(8, "big")

    def digests(self, problem: Problem) -> Iterator[bytes]:
        """The hash in the key, and then those in the keys of 0.1 and 0.2, which few ask for."""
        self._look_at(problem)
        yield self._digest
        self._look_at(problem)  # another may have been looked at meanwhile
        if self._former is None:
            bare = problem.replace(metrics=()) if problem.metrics else problem
            asked = self._asked(problem)
            found = (former_digest(each, *asked) for each in dict.fromkeys((bare, problem)))
            self._former = tuple(dict.fromkeys(each for each in found if each is not None))
        yield from self._former

    def _look_at(self, problem: Problem) -> None:
        if problem is not self._last:  # seeds of one problem come in turn, a million times
            self._digest, self._former = key_digest(problem, *self._asked(problem)), None
            self._last = problem

    def _asked(self, problem: Problem) -> tuple[Mapping[str, int], str, str]:
        # The results of a custom function do not depend on the parts.
        named = {} if self._settings.own is not None else problem.part_versions()
        return named, *self._how(problem)

    def _how(self, problem: Problem) -> tuple[str, str]:
        # With torch, which reading a store does not need.
        from recallscope.learning.cost import choose_engine

        settings = self._settings
        measure = settings.measure if settings.own is None else settings.own.measure
        if measure is not None:
            return "measure", measure
        engine = choose_engine(problem, settings.engine_for(problem))
        return _run_as(engine, settings.dtype, settings.test_samples, settings.device)


def key_digest(problem: Problem, versions: Mapping[str, int], what: str, how: str) -> bytes:
    """The hash of a key of today, given the versions of the parts."""
    parts = {kind: versions[kind] for kind in _KINDS if kind in versions}
    values = canonical({"problem": problem.resolved(), "versions": parts, "how": how})
    return _hashed(f"recallscope {what} {SCHEMA_VERSION} {values}")


def former_digest(
    problem: Problem, versions: Mapping[str, int], what: str, how: str
) -> bytes | None:
    """The hash of the key of 0.1 and 0.2; None where a part has changed since, or is new."""
    if any(versions[kind] != 1 for kind in _KINDS if kind in versions):
        return None
    fields = problem.former_fields()
    return None if fields is None else _hashed(f"recallscope {what} 1 {canonical(fields)} {how}")


def keys_of_record(record: Record) -> tuple[bytes, bytes | None]:
    """The key of today for a record that was tested, and the one that 0.1 and 0.2 gave."""
    made, problem = record.provenance, record.problem
    if record.measure is not None:
        what, how = "measure", record.measure
    else:
        what, how = _run_as(made.engine, made.dtype, record.test_samples, made.device)
    seed = record.seed.to_bytes(8, "big")
    versions = made.part_versions
    if made.schema == 1 and made.dtype != "own":  # a key without versions
        versions = dict.fromkeys((kind for kind, _ in problem.parts()), 1)
    former = former_digest(problem, versions, what, how)
    return (
        key_digest(problem, versions, what, how) + seed,
        None if former is None else former + seed,
    )


def _run_as(
    engine: str | None, dtype: str, test_samples: int | None, device: str
) -> tuple[str, str]:
    return "cell", f"{engine} {dtype} {test_samples} {device}"


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]
