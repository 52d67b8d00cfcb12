"""What the rows of a table are like: lengths, mean, spectrum, and how much they overlap.

Everything is made of d×d matrices that are summed over tiles. The covariance is of all rows in use.
The effective dimension needs rows of unit length, and so further products of the same size. For
large tables it is estimated from a sample, with a standard error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recallscope.audits.used_rows import Advance, Rows, UsedRows, Vector
from recallscope.common.plain import Plain
from recallscope.common.shapes import Float

Matrix = Float[np.ndarray, "d d"]

_LEAST_SAMPLE = 16_384  # rows
_WORK = 2e11  # rows times d², up to which all rows are taken
_PAIRED = 2048  # rows; all their pairs are compared
_LISTED = 10  # tokens
_POINTS = 64  # of the spectrum
_HOW = ("raw", "centred")


class Moments(NamedTuple):
    """Mean and covariance of rows, in units of their scale."""

    mean: Vector
    covariance: Matrix


@dataclass(frozen=True, kw_only=True)
class TableStatistics(Plain):
    """What the rows in use of a table are like.

    Attributes:
        lengths: the least, the 5th, 50th and 95th percentile and the largest length of a row.
        mean_share: of the mean squared length, how much the mean row has.
        effective_dim: one over the mean squared cosine of two rows, as they are and centred.
        effective_dim_error: the standard error of each, as it is of a sample; 0 if of all rows.
        sampled: how many rows it is of.
        participation_ratio: (Σλ)²/Σλ² of the variances λ along principal directions.
        stable_rank: Σλ over the largest λ.
        isoscore: (participation ratio − 1)/(d − 1).
        rank: how many directions have a variance above rounding.
        spectrum: place of some principal directions, and the fraction of the variance along each.
        overlaps: the mean square, the 99th percentile and the largest of the cosine's size, for
            pairs of rows: raw, centred and random ones.
        cosines: how often cosines of pairs fall into even steps from −1 to 1, by the same names.
        worst: numbers of rows by what is wrong with them, each with how much.
    """

    lengths: tuple[float, ...]
    mean_share: float
    effective_dim: dict[str, float]
    effective_dim_error: dict[str, float]
    sampled: int
    participation_ratio: float
    stable_rank: float
    isoscore: float
    rank: int
    spectrum: tuple[tuple[int, float], ...]
    overlaps: dict[str, dict[str, float]]
    cosines: dict[str, tuple[float, ...]]
    worst: dict[str, tuple[tuple[int, float], ...]]


def sampled_rows(used: int, dim: int) -> int:
    """How many rows the effective dimension is of.

    >>> sampled_rows(400_000, 50), sampled_rows(1_000_000, 4096)
    (400000, 16384)
    """
    return min(used, max(_LEAST_SAMPLE, int(_WORK / dim**2)))


def work(rows: int, dim: int) -> int:
    """How many rows are read in all, to report progress."""
    return rows + 3 * sampled_rows(rows, dim)


def gram_memory(dim: int) -> int:
    """Bytes of the matrices in memory at once: sums in eight bytes and products in four."""
    return 4 * 8 * dim**2


def table_statistics(
    used: UsedRows, advance: Advance = lambda rows: None
) -> tuple[TableStatistics, Moments]:
    """Statistics of the rows in use, and their moments.

    >>> from recallscope.audits.used_rows import used_rows
    >>> from recallscope.checkpoints.stored_table import table_of
    >>> rows = np.random.default_rng(0).standard_normal((2000, 16)) + 1
    >>> found, _ = table_statistics(used_rows(table_of(rows, "rows")))
    >>> [round(found.effective_dim[how]) for how in ("raw", "centred")], round(found.mean_share, 1)
    ([4, 16], 0.5)
    """
    count, dim = len(used.numbers), used.table.dim
    moments = _moments(used, advance)
    mean = moments.mean
    values = np.maximum(np.linalg.eigvalsh(moments.covariance)[::-1], 0.0)
    total, largest = float(values.sum()), float(values[0])
    ratio = total**2 / float(np.square(values).sum()) if total else 1.0
    chosen = used.sample(sampled_rows(count, dim))
    centres = {"raw": np.zeros(dim), "centred": mean}
    grams = _unit_grams(used, chosen, centres, advance)
    cosines = {
        how: max(_others(float(np.square(gram).sum()), len(chosen)), 0.0)
        for how, gram in grams.items()
    }
    own = _own_overlaps(used, chosen, centres, grams, advance)
    exact = len(chosen) == count
    dims = {how: 1 / each if each > 0 else float(dim) for how, each in cosines.items()}
    square_lengths = float(used.squares.mean())
    lengths = np.sqrt(np.quantile(used.squares, (0, 0.05, 0.5, 0.95, 1))) * used.scale
    pairs = _pairs(used, centres)
    found = TableStatistics(
        lengths=tuple(lengths.tolist()),
        mean_share=min(float(mean @ mean) / square_lengths, 1.0),
        effective_dim=dims,
        effective_dim_error={
            how: 0.0
            if exact or not cosines[how]
            else dims[how] * 2 * float(own[how].std()) / (cosines[how] * math.sqrt(len(chosen)))
            for how in _HOW
        },
        sampled=len(chosen),
        participation_ratio=ratio,
        stable_rank=total / largest if largest else 1.0,
        isoscore=(ratio - 1) / (dim - 1) if dim > 1 else 1.0,
        rank=int((values > 1e-6 * largest).sum()),
        spectrum=_some(values / total if total else values),
        overlaps={
            how: {
                "mean_square": cosines.get(how, 1 / dim),
                "percentile_99": float(np.quantile(np.abs(each), 0.99)),
                "largest": float(np.abs(each).max()),
            }
            for how, each in pairs.items()
        },
        cosines={
            how: tuple((np.histogram(each, _POINTS, (-1, 1))[0] / len(each)).tolist())
            for how, each in pairs.items()
        },
        worst=_worst(used, chosen, own, cosines),
    )
    return found, moments


def _others(squares: float, count: int) -> float:
    """The mean squared cosine of two different rows, from the sum of all squared ones."""
    return (squares - count) / (count * (count - 1))


def _moments(used: UsedRows, advance: Advance) -> Moments:
    """Mean and covariance; rows are first moved by about their mean: less precision is lost."""
    dim, count = used.table.dim, len(used.numbers)
    shift = used.centre.astype(np.float32)
    total, gram = np.zeros(dim), np.zeros((dim, dim))
    for rows in used.tiles():
        rows -= shift
        total += rows.sum(axis=0, dtype=np.float64)
        gram += rows.T @ rows
        advance(len(rows))
    moved = total / count
    return Moments(shift + moved, gram / count - np.outer(moved, moved))


def _unit(rows: Rows, centre: Vector) -> Rows:
    """Rows minus a centre, of length 1; rows of zeros stay so."""
    apart = rows - centre.astype(np.float32)
    lengths = np.sqrt(np.einsum("nd,nd->n", apart, apart))
    unit: Rows = apart / np.maximum(lengths, 1e-30)[:, None]
    return unit


def _unit_grams(
    used: UsedRows, chosen: np.ndarray, centres: dict[str, Vector], advance: Advance
) -> dict[str, Matrix]:
    grams = {how: np.zeros((used.table.dim,) * 2) for how in centres}
    for rows in used.tiles(chosen):
        for how, centre in centres.items():
            unit = _unit(rows, centre)
            grams[how] += unit.T @ unit
        advance(len(rows))
    return grams


def _own_overlaps(
    used: UsedRows,
    chosen: np.ndarray,
    centres: dict[str, Vector],
    grams: dict[str, Matrix],
    advance: Advance,
) -> dict[str, Float[np.ndarray, " n"]]:
    """The mean squared cosine of each row with all others."""
    single = {how: gram.astype(np.float32) for how, gram in grams.items()}
    own: dict[str, list[np.ndarray]] = {how: [] for how in centres}
    for rows in used.tiles(chosen):
        for how, centre in centres.items():
            unit = _unit(rows, centre)
            own[how].append(np.einsum("nd,nd->n", unit @ single[how], unit))
        advance(2 * len(rows))
    others = max(len(chosen) - 1, 1)
    return {how: (np.concatenate(each) - 1) / others for how, each in own.items()}


def _pairs(used: UsedRows, centres: dict[str, Vector]) -> dict[str, Float[np.ndarray, " pairs"]]:
    """Cosines of all pairs of some rows, and of as many random ones."""
    rows = used.take(used.sample(_PAIRED, seed=3))
    random = np.random.default_rng(4).standard_normal(rows.shape).astype(np.float32)
    upper = np.triu_indices(len(rows), 1)
    units = {how: _unit(rows, centre) for how, centre in centres.items()}
    units["random"] = _unit(random, np.zeros(rows.shape[1]))
    return {how: np.clip((unit @ unit.T)[upper], -1, 1) for how, unit in units.items()}


def _some(shares: Vector) -> tuple[tuple[int, float], ...]:
    """A spectrum at places that are evenly spread on a logarithmic axis."""
    places = np.unique(np.geomspace(1, len(shares), _POINTS).round().astype(int))
    return tuple((int(place), float(shares[place - 1])) for place in places)


def _worst(
    used: UsedRows,
    chosen: np.ndarray,
    own: dict[str, Float[np.ndarray, " n"]],
    cosines: dict[str, float],
) -> dict[str, tuple[tuple[int, float], ...]]:
    """Rows that overlap most, by how many times as much as the average, and extreme lengths."""
    lengths = np.sqrt(used.squares) * used.scale
    found = {}
    for how in _HOW:
        order = np.argsort(-own[how])[:_LISTED]
        found[f"overlap_{how}"] = tuple(
            (int(used.numbers[chosen[at]]), float(own[how][at] / (cosines[how] or 1)))
            for at in order
        )
    for name, order in (("shortest", np.argsort(lengths)), ("longest", np.argsort(-lengths))):
        found[name] = tuple((int(used.numbers[at]), float(lengths[at])) for at in order[:_LISTED])
    return found
