"""What the closed forms say, of one problem or of many."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.problem import Problem, ProblemError
from recallscope.theory.end_law import TRAINED
from recallscope.theory.end_prediction import EndPrediction, predict_end
from recallscope.theory.prediction import Prediction
from recallscope.theory.prediction import predict as predict_one
from recallscope.theory.predictions import Predictions, predict_all, predict_sizes
from recallscope.theory.table_prediction import (
    Table,
    TablePrediction,
    drawn_as_tables,
    predict_table,
)

if TYPE_CHECKING:
    from recallscope.models.embeddings import Embeddings


TABLES = 16  # of a family, over which its predictions are averaged


@overload
def predict(
    problem: Problem,
    *,
    embeddings: Embeddings | None = None,
    progress: ProgressCallback | bool = True,
) -> Prediction | EndPrediction | TablePrediction: ...


@overload
def predict(
    problem: Iterable[Problem], *, progress: ProgressCallback | bool = True
) -> Predictions: ...


@overload
def predict(problem: None = None, **sizes: Any) -> Predictions: ...


def predict(
    problem: Problem | Iterable[Problem] | None = None,
    *,
    embeddings: Embeddings | None = None,
    progress: ProgressCallback | bool = True,
    **sizes: Any,
) -> Prediction | EndPrediction | TablePrediction | Predictions:
    """Lock, recall and one-step accuracy, and what limits them, without simulation.

    Of three steps by closed forms. A problem with the learner converged, gd, adam or muon is
    predicted at the end of its training: by a law that is partly derived and partly measured.
    Where there is no prediction it says so as its reason, and has no numbers.

    Args:
        problem: one, or a list of them.
        embeddings: arrays of your own, which the problem names: then theory takes these very ones.
        progress: of tables: True for a bar in a terminal or a notebook, False for none, or a
            function that is called with (work done, work in all).
        sizes: instead of a problem, arrays of sizes and options by name; they are broadcast.

    Returns:
        For one problem its accuracies and noises; for a list or arrays the same in columns.

    Raises:
        ProblemError: neither a problem nor the four sizes, both, or tables beyond memory.

    >>> found = predict(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> round(found.recall_accuracy, 2), found.dominant
    (0.32, ('recall', 'interference'))
    >>> predict(vocab=512, samples=[1024, 8192], dim=64, length=32).recall_accuracy.round(2)
    array([0.28, 0.32])
    >>> predict(Problem(vocab=512, samples=8192, dim=64, length=32, learner="adam"))
    predicted recall after training 0.9...
    """
    if embeddings is not None and not isinstance(problem, Problem):
        raise ProblemError("embeddings are for one problem, which names them")
    if problem is None:
        missing = [name for name in ("vocab", "samples", "dim", "length") if name not in sizes]
        if missing:
            raise ProblemError(f"predict needs a problem, or sizes by name; give {missing[0]}")
        if "learner" in sizes:
            raise ProblemError("arrays of sizes are for three steps; give a Problem with a learner")
        return predict_sizes(**sizes)
    if sizes:
        raise ProblemError("give a problem or sizes by name, not both; see Problem.replace")
    if isinstance(problem, Problem):
        with shown_progress(progress, "tables") as update:
            found = _predict_apart(problem, update, embeddings)
        return predict_one(problem) if found is None else found
    try:
        many = list(problem)
    except TypeError:
        many = [problem]
    for each in many:
        if not isinstance(each, Problem):
            raise ProblemError(f"predict takes a Problem or a list of them, not {each!r:.60}")
    places = itertools.count()

    def apart(each: Problem) -> EndPrediction | TablePrediction | None:
        place = next(places)
        return _predict_apart(each, lambda done, total: update(place + done / total, len(many)))

    with shown_progress(progress, "problems") as update:
        return predict_all(many, apart)


def _predict_apart(
    problem: Problem, progress: ProgressCallback, embeddings: Embeddings | None = None
) -> EndPrediction | TablePrediction | None:
    """What the law of the end or a table says of a problem; None if it is for the formulas."""
    if embeddings is not None:
        embeddings.check(problem)
    if problem.learner in TRAINED:
        return predict_end(problem)
    if embeddings is None and not drawn_as_tables(problem):
        return None
    return predict_table(problem, tables_of(problem, embeddings), progress)


def tables_of(problem: Problem, embeddings: Embeddings | None) -> list[Callable[[], Table]]:
    """How to make the arrays of a problem, or each of some that its family draws."""
    from recallscope.models.embeddings import draw_embeddings

    def make(seed: int) -> Table:
        made = embeddings or draw_embeddings(problem, seed)
        return Table(made.tokens, made.outputs, made.trigger)

    return [partial(make, seed) for seed in range(1 if embeddings else TABLES)]
