"""Three gradient steps on a given embedding matrix, or on those that a family draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from recallscope.common.checks import LARGEST_SIZE
from recallscope.problem.naming import ARRAYS
from recallscope.problem.problem import Problem
from recallscope.theory import table_prediction
from recallscope.theory.law import Answer, Given, Law, LawKind, Ranges
from recallscope.theory.recorded_error import RecordedError, error_near, recorded

TABLES = 16  # of a family, over which its predictions are averaged
NEEDS_ARRAYS = "no closed form for your arrays"
_FARTHEST: dict[str, tuple[float, float]] = {
    "vocab": (4, 16_384),
    "dim": (4, 4096),
    "length": (2, 4096),
}
_MOST_PER_FACT = 1e6


@dataclass(frozen=True)
class OnTables(Law):
    """Three steps on embedding matrices that are given or drawn."""

    kind = LawKind.DERIVED
    priority = 40
    about = "predicted for these embeddings"
    origin = "Worked out from the tables, nothing fitted."
    step = 4.0
    close = 1.02
    tested: ClassVar[Ranges] = {
        "vocab": (130, 1014),
        "dim": (19, 1411),
        "length": (2, 123),
        "samples per fact": (1, 32),
    }

    def applies(self, problem: Problem) -> str | None:
        """Why the law says nothing of a problem; None if it does."""
        if not ARRAYS.fullmatch(problem.embedding) and not table_prediction.drawn_as_tables(
            problem
        ):
            return f"no closed form that draws tables of the embedding {problem.embedding}"
        return table_prediction.no_table_form(problem)

    def predict(self, problems: Sequence[Problem], given: Given) -> list[Answer]:
        """An answer for each of the problems."""
        answers = []
        for place, problem in enumerate(problems):
            if ARRAYS.fullmatch(problem.embedding) and given.embeddings is None:
                answers.append(Answer(reason=NEEDS_ARRAYS))
                continue
            progress = given._part(place, 1, len(problems)).progress
            tables = table_prediction.tables_of(problem, given.embeddings, TABLES)
            answers.append(table_prediction.predict_table(problem, tables, progress))
        return answers

    def recorded_error(
        self, problem: Problem, accuracy: str, expected: float
    ) -> RecordedError | None:
        """At structured families of nearest sizes and prediction."""
        rows = recorded("structured.csv")
        name = accuracy.removesuffix("_accuracy")
        return error_near(
            {size: float(getattr(problem, size)) for size in ("vocab", "samples", "dim", "length")},
            expected,
            rows,
            rows[f"predicted_{name}"],
            rows[f"measured_{name}"],
        )

    def solved(self, problem: Problem, size: str) -> tuple[float, float]:
        """The sizes at which tables can be drawn, and fit into memory."""
        least, most = _FARTHEST.get(size, (-math.inf, float(LARGEST_SIZE)))
        if size == "samples":
            most = _MOST_PER_FACT * problem.vocab
        if size == "dim":
            least = max(least, getattr(problem, "rank", 0))
        while size in ("vocab", "dim") and most > least:
            if (
                table_prediction.table_bytes(problem.replace(**{size: int(most)}))
                <= table_prediction.table_memory()
            ):
                break
            most = max(most // 2, least)
        return least, most

    def seconds(self, problem: Problem) -> float:
        """About how long a prediction takes."""
        return table_prediction.table_seconds(
            problem, 1 if ARRAYS.fullmatch(problem.embedding) else TABLES
        )

    def explain(self, problem: Problem, answer: Answer) -> str:
        """A sentence or more on an answer."""
        return (
            "Variances in units of the squared signal. Mean vector: the cost of the mean of "
            "all rows, which centring would save. Spectrum: the cost of uneven directions "
            f"beyond random ones of the same {problem.dim} dimensions."
        )


PART = OnTables()
