"""The check: every closed form compared with Monte Carlo, level and slope, with a verdict.

Around one problem each size is halved and doubled. A noise passes if the measured variance agrees
with the predicted one at all sizes and changes with each size as predicted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from recallscope.common.checks import whole_number
from recallscope.common.errors import ProblemError
from recallscope.measure.monte_carlo import Term, measure
from recallscope.plot.result import Drawing, Result
from recallscope.problem.axes import SIZES
from recallscope.problem.problem import Problem
from recallscope.theory import attention_scores
from recallscope.theory.accuracy import analyse
from recallscope.theory.noise import budget
from recallscope.theory.problem_arrays import arrays_of, form_of

FACTORS = (0.5, 1.0, 2.0)
LARGEST_ARRAY = 5e7
LEVEL_TOLERANCE = math.log(1.5)
SLOPE_TOLERANCE = 0.25
"""A wrong exponent is wrong by at least one half."""

NEGLIGIBLE = 0.02
"""A noise of less than this fraction of its stage is shown but not judged."""


_ROUNDING = 1e-12


class CheckOutcome(StrEnum):
    """The outcome of a comparison of a closed form."""

    PASS = "pass"
    FAIL = "fail"
    UNCLEAR = "unclear"  # the errors of the measurement are too large; take more seeds
    NEGLIGIBLE = "negligible"


@dataclass(frozen=True, kw_only=True)
class TermComparison:
    """One noise along one size: measured with its standard error over instances, and predicted."""

    stage: str
    term: str
    size: str
    values: list[int]
    measured: list[float]
    errors: list[float]
    predicted: list[float]
    measured_slope: float
    slope_error: float
    predicted_slope: float
    ratio: float  # measured over predicted, geometric mean over the sizes
    verdict: CheckOutcome


@dataclass(frozen=True, kw_only=True, repr=False)
class CheckReport(Result):
    """All comparisons around one problem."""

    problem: Problem
    seeds: int
    comparisons: list[TermComparison]

    @property
    def failed(self) -> list[Term]:
        """The stage and name of every closed form that failed along some size."""
        wrong = [c for c in self.comparisons if c.verdict is CheckOutcome.FAIL]
        return list(dict.fromkeys((c.stage, c.term) for c in wrong))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each noise at each size."""
        lists = ("values", "measured", "errors", "predicted")
        return [
            {name: value for name, value in asdict(comparison).items() if name not in lists}
            | {"verdict": str(comparison.verdict), "value": value, "measured": measured}
            | {"error": error, "predicted": predicted}
            for comparison in self.comparisons
            for value, measured, error, predicted in zip(
                *(getattr(comparison, name) for name in lists), strict=True
            )
        ]

    def _words(self) -> str:
        wrong = ", ".join(f"{term} of {stage}".replace("_", " ") for stage, term in self.failed)
        verdict = f"failed: {wrong}" if wrong else "no closed form failed"
        return f"{len(self.comparisons)} comparisons over {self.seeds} seeds: {verdict}"

    def _drawing(self) -> Drawing:
        return Drawing("check", self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        data = super().to_dict()
        comparisons = data.pop("comparisons")
        failed = [{"stage": stage, "term": term} for stage, term in self.failed]
        return data | {"passed": not failed, "failed": failed, "comparisons": comparisons}


Progress = Callable[[int, int], None] | None
"""Called with (instances measured, instances in all), if given."""


def check(problem: Problem, seeds: int = 16, progress: Progress = None) -> CheckReport:
    """Measure around a problem and compare with the closed forms; see `recallscope.check`."""
    return compare(problem, measure_around(problem, seeds, progress))


Measured = dict[Problem, list[dict[Term, float]]]
"""Measurements of each problem, instance by instance."""


def measure_around(problem: Problem, seeds: int = 16, progress: Progress = None) -> Measured:
    """Monte Carlo of a problem and of those with one size halved or doubled."""
    seeds = whole_number("seeds", seeds, 2)
    if form_of(problem.embedding) not in ("sphere", "gaussian"):
        raise ProblemError(
            f"the check is for random embeddings, not {problem.embedding!r}; "
            "over orthogonal ones there are no overlaps to measure"
        )
    check_sizes(problem)
    return measure_all(_around(problem).values(), seeds, measure, progress)


def check_sizes(problem: Problem) -> None:
    """Raise for a problem that is too small to separate noises, or too large for memory."""
    smallest = {"vocab": 16, "samples": problem.vocab, "dim": 4, "length": 2}
    for name, size in smallest.items():
        if getattr(problem, name) < size:
            raise ProblemError(
                f"the check needs {name} of at least {size}, not {getattr(problem, name):g}: "
                "smaller instances have too few facts to separate noises"
            )
    numbers = _largest_array(problem)
    if not numbers <= LARGEST_ARRAY:
        raise ProblemError(
            f"the check needs {numbers:.2g} numbers at once, more than "
            f"{LARGEST_ARRAY:.0e}; choose a smaller problem"
        )


def measure_all(
    problems: Iterable[Problem],
    seeds: int,
    measure: Callable[[Problem, int], dict[Term, float]],
    progress: Progress,
) -> Measured:
    """Return the measurements of each problem at each seed."""
    different = list(dict.fromkeys(problems))
    measured: Measured = {}
    for number, one in enumerate(different):
        measured[one] = []
        for seed in range(seeds):
            measured[one].append(measure(one, seed))
            if progress is not None:
                progress(number * seeds + seed + 1, len(different) * seeds)
    return measured


def compare(problem: Problem, measured: Measured) -> CheckReport:
    """Compare what was measured around a problem with the closed forms."""
    predicted = {one: predicted_terms(one) for one in measured}
    for one, terms_by_seed in measured.items():
        if ("attention", "trigger") not in terms_by_seed[0]:
            continue
        # Cross-talk is that of the trigger's score as it was: a wrong signal is not its fault.
        square = float(np.mean([terms["attention", "trigger"] for terms in terms_by_seed]))
        score, effective_dim = math.sqrt(max(square, 0.0)), arrays_of(one).effective_dim
        predicted[one]["attention", "cross_talk"] = float(
            attention_scores.cross_talk(score, effective_dim)[0]
        )
    return compare_terms(problem, _around(problem), measured, predicted)


def compare_terms(
    problem: Problem,
    problems: Mapping[tuple[str, float], Problem],
    measured: Measured,
    predicted: Mapping[Problem, Mapping[Term, float]],
) -> CheckReport:
    """Compare every term along every size: `problems` are those around one, by size and factor."""
    shares = _shares(predicted[problem])
    comparisons = [
        _compare(
            term,
            name,
            [getattr(problems[name, factor], name) for factor in FACTORS],
            [[terms[term] for terms in measured[problems[name, factor]]] for factor in FACTORS],
            [predicted[problems[name, factor]][term] for factor in FACTORS],
            negligible=shares[term] < NEGLIGIBLE,
        )
        for term in measured[problem][0]
        if term in predicted[problem] and shares[term] > _ROUNDING
        if all(predicted[one][term] > 0 for one in predicted)
        for name in dict.fromkeys(name for name, _ in problems)
    ]
    return CheckReport(problem=problem, seeds=len(measured[problem]), comparisons=comparisons)


def _around(problem: Problem) -> dict[tuple[str, float], Problem]:
    return around(problem, [name for name in SIZES if name != "width" or problem.width is not None])


def around(problem: Problem, sizes: Sequence[str]) -> dict[tuple[str, float], Problem]:
    """A problem with each of some sizes halved, as it is, and doubled."""
    return {(name, factor): _scaled(problem, name, factor) for name in sizes for factor in FACTORS}


def predicted_terms(problem: Problem) -> dict[Term, float]:
    """Return the prediction of everything that `measure` measures.

    >>> terms = predicted_terms(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> round(terms["recall", "interference"], 4)
    0.1494
    """
    s = arrays_of(problem)
    analysis = analyse(s)
    named = budget(s, analysis)
    terms = {
        (stage, name): float(variance[0])
        for stage in ("first_gradient", "recall")
        for name, variance in named[stage].items()
    }
    # Monte Carlo of the first gradient cannot separate these two.
    terms["first_gradient", "interference"] += terms.pop(("first_gradient", "kernel_interference"))
    scores = analysis.attention
    terms |= {("attention", name): float(variance[0]) for name, variance in scores.terms.items()}
    terms["attention", "cross_talk"] = float(
        attention_scores.cross_talk(scores.signal, s.effective_dim)[0]
    )
    terms["attention", "signal"] = float((scores.signal - scores.remembered)[0])
    terms["attention", "memorisation"] = float(scores.remembered[0])
    return terms


def _scaled(problem: Problem, name: str, factor: float) -> Problem:
    smallest = 2 if name in ("vocab", "length") else 1  # one token has no rival
    return problem.replace(**{name: max(smallest, round(getattr(problem, name) * factor))})


def _largest_array(problem: Problem) -> float:
    """Numbers in the largest array of a simulation, when each size is doubled in its turn."""
    V, N, d, L, m = (
        float(getattr(problem, name) or 1)
        for name in ("vocab", "samples", "dim", "length", "width")
    )
    hidden = m if problem.width else d
    return 2 * max(N * V, 2 * V * V, N * L, N * m, N * d, V * m, V * d, 2 * hidden * d)


def _shares(terms: Mapping[Term, float]) -> dict[Term, float]:
    """The fraction of each noise in its stage, and of each part of a signal in the signal."""
    parts = ("signal", "memorisation")

    def whole(stage: str, of_signal: bool) -> float:
        return sum(v for (s, n), v in terms.items() if s == stage and (n in parts) == of_signal)

    return {
        (stage, name): value / whole(stage, name in parts) for (stage, name), value in terms.items()
    }


def _compare(
    term: Term,
    size: str,
    values: list[int],
    measured: list[list[float]],
    predicted: list[float],
    negligible: bool,
) -> TermComparison:
    means = np.mean(measured, axis=1)
    errors = np.std(measured, axis=1, ddof=1) / math.sqrt(len(measured[0]))
    steps = np.log(values) - np.log(values).mean()
    weights = steps / (steps @ steps)  # of a straight line through the logarithms
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.maximum(means, 1e-300))
        relative = np.where(means > 0, errors / means, np.inf)
    ratio = logs - np.log(predicted)
    slope, expected = weights @ logs, weights @ np.log(predicted)
    slope_error = float(np.sqrt(weights**2 @ np.minimum(relative, 1e3) ** 2))
    level_error = float(np.sqrt(np.mean(np.minimum(relative, 1e3) ** 2) / len(means)))
    return TermComparison(
        stage=term[0],
        term=term[1],
        size=size,
        values=values,
        measured=means.tolist(),
        errors=errors.tolist(),
        predicted=predicted,
        measured_slope=float(slope),
        slope_error=slope_error,
        predicted_slope=float(expected),
        ratio=float(np.exp(np.mean(ratio))),
        verdict=_verdict(
            abs(slope - expected), slope_error, abs(np.mean(ratio)), level_error, negligible
        ),
    )


def _verdict(
    slope: float, slope_error: float, level: float, level_error: float, negligible: bool
) -> CheckOutcome:
    if negligible:
        return CheckOutcome.NEGLIGIBLE
    if slope > SLOPE_TOLERANCE + 2 * slope_error or level > LEVEL_TOLERANCE + 2 * level_error:
        return CheckOutcome.FAIL
    # An exponent wrong by one half must not hide in the errors.
    hidden = slope + 2 * slope_error > 2 * SLOPE_TOLERANCE + 0.1
    return CheckOutcome.UNCLEAR if hidden else CheckOutcome.PASS
