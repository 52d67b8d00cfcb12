"""How many samples a reader of the first gradient needs, whatever it does with it.

The estimator is given every frozen weight and the gradient of the value matrix at initialisation, G
= mean_n q_n φ(W_in h_n)^T. It guesses the label of every token. The largest of three bounds counts;
docs/lower-bound.md has the derivation, with the numbers of its equations.

- gradient: G has few dimensions, and each carries little more signal than a sample does, one part
  in L. Noise is taken to be Gaussian here, which is an assumption.
- counting: a label says no more than that it belongs to one of the L tokens of its sequence.
- coverage: of a label that never occurred nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq  # type: ignore[import-untyped]

from recallscope.common.checks import LARGEST_SIZE, shown
from recallscope.common.errors import ProblemError
from recallscope.common.plain import with_inf
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.result import Drawing, Result
from recallscope.problem.problem import Problem
from recallscope.theory.problem_arrays import part_without_form

_BOUNDS = ("gradient", "counting", "coverage")

ASSUMPTION = (
    "The gradient bound takes the noise of the gradient to be Gaussian, given the "
    "permutation and how often each label occurs. Its covariance is the average over "
    "permutations. Real noise is a sum of whole multiples of known numbers, and an "
    "estimator of unlimited precision could undo it. The counting and coverage bounds "
    "assume nothing."
)
NOT_COVERED = (
    "Three-step gradient descent uses two gradients more, which see the marked "
    "position: it may pass below the gradient and counting bounds, though not below "
    "coverage. The bound does not cover interference between embeddings or what a "
    "decoder can compute. It does not cover noise far from Gaussian either, as when "
    "samples are few or dim is near vocab."
)


def information_needed(vocab: ArrayLike, accuracy: ArrayLike = 0.5) -> NDArray[np.float64]:
    """Nats about the permutation that a guess needs to be right on a fraction of tokens (B3).

    With K = aV tokens right, K log K − K + 1; nothing up to K = 1, which a blind guess reaches.

    >>> round(float(information_needed(512, 0.5)), 1)
    1164.6
    >>> float(information_needed(512, 1 / 512))
    0.0
    """
    right = _from("vocab", vocab, 2) * _share(accuracy)
    right = np.maximum(right, 1.0)
    return np.asarray(right * np.log(right) - right + 1)


def gradient_rank(
    vocab: ArrayLike, dim: ArrayLike, width: ArrayLike | None = None
) -> NDArray[np.float64]:
    """The most dimensions in which the mean gradient can differ from one permutation to another.

    >>> float(gradient_rank(512, 64)), float(gradient_rank(512, 64, width=1000))
    (4096.0, 32704.0)
    """
    return np.asarray(_directions(vocab, dim) * _directions(vocab, dim if width is None else width))


def signal_to_noise(
    samples: ArrayLike, vocab: ArrayLike, dim: ArrayLike, length: ArrayLike
) -> NDArray[np.float64]:
    """The most signal per dimension of the gradient, averaged, in units of the noise (B7).

    About (N/V + 1)/(L − 1): a label occurs N/V times, and the marked token is one summand of L.

    >>> round(float(signal_to_noise(8192, 512, 64, 32)), 3)
    0.549
    >>> float(signal_to_noise(8192, 512, 64, 1))
    inf
    """
    with np.errstate(divide="ignore"):
        return np.asarray(_repeats(samples, vocab, dim) / (_from("length", length, 1) - 1))


def gradient_information(
    samples: ArrayLike,
    vocab: ArrayLike,
    dim: ArrayLike,
    length: ArrayLike,
    width: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """The most nats about the permutation in the gradient, if noise is Gaussian (B8).

    >>> round(float(gradient_information(8192, 512, 64, 32)), 1)
    896.7
    """
    ratio = signal_to_noise(samples, vocab, dim, length)
    return np.asarray(gradient_rank(vocab, dim, width) / 2 * np.log1p(ratio))


def gradient_samples(
    vocab: ArrayLike,
    dim: ArrayLike,
    length: ArrayLike,
    width: ArrayLike | None = None,
    accuracy: ArrayLike = 0.5,
) -> NDArray[np.float64]:
    """The samples at which the gradient has enough information, if noise is Gaussian (B9).

    Exponential in the nats per dimension, so inf stands for anything beyond 1e308.

    >>> round(float(gradient_samples(512, 64, 32)))
    11621
    >>> float(gradient_samples(10**9, 16, 32)), float(gradient_samples(512, 64, 1))
    (inf, 0.0)
    """
    distractors = _from("length", length, 1) - 1
    needed = 2 * information_needed(vocab, accuracy) / gradient_rank(vocab, dim, width)
    with np.errstate(over="ignore"):
        # Without distractors there is no noise, and any ratio comes for nothing.
        ratio = np.where(distractors == 0, 0.0, np.expm1(needed))
        return _samples_for(ratio * distractors, vocab, dim)


def feature_information(samples: float, signals: ArrayLike, vocab: int, dim: int) -> float:
    """`gradient_information` for features with a known signal-to-noise ratio (B10).

    Args:
        samples: N.
        signals: of one sample, in each direction of the features; at most 1/(L − 1).
        vocab: V.
        dim: d, the dimension of the outputs.

    >>> round(feature_information(8192, [1 / 31] * 64, 512, 64), 1)
    896.7
    """
    ratios = _repeats(samples, vocab, dim) * _from("signals", signals, 0)
    return float(_directions(vocab, dim) / 2 * np.log1p(ratios).sum())


def feature_samples(signals: ArrayLike, vocab: int, dim: int, accuracy: float = 0.5) -> float:
    """`gradient_samples` for features with a known signal-to-noise ratio: never fewer (B10).

    >>> round(feature_samples([1 / 31] * 64, 512, 64))
    11621
    >>> round(feature_samples([1 / 31] * 32 + [1 / 62] * 32, 512, 64))
    16072
    """
    strengths = _from("signals", signals, 0)
    needed = float(2 * information_needed(vocab, accuracy) / _directions(vocab, dim))

    def missing(log_repeats: float) -> float:
        return float(np.logaddexp(0, log_repeats + np.log(strengths[strengths > 0])).sum()) - needed

    if needed == 0:
        return 0.0
    if not strengths.any():
        return math.inf
    low = math.log(needed / strengths.sum())  # log(1 + x) is at most x
    high = low + needed + 1
    while missing(high) < 0:
        high += high - low
    with np.errstate(over="ignore"):
        return float(_samples_for(np.exp(brentq(missing, low, high)), vocab, dim))


def counting_samples(
    vocab: ArrayLike, length: ArrayLike, accuracy: ArrayLike = 0.5
) -> NDArray[np.float64]:
    """The samples at which unmarked sequences and labels have enough information (B12).

    >>> round(float(counting_samples(512, 32)))
    411
    """
    information = np.log1p((_from("vocab", vocab, 2) - 1) / _from("length", length, 1))
    return np.asarray(information_needed(vocab, accuracy) / information)


def coverage_samples(vocab: ArrayLike, accuracy: ArrayLike = 0.5) -> NDArray[np.float64]:
    """The samples in which enough labels occur at all (B13).

    >>> round(float(coverage_samples(512)))
    353
    """
    chance = 1 / _from("vocab", vocab, 2)
    missing = np.minimum(1 - _share(accuracy) + chance, 1.0)
    return np.asarray(np.log(missing) / np.log1p(-chance))


def smallest_samples(
    vocab: ArrayLike,
    dim: ArrayLike,
    length: ArrayLike,
    width: ArrayLike | None = None,
    accuracy: ArrayLike = 0.5,
) -> NDArray[np.float64]:
    """The samples below which no reader of the first gradient reaches the accuracy.

    >>> [round(float(smallest_samples(512, dim, 32))) for dim in (64, 128, 512)]
    [11621, 1909, 411]
    """
    return np.maximum(
        gradient_samples(vocab, dim, length, width, accuracy),
        np.maximum(counting_samples(vocab, length, accuracy), coverage_samples(vocab, accuracy)),
    )


def largest_vocab(
    samples: float, dim: int, length: int, width: int | None = None, accuracy: float = 0.5
) -> float:
    """The largest vocab that so many samples do not rule out; inf if that is beyond 2^53.

    >>> largest_vocab(11_700, 64, 32), largest_vocab(math.inf, 64, 32)
    (513, inf)
    """

    def allowed(vocab: Iterable[int]) -> NDArray[np.bool_]:
        return smallest_samples(list(vocab), dim, length, width, accuracy) <= samples

    _from("samples", samples, 1)
    if allowed([LARGEST_SIZE])[0]:
        return math.inf
    low, high = 1, LARGEST_SIZE
    while high - low > 1:  # many at once: one costs as much
        between = range(low + 1, high, max(1, (high - low) // 256))
        reached = int(np.count_nonzero(allowed(between)))
        low, high = (
            between[reached - 1] if reached else low,
            between[reached] if reached < len(between) else high,
        )
    return low


@dataclass(frozen=True, repr=False)
class Bound(Result):
    """A bound for all readers of the first gradient, and its parts.

    >>> bound(Problem(vocab=512, samples=8192, dim=64, length=1)).binding
    'coverage'
    """

    problem: Problem
    accuracy: float
    samples: float
    vocab: float
    binding: str
    gradient_samples: float
    counting_samples: float
    coverage_samples: float
    information_needed: float
    gradient_information: float
    gradient_rank: float
    signal_to_noise: float
    assumption: str = ASSUMPTION
    not_covered: str = NOT_COVERED

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON: what is infinite is written 'inf'."""
        fields = super().to_dict()
        return {"problem": fields.pop("problem"), "bound": with_inf(fields)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return super().from_dict({"problem": data["problem"], **data["bound"]})

    def rows(self) -> list[dict[str, Any]]:
        """One row for each bound on the samples."""
        return [
            {
                "bound": name,
                "samples": getattr(self, f"{name}_samples"),
                "dominant": name == self.binding,
                "accuracy": self.accuracy,
            }
            for name in _BOUNDS
        ]

    def _words(self) -> str:
        return (
            f"to have {self.accuracy:g} of {self.problem.vocab} facts right, any reader of the "
            f"first gradient needs at least {self.samples:.6g} samples ({self.binding} dominates)"
        )

    def _drawing(self) -> Drawing:
        from recallscope.plot.labels import describe_common_fields

        series = [
            Series(
                "at least so many samples",
                Kind.MEASURED,
                list(_BOUNDS),
                [getattr(self, f"{name}_samples") for name in _BOUNDS],
            )
        ]
        if math.isfinite(self.problem.samples):
            samples = [self.problem.samples] * len(_BOUNDS)
            label = f"samples given: {self.problem.samples:g}"
            series.append(Series(label, Kind.REFERENCE, list(_BOUNDS), samples))
        panel = Panel(title="", x="bound", y="N, samples", series=series, log_y=True)
        fields = self.problem.to_dict() | {"samples": None}
        caption = (
            f"{describe_common_fields([fields])}. Lower bounds for accuracy {self.accuracy:g} of "
            f"estimators that see only the first gradient. {self.assumption}"
        )
        return Drawing("picture", Picture(caption=caption, panels=[panel]))


def bound(problem: Problem, target: float = 0.5) -> Bound:
    """Lower bound for estimators that see only the first gradient.

    Args:
        problem: its samples matter only to what is said of them, not to how many are needed.
        target: the fraction of labels to get right, on average.

    Returns:
        The samples needed at least, the facts possible at most, and which of three bounds is it.

    Raises:
        ProblemError: a target that is not a fraction, or a problem that the bound is not about.

    >>> needed = bound(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> round(needed.samples), needed.vocab, needed.binding
    (11621, 448, 'gradient')
    """
    if strange := part_without_form(problem):
        raise ProblemError(f"the bound is not for the {' '.join(strange)}")
    vocab, dim, length, width = problem.vocab, problem.dim, problem.length, problem.width
    parts = {
        "gradient": float(gradient_samples(vocab, dim, length, width, target)),
        "counting": float(counting_samples(vocab, length, target)),
        "coverage": float(coverage_samples(vocab, target)),
    }
    binding = max(parts, key=parts.__getitem__)
    return Bound(
        problem=problem,
        accuracy=float(target),
        samples=parts[binding],
        vocab=largest_vocab(problem.samples, dim, length, width, target),
        binding=binding,
        gradient_samples=parts["gradient"],
        counting_samples=parts["counting"],
        coverage_samples=parts["coverage"],
        information_needed=float(information_needed(vocab, target)),
        gradient_information=float(
            gradient_information(problem.samples, vocab, dim, length, width)
        ),
        gradient_rank=float(gradient_rank(vocab, dim, width)),
        signal_to_noise=float(signal_to_noise(problem.samples, vocab, dim, length)),
    )


def _directions(vocab: ArrayLike, dim: ArrayLike) -> NDArray[np.float64]:
    """In how many directions the vectors of all tokens can differ from their mean."""
    return np.minimum(_from("dim", dim, 1), _from("vocab", vocab, 2) - 1)


def _repeats(samples: ArrayLike, vocab: ArrayLike, dim: ArrayLike) -> NDArray[np.float64]:
    """How many samples of one label a dimension of the outputs has at most, on average (B6)."""
    count, tokens = _from("samples", samples, 1), _from("vocab", vocab, 2)
    repeats = np.minimum((count - 1) / tokens + 1, count / _directions(vocab, dim))
    return np.asarray(repeats * tokens / (tokens - 1))


def _samples_for(repeats: ArrayLike, vocab: ArrayLike, dim: ArrayLike) -> NDArray[np.float64]:
    """The inverse of `_repeats`."""
    tokens = _from("vocab", vocab, 2)
    repeats = np.asarray(repeats) * (tokens - 1) / tokens
    return np.maximum((repeats - 1) * tokens + 1, repeats * _directions(vocab, dim))


def _from(name: str, value: ArrayLike, smallest: int) -> NDArray[np.float64]:
    number = _numbers(name, value)
    if not bool(np.all(number >= smallest)):
        raise ProblemError(f"{name} must be at least {smallest}, not {value!r}")
    if name != "samples" and not bool(np.all(number <= LARGEST_SIZE)):
        raise ProblemError(f"{name} must be at most 2^53, not {value!r}")
    return number


def _share(accuracy: ArrayLike) -> NDArray[np.float64]:
    number = _numbers("accuracy", accuracy)
    if not bool(np.all((number > 0) & (number <= 1))):
        raise ProblemError(f"accuracy must be above 0 and at most 1, not {shown(accuracy)}")
    return number


def _numbers(name: str, value: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(f"{name} must be a number, not {shown(value)}") from None
