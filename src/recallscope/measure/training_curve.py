"""One training as it went: what was seen along the way, next to the law of the first steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaincinv  # type: ignore[import-untyped]

from recallscope.common.errors import ProblemError
from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.plot.labels import describe_common_fields
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.result import Drawing, Result
from recallscope.problem.naming import PART_DEFAULTS
from recallscope.problem.problem import Problem
from recallscope.theory.choosing import quick_prediction
from recallscope.theory.prediction import Prediction
from recallscope.training.ended import Ended
from recallscope.training.grid import look_samples

_ATTENTION = {
    "attention": "highest at the trigger",
    "mass": "attention at the trigger",
    "cosine": "cosine with the trigger",
}
_COUNTED = ("recall", "attention")


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainingCurve(Result):
    """The record of one training, its curves as a table and as a figure."""

    record: Record

    @property
    def problem(self) -> Problem:
        """The problem that was trained."""
        return self.record.problem

    @property
    def ended(self) -> Ended | None:
        """How the training ended; None if it broke off."""
        metrics = self.record.metrics
        return Ended(int(self.record.metric("ended"))) if "ended" in metrics else None

    @cached_property
    def early(self) -> Prediction | None:
        """The prediction for three steps from the same samples, if there is one."""
        with suppress(ProblemError):  # not every task has three steps
            return quick_prediction(
                self.problem.replace(learner=PART_DEFAULTS["learner"], regime="limit")
            )
        return None

    def rows(self) -> list[dict[str, Any]]:
        """A row for each step that was evaluated."""
        curves = {
            name.removeprefix("curve_"): values
            for name, values in self.record.metrics.items()
            if name.startswith("curve_") and not isinstance(values, float)
        }
        count = len(curves.get("step", ()))
        rows = [{name: values[place] for name, values in curves.items()} for place in range(count)]
        return [row | {"step": round(row["step"])} for row in rows]

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return self.record.to_dict()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrainingCurve:
        """The inverse of `to_dict`."""
        return cls(record=Record.from_dict(data))

    def _words(self) -> str:
        record = self.record
        if record.status is not Status.OK or self.ended is None:
            return f"{record.status}: {record.reason}"
        text = [f"recall {record.recall_accuracy:.4f}"]
        if record.attention_accuracy is not None:
            text.append(f"attention {record.attention_accuracy:.4f}")
        text.append(f"loss {record.metric('final_loss'):.4g}")
        if "first_attention" in record.metrics:
            text.append(
                f"attention first at the trigger at step {record.metric('first_attention'):.0f}"
            )
        steps = f"{record.metric('steps_taken'):.0f} steps of {record.problem.learner}"
        return f"{self.ended.words} after {steps}: {', '.join(text)}"

    def _drawing(self) -> Drawing:
        rows = self.rows()
        if len(rows) < 2:
            raise ProblemError("a curve needs two steps at least, so there is nothing to draw")
        # Zero has no logarithm: the start is drawn where half a step would be.
        steps = [max(row["step"], 0.5) for row in rows]
        early = self.early

        looked_at = look_samples(self.problem)

        def panel(title: str, names: Mapping[str, str], predicted: str) -> Panel:
            series = [
                _series(
                    label, steps, [row[name] for row in rows], place, looked_at * (name in _COUNTED)
                )
                for place, (name, label) in enumerate(names.items())
            ]
            if early is not None:
                value = float(getattr(early, f"{predicted}_accuracy"))
                text = f"closed form: {names[predicted]}"
                ends = [steps[0], steps[-1]]
                series += [
                    Series(text, Kind.THEORY, [3.0], [value], colour=6),
                    Series("", Kind.REFERENCE, ends, [value, value]),
                ]
            return Panel(title=title, x="step", y="fraction", series=series, log_x=True)

        loss = _series("on the samples", steps, [row["loss"] for row in rows], 0, 0)
        panels = [panel("recall", {"recall": "recall"}, "recall")]
        if "attention" in rows[0]:
            panels.append(panel("attention", _ATTENTION, "attention"))
        panels.append(
            Panel(
                title="loss",
                x="step",
                y="loss on the samples",
                series=[loss],
                log_x=True,
                log_y=True,
            )
        )
        caption = (
            f"{describe_common_fields([self.problem.to_dict()])}; seed {self.record.seed}. "
            f"The learning rate was {self.record.metric('rate_used'):.3g}. Fractions of "
            f"{looked_at} fresh samples, bars: 95 % intervals. Step 0 is drawn at 0.5."
        )
        three = f"; three large steps would give {early.recall_accuracy:.2f}" if early else ""
        title = f"Recall ends at {rows[-1]['recall']:.2f}{three}"
        return Drawing("picture", Picture(caption=caption, panels=panels, title=title))


def _series(
    label: str, steps: Sequence[float], values: Sequence[float], colour: int, samples: int
) -> Series:
    """Return a measured series; a fraction of some samples has an interval, Jeffreys'."""
    bars = {}
    if samples:
        right = samples * np.asarray(values)
        for name, end in (("low", 0.025), ("high", 0.975)):
            bars[name] = betaincinv(right + 0.5, samples - right + 0.5, end).tolist()
    return Series(label, Kind.MEASURED, steps, values, **bars, colour=colour)
