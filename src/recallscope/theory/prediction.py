"""What the closed forms say of one problem: accuracies, noises, and which of them binds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recallscope.plotting.labels import accuracy_label, describe_common_fields
from recallscope.plotting.panels import Picture
from recallscope.plotting.result import Drawing, Result, picture_drawing
from recallscope.problem import Problem, ProblemError
from recallscope.theory.accuracy import Accuracies, analyse
from recallscope.theory.noise import budget, dominant
from recallscope.theory.prediction_picture import prediction_picture
from recallscope.theory.problem_arrays import ProblemArrays, arrays_of, no_closed_form
from recallscope.theory.recorded_error import recorded_error
from recallscope.theory.scope import scope
from recallscope.theory.sizes import SIZES
from recallscope.theory.tested_range import extrapolated

OVERFLOW = (
    "no closed form at these sizes: terms of it leave the range of floating-point numbers; "
    "choose sizes that are less far apart"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Prediction(Result):
    """What the theory says of one problem.

    Attributes:
        noise: by stage and term, the variance in units of the squared signal.
        dominant: the stage that limits recall and the noise that limits the stage.
        exponents: the powers of each size with which the dominant noise goes, far into its regime.
        slopes: the same at these very sizes, corrections of finite size included.
        reason: why there is no prediction: then the rest is None or empty.

    >>> found = predict(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> round(found.recall_accuracy, 2), found.dominant
    (0.32, ('recall', 'interference'))
    """

    problem: Problem
    lock_accuracy: float | None = None
    recall_accuracy: float | None = None
    one_step_accuracy: float | None = None
    noise: dict[str, dict[str, float]] = field(default_factory=dict)
    dominant: tuple[str, str] | None = None
    exponents: dict[str, float] = field(default_factory=dict)
    slopes: dict[str, float] = field(default_factory=dict)
    reason: str | None = None

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Prediction:
        """The inverse of `to_dict`."""
        problem = Problem.from_dict(told["problem"])
        if told["prediction"] is None:
            return cls(problem=problem, reason=told["reason"])
        return cls(
            problem=problem,
            **told["prediction"],
            noise={
                stage: {name: term["variance"] for name, term in terms.items()}
                for stage, terms in told["noise"].items()
            },
            dominant=(told["dominant"]["stage"], told["dominant"]["term"]),
            exponents=dict(told["exponents"]),
            slopes=dict(told["slopes"]),
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row: the problem, its accuracies, and what binds."""
        stage, term = self.dominant or (None, None)
        numbers = {name: getattr(self, name) for name in Accuracies._fields}
        return [
            self.problem.to_row() | numbers | {"stage": stage, "term": term, "reason": self.reason}
        ]

    def _words(self) -> str:
        if self.dominant is None:
            return str(self.reason)
        stage, term = (name.replace("_", " ") for name in self.dominant)
        told = ", ".join(
            f"{accuracy_label(name)} {getattr(self, name):.4f}" for name in Accuracies._fields
        )
        outside = f"; extrapolated: {'; '.join(self.extrapolated)}" if self.extrapolated else ""
        return f"predicted accuracies: {told}; {term} of {stage} binds{outside}"

    def _drawing(self) -> Drawing:
        return picture_drawing(self._picture())

    def _picture(self) -> Picture:
        if self.dominant is None:
            raise ProblemError(str(self.reason))
        outside = f" Extrapolated: {'; '.join(self.extrapolated)}." if self.extrapolated else ""
        return prediction_picture(
            f"{describe_common_fields([self.problem.to_dict()])}. Closed forms, nothing fitted."
            f"{outside}",
            "closed forms; bars: 90 % of the nearest simulations lie within",
            {
                name: (float(getattr(self, name)), recorded_error(self.problem, name).most)
                for name in Accuracies._fields
            },
            self.noise,
        )

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON: every term with its variance and its share of the stage."""
        problem = {"problem": self.problem.to_dict() | {"key": self.problem.key}}
        if self.dominant is None:
            return problem | {"prediction": None, "reason": self.reason}
        stage, term = self.dominant
        return problem | {
            "prediction": {name: getattr(self, name) for name in Accuracies._fields},
            "noise": {
                stage: {
                    name: {"variance": variance, "share": variance / (sum(terms.values()) or 1.0)}
                    for name, variance in terms.items()
                }
                for stage, terms in self.noise.items()
            },
            "dominant": {"stage": stage, "term": term},
            "exponents": self.exponents,
            "slopes": self.slopes,
            "scope": scope(self.problem),
            "exposures_per_fact": _finite(self.problem.samples / self.problem.vocab),
            "tested_range": self.in_tested_range,
            "extrapolated": self.extrapolated,
            "recorded_error": {
                name: recorded_error(self.problem, name)._asdict() for name in Accuracies._fields
            },
        }

    @property
    def extrapolated(self) -> list[str]:
        """What lies outside of the sizes that were compared with simulation."""
        return extrapolated(self.problem)

    @property
    def in_tested_range(self) -> bool:
        """Whether problems of such sizes were compared with simulation."""
        return not self.extrapolated


@np.errstate(all="ignore")  # what overflows is looked for at the end
def predict(problem: Problem) -> Prediction:
    """Lock, recall and one-step accuracy of a problem, and what limits them, without simulation.

    Where there is no closed form the prediction says so as its `reason`, and has no numbers.

    >>> predict(Problem(vocab=10**9, samples=10**13, dim=16384, length=10**6)).dominant
    ('recall', 'interference')
    """
    if sentence := no_closed_form(problem):
        return Prediction(problem=problem, reason=sentence)
    s = arrays_of(problem)
    found = analyse(s)
    if not np.isfinite(found.accuracies).all():
        return Prediction(problem=problem, reason=OVERFLOW)
    terms = budget(s, found)
    stage, term = dominant(s, found, terms).names()
    slopes = _slopes(s, stage, term)
    lock, recall, one_step = (float(values[0]) for values in found.accuracies)
    return Prediction(
        problem=problem,
        lock_accuracy=lock,
        recall_accuracy=recall,
        one_step_accuracy=one_step,
        noise={
            stage: {name: _rounded(variance[0]) for name, variance in named.items()}
            for stage, named in terms.items()
        },
        dominant=(stage, term),
        exponents=_exponents(slopes, stage, term),
        slopes=slopes,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rounded(variance: float) -> float:
    """A variance as it is shown: what the population leaves of order 1/N is 0."""
    return float(variance) if variance > 1e-60 else 0.0


# The leading terms of each noise, as powers of V, N, d, L, m: docs/theory.md derives them.
_LAWS: dict[tuple[str, str], tuple[tuple[float, ...], ...]] = {
    ("lock", "gradient_noise"): (
        (2, -2, -4, 3, 0),
        (2, -2, -3, 2, 0),
        (1, -1, -3, 1, 0),
        (1, -1, -4, 2, 0),
    ),
    ("lock", "mean_bias"): ((1, -2, -3, 4, 0),),
    ("lock", "mlp_noise"): ((2, -2, -2, 3, -1), (1, -2, -2, 4, -1), (2, -2, -3, 3, -1)),
    ("lock", "cross_talk"): ((0, 0, -1, 0, 0),),
    ("recall", "interference"): ((1, 0, -2, 0, 0), (2, -1, -2, 0, 0)),
    ("recall", "kernel_interference"): ((1, 0, -3, 0, 0),),
    ("recall", "mlp_noise"): ((1, 0, -1, 0, -1), (2, -1, -1, 0, -1)),
    ("recall", "mean_bias"): ((2, -1, -1, 0, 0),),
    ("recall", "sampling"): ((1, -1, 0, 0, 0),),
}


def _exponents(slopes: dict[str, float], stage: str, term: str) -> dict[str, float]:
    """The law that the slopes come closest to; if to none, the slopes to the nearest half."""
    here = np.array([slopes[name] for name in SIZES])
    laws = np.array(_LAWS[stage, term], dtype=float)
    law = laws[np.argmin(np.abs(laws - here).max(axis=1))]
    if np.abs(law - here).max() > 0.45:
        law = np.round(2 * here) / 2
    return dict(zip(SIZES, (law + 0.0).tolist(), strict=True))


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
