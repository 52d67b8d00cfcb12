"""Predictions of many problems at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recallscope.common.plain import with_inf
from recallscope.common.shapes import Float
from recallscope.plot.panels import Kind, Picture
from recallscope.plot.result import Drawing, Result
from recallscope.problem.axes import SIZES
from recallscope.problem.problem import ACTIVATIONS, Problem
from recallscope.problem.rows import row_of
from recallscope.theory.accuracy import Accuracies, accuracies
from recallscope.theory.choosing import law_named, predict_problems
from recallscope.theory.law import NOTHING_GIVEN, Given
from recallscope.theory.problem_arrays import OVERFLOW, ProblemArrays, problem_arrays

_PLAIN = ("embedding", "trigger_in_values")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Predictions(Result):
    """Accuracies of many problems, in the order in which they were given.

    `columns` has the sizes and options of the problems, a list each. An accuracy is NaN where there
    is no closed form, and `reasons` has why, by the place of the problem.

    >>> predictions = predict_sizes(vocab=512, samples=[1024, 8192], dim=64, length=32)
    >>> predictions.recall_accuracy.round(2)
    array([0.28, 0.32])
    """

    columns: Mapping[str, list[Any]]
    attention_accuracy: Float[np.ndarray, " n"]
    recall_accuracy: Float[np.ndarray, " n"]
    first_gradient_accuracy: Float[np.ndarray, " n"]
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
        return {"predictions": [with_inf(row) for row in self.rows()]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Predictions:
        """The inverse of `to_dict`."""
        rows = [dict(row) | {"samples": float(row["samples"])} for row in data["predictions"]]
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
            return f"predictions of {len(self)} problems, none of them known"
        return (
            f"predictions of {len(self)} problems: recall accuracy from {known.min():.4f} to "
            f"{known.max():.4f}"
        )

    def _drawing(self) -> Drawing:
        from recallscope.plot.curves import curves_panel
        from recallscope.plot.labels import describe_common_fields

        rows = self.rows()
        names = [name for name in Accuracies._fields if not np.isnan(getattr(self, name)).all()]
        panels = [curves_panel(rows, name, kind=Kind.THEORY) for name in names]
        laws = dict.fromkeys(self.columns.get("law", ["three-step"]))
        how = " ".join(law_named(law).origin for law in laws if law is not None)
        caption = f"{describe_common_fields(rows)}. {how}"
        return Drawing("picture", Picture(caption=caption, panels=panels))


def predict_all(
    problems: Iterable[Problem], given: Given = NOTHING_GIVEN, law: Any = None
) -> Predictions:
    """Predict many problems; the accuracies of those that no law is about are NaN.

    >>> base = Problem(vocab=512, samples=1024, dim=64, length=32)
    >>> len(predict_all([base, base.replace(samples=2048)]))
    2
    """
    predictions = predict_problems(list(problems), given, law)
    numbers = {
        name: np.array(
            [prediction.accuracies.get(name, math.nan) for prediction in predictions], float
        )
        for name in Accuracies._fields
    }
    rows = [
        row_of(prediction.problem, {"law": prediction.law, "status": str(prediction.status)})
        for prediction in predictions
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    return Predictions(
        columns={name: [row.get(name) for row in rows] for name in names},
        **numbers,
        reasons={
            place: prediction.reason
            for place, prediction in enumerate(predictions)
            if prediction.reason is not None
        },
    )


def predict_sizes(**sizes: Any) -> Predictions:
    """Predict problems with arrays as sizes and options, broadcast to one shape."""
    made = problem_arrays(**sizes)
    flat = ProblemArrays(*(np.ravel(field) for field in made))
    columns: dict[str, list[Any]] = {name: _whole(getattr(flat, name)) for name in SIZES}
    columns["samples"] = [math.inf if size >= 1e100 else size for size in columns["samples"]]
    columns["width"] = [None if size == math.inf else size for size in columns["width"]]
    columns["activation"] = [
        None if width is None else ACTIVATIONS[code]
        for width, code in zip(columns["width"], flat.activation.tolist(), strict=True)
    ]
    for name, default in zip(_PLAIN, ("sphere", False), strict=True):
        values = np.asarray(sizes.get(name, default))
        columns[name] = np.broadcast_to(values, made.vocab.shape).ravel().tolist()
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
        int(value) if whole and math.isfinite(value) and value < 1e100 else value
        for value in values.tolist()
    ]
