"""The prediction of one problem: accuracies with intervals, and what they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Self

from recallscope.common.errors import ProblemError
from recallscope.common.plain import finite, plain
from recallscope.plot.labels import accuracy_label, describe_common_fields
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.result import Drawing, Result
from recallscope.problem.problem import Problem
from recallscope.problem.registry import part
from recallscope.problem.rows import row_of
from recallscope.theory.conditions import Condition, conditions_of, no_conditions
from recallscope.theory.law import Answer, Law
from recallscope.theory.recorded_error import RecordedError
from recallscope.theory.scope import scope

_NUMBERS = ("exponents", "slopes", "quantities", "errors")


class Standing(StrEnum):
    """How a problem lies to those that its law was compared at."""

    TESTED = "tested"
    EXTRAPOLATED = "extrapolated"
    NONE = "none"


class AccuracyEstimate(NamedTuple):
    """An accuracy, the ends of its 90 % interval, and the median error near it; None if unknown."""

    value: float
    low: float | None = None
    high: float | None = None
    median_error: float | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Prediction(Result, Answer):
    """The prediction of one problem, or why no law answers.

    Attributes:
        law: the name of the law that answers; None if there is none.
        kind: derived, fitted or published.
        status: tested, extrapolated, or none.
        distance: the largest |ln(size / nearest tested size)|; 0 where all sizes were tested.
        extrapolated: what of the problem lies outside of what was tested, in words.
        recorded_error: how far off the law was at the problems nearest to this one, by accuracy.
        reason: why there is no prediction and there are no numbers.
        nearest: the nearest problem that can be answered, if there is none for this one.

    The rest is as in `Answer`.

    >>> from recallscope import predict
    >>> prediction = predict(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> round(prediction.recall_accuracy, 2), prediction.dominant, prediction.law
    (0.32, ('recall', 'interference'), 'three-step')
    """

    problem: Problem
    law: str | None = None
    kind: str | None = None
    status: Standing = Standing.NONE
    distance: float | None = None
    extrapolated: list[str] = field(default_factory=list)
    recorded_error: Mapping[str, RecordedError] = field(default_factory=dict)
    nearest: Problem | None = None
    _in_json = ("problem", "law", "kind", "status")

    @property
    def recall_accuracy(self) -> float | None:
        """How often the label is right."""
        return self.accuracies.get("recall_accuracy")

    @property
    def attention_accuracy(self) -> float | None:
        """How often attention finds the trigger."""
        return self.accuracies.get("attention_accuracy")

    @property
    def first_gradient_accuracy(self) -> float | None:
        """How often the label is right after the first step alone."""
        return self.accuracies.get("first_gradient_accuracy")

    @property
    def least_met(self) -> Condition | None:
        """The condition of `capacity` that is met least, for half of the facts after three steps.

        >>> from recallscope import predict
        >>> predict(Problem(vocab=512, samples=8192, dim=64, length=32)).least_met.inequality
        'd² / (1 + V/N) ≥ 11.4 V'
        """
        if self.law != "three-step" or no_conditions(self.problem) is not None:
            return None
        return min(conditions_of(self.problem), key=lambda condition: condition.factor)

    @property
    def in_tested_range(self) -> bool:
        """Whether problems of such sizes were compared with experiments."""
        return self.status is Standing.TESTED

    @property
    def estimates(self) -> dict[str, AccuracyEstimate]:
        """Each accuracy with its interval."""
        return {name: self._estimate(name, value) for name, value in self.accuracies.items()}

    def _estimate(self, name: str, value: float) -> AccuracyEstimate:
        low, high = self.intervals.get(name, (None, None))
        error = self.recorded_error.get(name)
        return AccuracyEstimate(value, low, high, error and error.median)

    @property
    def _law(self) -> Law:
        if self.law is None:
            raise ProblemError(str(self.reason))
        return part("law", self.law)

    def rows(self) -> list[dict[str, Any]]:
        """One row: the problem, its accuracies and factors, and the bottleneck."""
        stage, term = self.dominant or (None, None)
        columns = (
            dict.fromkeys(("attention_accuracy", "recall_accuracy", "first_gradient_accuracy"))
            | dict(self.accuracies)
            | {name: value for name, (value, _) in self.factors.items()}
            | dict(self.quantities)
            | {"stage": stage, "term": term, "law": self.law, "status": str(self.status)}
            | {"reason": self.reason}
        )
        return [row_of(self.problem, columns)]

    def summary_rows(self) -> list[dict[str, Any]]:
        """One row for each accuracy, with its interval."""
        if self.law is None:
            return self.rows()
        return [
            {
                "accuracy": name,
                "predicted": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
            }
            | {"law": self.law, "status": str(self.status)}
            for name, estimate in self.estimates.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON: what is empty is left out."""
        shown = super().to_dict()
        if self.law is None:
            nearest = self.nearest and self.nearest.to_dict()
            return shown | {"prediction": None, "reason": self.reason, "nearest": nearest}
        shown |= {
            "distance": self.distance,
            "prediction": dict(self.accuracies),
            "intervals": {
                name: dict(zip(estimate._fields[1:], estimate[1:], strict=True))
                for name, estimate in self.estimates.items()
            },
            "factors": plain(self.factors),
            "noise": {
                stage: {
                    name: {"variance": variance, "share": variance / (sum(terms.values()) or 1.0)}
                    for name, variance in terms.items()
                }
                for stage, terms in self.noise.items()
            },
            "dominant": self.dominant and dict(zip(("stage", "term"), self.dominant, strict=True)),
            **plain({name: getattr(self, name) for name in _NUMBERS}),
            "scope": scope(self.problem),
            "exposures_per_fact": finite(self.problem.samples / self.problem.vocab),
            "tested_range": self.in_tested_range,
            "extrapolated": self.extrapolated,
            "recorded_error": plain(self.recorded_error),
        }
        return {name: value for name, value in shown.items() if value not in ({}, None)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        noise = {
            stage: {name: term["variance"] for name, term in terms.items()}
            for stage, terms in data.get("noise", {}).items()
        }
        intervals = {
            name: (ends["low"], ends["high"])
            for name, ends in (data.get("intervals") or {}).items()
            if ends["low"] is not None
        }
        dominant = tuple((data.get("dominant") or {}).values()) or None
        numbers = {"accuracies": data["prediction"] or {}, "noise": noise, "dominant": dominant}
        numbers["intervals"] = intervals
        return super().from_dict({**data, **numbers})

    def _words(self) -> str:
        if self.law is None:
            return str(self.reason)
        sentence = ", ".join(
            f"{accuracy_label(name)} {v:.4f}" for name, v in self.accuracies.items()
        )
        sentence = f"{self._law.about}: {sentence}"
        if self.factors:
            sentence += " = " + " × ".join(
                f"{name.replace('_', ' ')} {value:.3f}" for name, (value, _) in self.factors.items()
            )
        if self.dominant is not None:
            stage, term = (name.replace("_", " ") for name in self.dominant)
            sentence += f"; bottleneck: {term} of {stage}"
        if (least := self.least_met) is not None:
            sentence += f"; least met condition: {least.sentence}"
        return (
            f"{sentence}; extrapolated: {'; '.join(self.extrapolated)}"
            if self.extrapolated
            else sentence
        )

    def _drawing(self) -> Drawing:
        return Drawing("picture", self.picture())

    def picture(self) -> Picture:
        """Accuracies and factors with bars, and noises by stage."""
        law = self._law
        numbers = {accuracy_label(name): estimate for name, estimate in self.estimates.items()}
        for name, (value, _) in self.factors.items():
            numbers.setdefault(accuracy_label(name), AccuracyEstimate(value))
        for name, error in self.errors.items():
            value, low, *_ = numbers[accuracy_label(name)]
            if low is None:
                ends = max(value - 2 * error, 0), min(value + 2 * error, 1)
                numbers[accuracy_label(name)] = AccuracyEstimate(value, *ends)
        bars = "90 % of the nearest experiments lie within" if self.recorded_error else ""
        bars = bars or ("two numerical standard errors" if self.errors else "")
        shown = Series(
            f"{law.about}; bars: {bars}" if bars else law.about,
            Kind.MEASURED,
            list(numbers),
            [estimate.value for estimate in numbers.values()],
            low=[
                estimate.value if estimate.low is None else estimate.low
                for estimate in numbers.values()
            ],
            high=[
                estimate.value if estimate.high is None else estimate.high
                for estimate in numbers.values()
            ],
        )
        panels = [Panel(title="accuracy", x="", y="predicted accuracy", series=[shown])]
        noises = [
            Series(
                stage.replace("_", " "),
                Kind.MEASURED,
                [term.replace("_", " ") for term, variance in terms.items() if variance],
                [variance for variance in terms.values() if variance],
            )
            for stage, terms in self.noise.items()
        ]
        if noises:
            title = "noise by stage"
            panels.append(Panel(title=title, x="", y="variance", series=noises, log_y=True))
        caption = f"{describe_common_fields([self.problem.to_dict()])}. {law.origin}".rstrip()
        if self.extrapolated:
            caption += f" Extrapolated: {'; '.join(self.extrapolated)}."
        if noises:
            caption += " Noise: variances in units of the squared signal."
        return Picture(caption=caption, panels=panels)
