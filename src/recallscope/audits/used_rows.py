"""Which rows of a table are in use: rows of untrained tokens say nothing about the others.

A row is unused if it is not finite, all zeros, equal to an earlier row, or on one line with many
others. Rows of tokens that never occur in training collapse on such a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recallscope.checkpoints.stored_table import StoredTable
from recallscope.common.shapes import Bool, Float, Int64
from recallscope.parts.data_files import data_next_to
from recallscope.problem import ProblemError

Rows = Float[np.ndarray, "n d"]
Vector = Float[np.ndarray, " d"]

Advance = Callable[[int], None]
"""Called with the number of rows that were read since the last call."""

_TILE = 2**26  # bytes of a tile of float32 numbers
_SAMPLE = 4096  # rows among which a line is looked for
_PARALLEL = 0.99  # cosine of rows that may be on one line
_LEAST_SHARE, _LEAST_ROWS = 0.01, 16  # of the sample, to be a line
_OFF_LINE = 0.02  # of the usual squared distance between rows
_FEWEST = 4
REASONS: dict[str, str] = data_next_to(__file__, "words.toml")["reasons"]


class Line(NamedTuple):
    """A point and a direction, and how far from it a row may be, squared."""

    point: Vector
    direction: Vector
    reach: float


@dataclass(frozen=True, kw_only=True)
class UsedRows:
    """The rows of a table that are in use.

    Attributes:
        table: where they are.
        numbers: of the rows in use.
        squares: the squared length of each, in units of scale².
        scale: the usual size of a number; rows are read in units of it.
        centre: about the mean of rows, in these units.
        unused: how many rows are not in use, by reason.
    """

    table: StoredTable
    numbers: Int64[np.ndarray, " n"]
    squares: Float[np.ndarray, " n"]
    scale: float
    centre: Vector
    unused: dict[str, int]

    def take(self, chosen: Int64[np.ndarray, " m"]) -> Rows:
        """Rows by their place among those in use, which rises."""
        return self.table.take(self.numbers[chosen]) * np.float32(1 / self.scale)

    def tiles(self, chosen: Int64[np.ndarray, " m"] | None = None) -> Iterator[Rows]:
        """All rows, or those chosen, in tiles."""
        step = tile_rows(self.table.dim)
        places = np.arange(len(self.numbers)) if chosen is None else chosen
        for start in range(0, len(places), step):
            yield self.take(places[start : start + step])

    def sample(self, most: int, seed: int = 0) -> Int64[np.ndarray, " m"]:
        """The places of at most so many rows, chosen at random; all if there are no more."""
        return _chosen(len(self.numbers), most, seed)


def tile_rows(dim: int) -> int:
    """How many rows are read at once."""
    return max(_TILE // (4 * dim), 1)


def used_rows(table: StoredTable, advance: Advance = lambda rows: None) -> UsedRows:
    """Look at every row once.

    >>> from recallscope.checkpoints.stored_table import table_of
    >>> rows = np.random.default_rng(0).standard_normal((100, 8))
    >>> rows[90:] = 0
    >>> found = used_rows(table_of(rows, "rows"))
    >>> len(found.numbers), found.unused
    (90, {'zero': 10})
    """
    with np.errstate(invalid="ignore"):  # NaN
        sample = table.take(_chosen(table.rows, _SAMPLE, 1)).astype(np.float64)
    sample = sample[np.isfinite(sample).all(axis=1) & sample.any(axis=1)]
    if len(sample) < 2:
        raise ProblemError(
            f"the table {table.name!r:.80} has almost no row that is finite and not zero"
        )
    scale = float(np.sqrt(np.square(sample / np.abs(sample).max()).mean()) * np.abs(sample).max())
    sample = sample / scale
    line = _line(sample)
    squares = np.empty(table.rows)
    prints = np.empty(table.rows, dtype=np.uint64)
    off = np.zeros(table.rows, dtype=bool)
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 2**63, table.dim, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    step = tile_rows(table.dim)
    for start in range(0, table.rows, step):
        rows = table.read(start, start + step)
        here = slice(start, start + len(rows))
        with np.errstate(over="ignore", invalid="ignore"):  # NaN is found below
            same = rows + np.float32(0)  # of zeros of either sign the same bits
            prints[here] = same.view(np.uint32).astype(np.uint64) @ weights
            rows = rows * np.float32(1 / scale)
            squares[here] = np.einsum("nd,nd->n", rows, rows)
            off[here] = _is_on(line, rows)
        advance(len(rows))
    again = np.ones(table.rows, dtype=bool)
    again[np.unique(prints, return_index=True)[1]] = False
    # In the order of `REASONS`: the first that is true of a row is counted.
    reasons = np.select([~np.isfinite(squares), squares == 0, again, off], range(1, 5), 0)
    counts = np.bincount(reasons, minlength=5)
    unused = {name: int(counts[place]) for place, name in enumerate(REASONS, 1) if counts[place]}
    numbers = np.flatnonzero(reasons == 0)
    if len(numbers) < _FEWEST:
        text = ", ".join(f"{count} {REASONS[name]}" for name, count in unused.items())
        raise ProblemError(
            f"only {len(numbers)} rows of the table {table.name!r:.80} are in use, and an audit "
            f"needs {_FEWEST}: of {table.rows} rows {text or 'none is left out'}"
        )
    return UsedRows(
        table=table,
        numbers=numbers,
        squares=squares[numbers],
        scale=scale,
        centre=sample[~_is_on(line, sample)].mean(axis=0),
        unused=unused,
    )


def _chosen(count: int, most: int, seed: int) -> Int64[np.ndarray, " m"]:
    if count <= most:
        return np.arange(count)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(count, size=most, replace=False, shuffle=False))


def _line(sample: Rows) -> Line | None:
    """The line that many rows lie on, if there is one that random rows would not make."""
    dim = sample.shape[1]
    apart = sample - np.median(sample, axis=0)
    lengths = np.linalg.norm(apart, axis=1)
    unit = (apart / np.maximum(lengths, 1e-12)[:, None]).astype(np.float32)
    parallel = np.abs(unit @ unit.T) > _PARALLEL
    parallel[lengths < 1e-6 * np.median(lengths)] = False
    counts = parallel.sum(axis=1) - 1
    best = int(counts.argmax())
    least = max(_LEAST_ROWS, _LEAST_SHARE * len(sample))
    if dim < 8 or counts[best] < least:
        return None
    group, others = sample[parallel[best]], sample[~parallel[best]]
    if len(others) < least:
        return None
    point = group.mean(axis=0)
    direction = np.linalg.svd(group - point, full_matrices=False)[2][0]
    usual = float(np.median(np.square(others - others.mean(axis=0)).sum(axis=1)))
    return Line(point, direction, _OFF_LINE * usual)


def _is_on(line: Line | None, rows: Rows) -> Bool[np.ndarray, " n"]:
    if line is None:
        return np.zeros(len(rows), dtype=bool)
    apart = rows - line.point.astype(rows.dtype)
    along = apart @ line.direction.astype(rows.dtype)
    near: Bool[np.ndarray, " n"] = np.square(apart).sum(axis=1) - along**2 < line.reach
    return near
