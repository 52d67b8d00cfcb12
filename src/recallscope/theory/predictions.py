"""What the closed forms say of many problems at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recallscope.plotting.panels import Kind, Picture
from recallscope.plotting.result import Drawing, Result, picture_drawing
from recallscope.problem import ACTIVATIONS, Problem
from recallscope.theory.accuracy import Accuracies, accuracies
from recallscope.theory.end_law import TRAINED
from recallscope.theory.end_prediction import EndPrediction
from recallscope.theory.prediction import OVERFLOW
from recallscope.theory.problem_arrays import (
    ProblemArrays,
    arrays_of,
    no_closed_form,
    problem_arrays,
)
from recallscope.theory.sizes import SIZES
from recallscope.theory.table_prediction import TablePrediction

if TYPE_CHECKING:
    from jaxtyping import Float

_Apart = EndPrediction | TablePrediction
_PLAIN = ("embedding", "trigger_in_values")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Predictions(Result):
    """Accuracies of many problems, in the order in which they were given.

    `columns` has the sizes and options of the problems, a list each. An accuracy is NaN where there
    is no closed form, and `reasons` has why, by the place of the problem.

    >>> found = predict_sizes(vocab=512, samples=[1024, 8192], dim=64, length=32)
    >>> found.recall_accuracy.round(2)
    array([0.28, 0.32])
    """

    columns: Mapping[str, list[Any]]
    lock_accuracy: Float[np.ndarray, " n"]
    recall_accuracy: Float[np.ndarray, " n"]
    one_step_accuracy: Float[np.ndarray, " n"]
    reasons: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.recall_accuracy)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each problem."""
        named = dict(self.columns) | {
            name: [None if math.isnan(value) else value for value in getattr(self, name).tolist()]
            for name in Accuracies._fields
        }
        if self.reasons:
            named["reason"] = [self.reasons.get(place) for place in range(len(self))]
        return [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON: a row for each problem."""
        return {
            "predictions": [
                row | {"samples": "inf" if row["samples"] == math.inf else row["samples"]}
                for row in self.rows()
            ]
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Predictions:
        """The inverse of `to_dict`."""
        rows = [dict(row) | {"samples": float(row["samples"])} for row in told["predictions"]]
        numbers = {
            name: np.array([math.nan if row[name] is None else row[name] for row in rows], float)
            for name in Accuracies._fields
        }
        names = [name for name in rows[0] if name not in (*numbers, "reason")] if rows else []
        columns = {name: [row[name] for row in rows] for name in names}
        if "samples" in columns:
            columns["samples"] = _whole(np.array(columns["samples"]))
        reasons = {place: row["reason"] for place, row in enumerate(rows) if row.get("reason")}
        return cls(columns=columns, **numbers, reasons=reasons)

    def _words(self) -> str:
        known = self.recall_accuracy[~np.isnan(self.recall_accuracy)]
        if not len(known):
            return f"predictions of {len(self)} problems, of which none is known"
        return (
            f"predictions of {len(self)} problems: recall accuracy from {known.min():.4f} to "
            f"{known.max():.4f}"
        )

    def _drawing(self) -> Drawing:
        from recallscope.plotting.curves import curves_panel
        from recallscope.plotting.labels import describe_common_fields

        rows = self.rows()
        names = [name for name in Accuracies._fields if not np.isnan(getattr(self, name)).all()]
        panels = [curves_panel(rows, name, kind=Kind.THEORY) for name in names]
        how = "Closed forms, nothing fitted."
        if not TRAINED.isdisjoint(self.columns.get("learner", [])):
            how = "Trained: the law of the end, partly derived and partly measured."
        caption = f"{describe_common_fields(rows)}. {how}"
        return picture_drawing(Picture(caption=caption, panels=panels))


def predict_all(
    problems: Iterable[Problem], apart: Callable[[Problem], _Apart | None] = lambda each: None
) -> Predictions:
    """Predict many problems; the accuracies of those without a closed form are NaN.

    Those that `apart` predicts, one by one, are not for the formulas that take all at once.

    >>> base = Problem(vocab=512, samples=1024, dim=64, length=32)
    >>> len(predict_all([base, base.replace(samples=2048)]))
    2
    """
    listed = list(problems)
    numbers = np.full((3, len(listed)), np.nan)
    reasons: dict[int, str] = {}
    known = []
    for place, each in enumerate(listed):
        if (found := apart(each)) is not None:
            # The law of the end has no one-step accuracy.
            values = [getattr(found, name, None) for name in Accuracies._fields]
            numbers[:, place] = [math.nan if value is None else value for value in values]
            reason = found.reason
        elif (reason := no_closed_form(each)) is None:
            known.append(place)
        if reason is not None:
            reasons[place] = reason
    if known:
        numbers[:, known], beyond = _finite(arrays_of(listed[place] for place in known))
        reasons |= {known[place]: reason for place, reason in beyond.items()}
    rows = [each.to_row() for each in listed]
    names = dict.fromkeys(name for row in rows for name in row)
    return Predictions(
        columns={name: [row.get(name) for row in rows] for name in names},
        **dict(zip(Accuracies._fields, numbers, strict=True)),
        reasons=dict(sorted(reasons.items())),
    )


def predict_sizes(**sizes: Any) -> Predictions:
    """Predict problems whose sizes and options are arrays, broadcast to one shape."""
    made = problem_arrays(**sizes)
    flat = ProblemArrays(*(np.ravel(each) for each in made))
    columns: dict[str, list[Any]] = {name: _whole(getattr(flat, name)) for name in SIZES}
    columns["samples"] = [math.inf if each >= 1e100 else each for each in columns["samples"]]
    columns["width"] = [None if each == math.inf else each for each in columns["width"]]
    columns["activation"] = [
        None if width is None else ACTIVATIONS[code]
        for width, code in zip(columns["width"], flat.activation.tolist(), strict=True)
    ]
    for name, default in zip(_PLAIN, ("sphere", False), strict=True):
        given = np.asarray(sizes.get(name, default))
        columns[name] = np.broadcast_to(given, made.vocab.shape).ravel().tolist()
    numbers, beyond = _finite(flat)
    return Predictions(
        columns=columns, **dict(zip(Accuracies._fields, numbers, strict=True)), reasons=beyond
    )


@np.errstate(all="ignore")  # what overflows is looked for at the end
def _finite(s: ProblemArrays) -> tuple[Float[np.ndarray, "3 n"], dict[int, str]]:
    """The accuracies, and the reason at those places where one of them is no number."""
    numbers = np.array(accuracies(s))
    beyond = ~np.isfinite(numbers).all(axis=0)
    numbers[:, beyond] = np.nan
    return numbers, dict.fromkeys(np.flatnonzero(beyond).tolist(), OVERFLOW)


def _whole(values: Float[np.ndarray, " n"]) -> list[Any]:
    """Numbers as a list: whole ones whole, if all that are finite are."""
    finite = values[np.isfinite(values) & (values < 1e100)]
    whole = bool(np.all(finite == np.round(finite)))
    return [
        int(each) if whole and math.isfinite(each) and each < 1e100 else each
        for each in values.tolist()
    ]
