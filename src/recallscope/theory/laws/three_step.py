"""Three gradient steps on random embeddings: closed forms, with nothing fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recallscope.problem.axes import SIZES
from recallscope.problem.problem import Problem
from recallscope.theory.accuracy import Accuracies, analyse
from recallscope.theory.law import Answer, Given, Law, LawKind, Ranges
from recallscope.theory.noise import POWERS, budget, dominant
from recallscope.theory.problem_arrays import OVERFLOW, ProblemArrays, arrays_of, no_closed_form
from recallscope.theory.recorded_error import ComparedProblem, RecordedError
from recallscope.theory.simulations import recorded_error, simulated_comparisons

_EMBEDDINGS = ("sphere", "gaussian")
_ACTIVATIONS = (None, "relu", "gelu", "tanh", "quadratic", "centred-relu")


def _exponents(slopes: dict[str, float], stage: str, term: str) -> dict[str, float]:
    """The exponents that the slopes are closest to; if none is close, slopes to nearest halves."""
    here = np.array([slopes[name] for name in SIZES])
    every = np.array(POWERS[stage][term], dtype=float)
    powers = every[np.argmin(np.abs(every - here).max(axis=1))]
    if np.abs(powers - here).max() > 0.45:
        powers = np.round(2 * here) / 2
    return dict(zip(SIZES, (powers + 0.0).tolist(), strict=True))


def _slopes(s: ProblemArrays, stage: str, term: str) -> dict[str, float]:
    """Log-derivatives of one noise term by each size."""
    step = 1e-5
    names = [name for name in SIZES if name != "width" or np.isfinite(s.width[0])]
    # Upwards only, as no size may fall below 1.
    more = [s._replace(**{name: getattr(s, name) * (1 + step)}) for name in names]
    both = ProblemArrays(*(np.concatenate(arrays) for arrays in zip(s, *more, strict=True)))
    values = np.log(np.maximum(budget(both, analyse(both))[stage][term], 1e-300))
    slopes = (values[1:] - values[0]) / np.log1p(step)
    return dict.fromkeys(SIZES, 0.0) | dict(zip(names, map(float, slopes), strict=True))


def untested_parts(problem: Problem) -> list[str]:
    choices = []
    if problem.embedding not in _EMBEDDINGS:
        choices.append(f"embedding {problem.embedding}")
    elif problem.dim >= problem.vocab:
        choices.append(f"dim {problem.dim} >= vocab {problem.vocab}")
    if problem.activation not in _ACTIVATIONS:
        choices.append(f"activation {problem.activation}")
    return choices


@dataclass(frozen=True)
class ClosedForms(Law):
    """Three steps on random embeddings."""

    kind = LawKind.DERIVED
    priority = 30
    about = "predicted accuracies"
    origin = "Closed forms, nothing fitted."
    step = 1.096
    widens = 1.3
    tested: ClassVar[Ranges] = {
        "vocab": (256, 16384),
        "dim": (16, 1024),
        "length": (2, 1024),
        "samples per fact": (0, 400),
        "width": (64, 16384),
    }

    @np.errstate(all="ignore")  # what overflows is looked for at the end
    def predict(self, problems: Sequence[Problem], given: Given) -> list[Answer]:
        """An answer for each of the problems."""
        s = arrays_of(problems)
        analysis = analyse(s)
        numbers = np.array(analysis.accuracies)
        known = np.isfinite(numbers).all(axis=0)
        named = [
            dict(zip(Accuracies._fields, values, strict=True)) for values in numbers.T.tolist()
        ]
        if not given.details:
            return [
                Answer(accuracies=values) if fine else Answer(reason=OVERFLOW)
                for values, fine in zip(named, known.tolist(), strict=True)
            ]
        terms = budget(s, analysis)
        binding = dominant(s, analysis, terms)
        for noises in terms.values():  # what the population leaves of order 1/N is shown as 0
            noises.update(
                {
                    name: np.where(variance > 1e-60, variance, 0.0)
                    for name, variance in noises.items()
                }
            )
        answers = []
        for place, accuracies in enumerate(named):
            if not known[place]:
                answers.append(Answer(reason=OVERFLOW))
                continue
            stage, term = binding[place]
            slopes = _slopes(s.take([place]), stage, term)
            answers.append(
                Answer(
                    accuracies=accuracies,
                    noise={
                        stage: {name: float(variance[place]) for name, variance in noises.items()}
                        for stage, noises in terms.items()
                    },
                    dominant=(stage, term),
                    exponents=_exponents(slopes, stage, term),
                    slopes=slopes,
                )
            )
        return answers

    @np.errstate(all="ignore")
    def bottleneck(self, problems: Sequence[Problem], accuracy: str) -> list[tuple[str, str]]:
        """The stage and the noise that limit an accuracy."""
        s = arrays_of(problems)
        analysis = analyse(s)
        return dominant(s, analysis, budget(s, analysis), accuracy)

    def explain(self, problem: Problem, answer: Answer) -> str:
        """A sentence or more on an answer."""
        if answer.dominant is None:
            return ""
        stage, term = (name.replace("_", " ") for name in answer.dominant)
        law = " · ".join(f"{name}^{power:g}" for name, power in answer.exponents.items() if power)
        return (
            "Variances in units of the squared signal of a fact seen as often as the "
            "average. Together: of a wrong label's logit, for attention of a token's score. "
            "Sampling: of the right label, by how often its fact happened to be "
            f"seen. Bottleneck: {term} of {stage}, as {law or 'a constant'}."
        )

    def applies(self, problem: Problem) -> str | None:
        """Why the law says nothing of a problem; None if it does."""
        return no_closed_form(problem)

    def untested(self, problem: Problem) -> list[str]:
        """What else of a problem it was not compared at."""
        return untested_parts(problem)

    def recorded_error(
        self, problem: Problem, accuracy: str, predicted: float
    ) -> RecordedError | None:
        """How far off it was near a problem."""
        return recorded_error(problem, accuracy, predicted)

    def comparisons(self) -> Sequence[ComparedProblem]:
        """The problems it was compared with."""
        return simulated_comparisons()


PART = ClosedForms()
