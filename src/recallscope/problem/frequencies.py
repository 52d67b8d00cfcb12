"""How often each fact is seen: equally often, by Zipf's law, or by a table of counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Float, Int64, UInt64
from recallscope.problem.long_values import json_of
from recallscope.problem.part import Part, fields_of, problem_field
from recallscope.problem.problem import Problem

_MANY = 10**5
MOST_UNEQUAL = 10**7
"""Facts of unequal frequency, each of which takes a number in memory."""


@dataclass(frozen=True)
class Frequencies(Part):
    """The fields of tasks whose facts may differ in frequency."""

    frequencies: str = problem_field(
        "uniform",
        choices=("uniform", "zipf", "table"),
        help="How often facts are seen: uniform, zipf (fact k as k^-zipf_exponent) or table.",
    )
    zipf_exponent: float = problem_field(
        1.0,
        low=0.0,
        high=10.0,
        scale="linear",
        help="The exponent of Zipf's law; 0 for facts that are all seen equally often.",
    )
    frequency_table: str = problem_field(
        "",
        long="json",
        help="How often each fact is seen: a list of counts, or a JSON or CSV file (last column).",
    )


FREQUENCIES = tuple(fields_of(Frequencies))
"""Their names."""


def check_frequencies(problem: Problem, facts: int) -> None:
    """Raise unless the fields go together, and a table has a positive count for each fact."""
    kind, table = problem["frequencies"], problem["frequency_table"]
    if (kind == "table") != bool(table):
        raise ProblemError(
            "give frequencies=table and a frequency_table together, or none of them; "
            f"here frequencies is {kind}"
        )
    if kind != "zipf" and problem["zipf_exponent"] != Frequencies.zipf_exponent:
        raise ProblemError(f"zipf_exponent is of frequencies=zipf, not of frequencies={kind}")
    if kind != "uniform" and facts > MOST_UNEQUAL:
        raise ProblemError(
            f"facts of unequal frequency are at most {MOST_UNEQUAL:,}, not {facts:,}; choose fewer"
        )
    if kind == "table" and len(_table(table)) != facts:
        raise ProblemError(
            f"the frequency_table has {len(_table(table)):,} counts for {facts:,} facts; "
            "give one for each fact"
        )


def frequencies_of(problem: Problem, facts: int) -> Float[np.ndarray, " facts"] | None:
    """The probability of each fact; None where all are equal.

    >>> problem = Problem(vocab=4, samples=9, dim=2, length=2, frequencies="zipf")
    >>> frequencies_of(problem, 4).round(2).tolist()
    [0.48, 0.24, 0.16, 0.12]
    """
    kind = dict(problem.declared).get("frequencies", "uniform")
    if kind == "table":
        return _table(problem["frequency_table"])
    return zipf(facts, problem["zipf_exponent"]) if kind == "zipf" else None


def zipf(facts: int, exponent: float) -> Float[np.ndarray, " facts"]:
    """Probabilities of facts by their rank: k^-exponent, divided by their sum.

    >>> zipf(2, 1.0).round(3).tolist()
    [0.667, 0.333]
    """
    weights = np.arange(1, facts + 1, dtype=float) ** -exponent
    probabilities: Float[np.ndarray, " facts"] = weights / weights.sum()
    return probabilities


def frequent_fraction(most: float, facts: int, exponent: float) -> float:
    """How much of all samples the most frequent facts make up, by Zipf's law.

    >>> round(frequent_fraction(2, 4, 1.0), 2)
    0.72
    """
    if not exponent:
        return min(most / facts, 1.0)
    return min(_harmonic(min(most, facts), exponent) / _harmonic(facts, exponent), 1.0)


def _harmonic(number: float, exponent: float) -> float:
    """The sum of k^-exponent up to a number, which may be broken; of many, by an integral."""
    whole = min(int(number), _MANY)
    total = float((np.arange(1, whole + 1, dtype=float) ** -exponent).sum())
    if number > _MANY:
        ends = np.log([_MANY + 0.5, number + 0.5])
        rest = 1 - exponent
        return total + float(np.diff(ends if abs(rest) < 1e-9 else np.exp(rest * ends) / rest)[0])
    return total + (number - whole) * float((whole + 1) ** -exponent)


@lru_cache(maxsize=8)
def _table(name: str) -> Float[np.ndarray, " facts"]:
    table = json_of(name)
    if not isinstance(table, list) or not table or not all(map(_is_count, table)):
        raise ProblemError(
            "a frequency_table must be a list of positive numbers, from 1e-100 to 1e100"
        )
    counts = np.array(table, dtype=float)
    probabilities: Float[np.ndarray, " facts"] = counts / counts.sum()
    return probabilities


def _is_count(value: object) -> bool:
    return type(value) in (int, float) and 1e-100 <= value <= 1e100  # type: ignore[operator]


def cumulated(probability: Float[np.ndarray, " facts"]) -> Float[np.ndarray, " facts"]:
    """Where the facts end on the line from 0 to 1, for `facts_at`."""
    ends = np.cumsum(probability)
    ends[-1] = 1.0
    return ends


def facts_at(
    ends: Float[np.ndarray, " facts"], random: UInt64[np.ndarray, "*n"]
) -> Int64[np.ndarray, "*n"]:
    """A fact for each random word of 64 bits, by probabilities that were `cumulated`.

    >>> facts_at(cumulated(np.array([0.5, 0.5])), np.array([2**62, 2**63], dtype=np.uint64))
    array([0, 1])
    """
    facts: Int64[np.ndarray, "*n"] = ends.searchsorted(
        (random >> np.uint64(11)) * 2.0**-53, "right"
    )
    return facts


def frequency_classes(probability: Float[np.ndarray, " facts"]) -> Int64[np.ndarray, " facts"]:
    """The class of each fact: 0 for the most frequent, 1 for the next two, 2 for the next four, …

    >>> frequency_classes(zipf(8, 1.0)).tolist()
    [0, 1, 1, 2, 2, 2, 2, 3]
    """
    rank = np.empty(len(probability), dtype=np.int64)
    rank[np.argsort(-probability, kind="stable")] = np.arange(1, len(probability) + 1)
    return np.frexp(rank)[1].astype(np.int64) - 1
