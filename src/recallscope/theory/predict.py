"""Predictions of one problem or of many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

from recallscope.common.errors import ProblemError
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.problem.problem import Problem
from recallscope.theory.choosing import predict_problems
from recallscope.theory.law import Given
from recallscope.theory.prediction import Prediction
from recallscope.theory.predictions import Predictions, predict_all, predict_sizes

if TYPE_CHECKING:
    from recallscope.problem.given_embeddings import Embeddings
    from recallscope.theory.law import Law


@overload
def predict(
    problem: Problem,
    *,
    embeddings: Embeddings | None = None,
    law: str | Law | None = None,
    progress: ProgressCallback | bool = True,
) -> Prediction: ...


@overload
def predict(
    problem: Iterable[Problem],
    *,
    law: str | Law | None = None,
    progress: ProgressCallback | bool = True,
) -> Predictions: ...


@overload
def predict(problem: None = None, **sizes: Any) -> Predictions: ...


def predict(
    problem: Problem | Iterable[Problem] | None = None,
    *,
    embeddings: Embeddings | None = None,
    law: str | Law | None = None,
    progress: ProgressCallback | bool = True,
    **sizes: Any,
) -> Prediction | Predictions:
    """Attention, recall and first-gradient accuracy, and what limits them, without simulation.

    The applicable law with the highest priority answers. For three steps it is a closed form; for
    the end of training it is partly derived and partly fitted. Where none applies, the prediction
    has no numbers, and its reason says so.

    Args:
        problem: one, or a list of them.
        embeddings: your arrays, which the problem names; the theory then uses exactly these.
        law: the name of a law, or your `Law`, to use instead.
        progress: of tables: True for a bar in a terminal or a notebook, False for none, or a
            function that is called with (work done, work in all).
        sizes: instead of a problem, arrays of sizes and options by name; they are broadcast.

    Returns:
        For one problem its accuracies and noises; for a list or arrays the same in columns.

    Raises:
        ProblemError: neither a problem nor the four sizes, both, or tables beyond memory.

    >>> prediction = predict(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> round(prediction.recall_accuracy, 2), prediction.dominant
    (0.32, ('recall', 'interference'))
    >>> predict(vocab=512, samples=[1024, 8192], dim=64, length=32).recall_accuracy.round(2)
    array([0.28, 0.32])
    >>> predict(Problem(vocab=512, samples=8192, dim=64, length=32, learner="adam"))
    predicted after training: recall 0.9...
    """
    if embeddings is not None and not isinstance(problem, Problem):
        raise ProblemError("embeddings are for one problem, which names them")
    if problem is None:
        missing = [name for name in ("vocab", "samples", "dim", "length") if name not in sizes]
        if missing:
            raise ProblemError(f"predict needs a problem, or sizes by name; give {missing[0]}")
        if "learner" in sizes or law is not None:
            raise ProblemError("arrays of sizes are for three steps; give a Problem with a learner")
        return predict_sizes(**sizes)
    if sizes:
        raise ProblemError("give a problem or sizes by name, not both; see Problem.replace")
    if isinstance(problem, Problem):
        if embeddings is not None:
            embeddings.check(problem)
        with shown_progress(progress, "tables") as update:
            given = Given(embeddings=embeddings, details=True, progress=update)
            return predict_problems([problem], given, law)[0]
    try:
        many = list(problem)
    except TypeError:
        many = [problem]  # type: ignore[list-item]
    for one in many:
        if not isinstance(one, Problem):
            raise ProblemError(f"predict takes a Problem or a list of them, not {one!r:.60}")
    with shown_progress(progress, "problems") as update:
        return predict_all(many, Given(progress=update), law)
