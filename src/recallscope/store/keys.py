"""The key that names a cell in a store: a hash of all that its record depends on, and the seed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from recallscope.cell import Settings
from recallscope.problem import SCHEMA_VERSION, Problem


def key_maker(settings: Settings) -> Callable[[tuple[Problem, int]], bytes]:
    """A function from cells to content keys: 16 bytes of hash and the seed.

    Engines and kinds of numbers agree to rounding only, and a test on fewer samples is another
    test: they are part of the key, so that a store never takes one record for another. A measure
    settles all of this itself, and is in the key by its name.

    >>> problem = Problem(vocab=64, samples=512, dim=32, length=4)
    >>> key = key_maker(Settings())
    >>> key((problem, 0)) == key((problem.replace(dim=32), 0)) != key((problem, 1))
    True
    """
    from recallscope.learning.cost import choose_engine  # with torch, which reading does not need

    last: Problem | None = None
    digest = b""

    def key(cell: tuple[Problem, int]) -> bytes:
        nonlocal last, digest
        problem, seed = cell
        if problem is not last:  # seeds of one problem come in turn, a million times
            measure = settings.measure if settings.own is None else settings.own.measure
            if measure is not None:
                what, how = "measure", measure
            else:
                engine = choose_engine(problem, settings.engine_for(problem))
                what = "cell"
                how = f"{engine} {settings.dtype} {settings.test_samples} {settings.device}"
            text = f"recallscope {what} {SCHEMA_VERSION} {problem.to_json()} {how}"
            digest = hashlib.sha256(text.encode()).digest()[:16]
            last = problem
        return digest + seed.to_bytes(8, "big")

    return key
