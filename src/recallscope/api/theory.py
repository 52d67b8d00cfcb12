"""What a size must be: to reach a target by the closed forms, and at least by the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.api.predict import tables_of
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.problem import Problem, ProblemError
from recallscope.record import accuracy_name
from recallscope.theory import capacity, lower_bound
from recallscope.theory.capacity import Solution
from recallscope.theory.lower_bound import Bound
from recallscope.theory.table_capacity import TableSolution, solve_table
from recallscope.theory.table_prediction import TablePrediction, drawn_as_tables, predict_table

if TYPE_CHECKING:
    from recallscope.models.embeddings import Embeddings


def solve(
    problem: Problem,
    quantity: str,
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    embeddings: Embeddings | None = None,
    progress: ProgressCallback | bool = True,
) -> Solution | TableSolution:
    """The smallest samples, dim or width, or the largest vocab or length, that reaches a target.

    Args:
        problem: everything but the size sought, whose value in the problem is not used.
        quantity: samples, dim, width, vocab or length.
        target: the accuracy to reach.
        accuracy: recall, lock or one-step.
        embeddings: arrays that the problem names; then sizes are samples and length.
        progress: of tables: True for a bar in a terminal or a notebook, False for none, or a
            function that is called with (work done, work in all).

    Returns:
        The size, or none with status `not_reached` and a reason that names the noise which stays.

    Raises:
        ProblemError: a size, an accuracy or a target that cannot be, or no closed form for it.

    >>> found = solve(Problem(vocab=512, samples=1, dim=64, length=32), "samples", target=0.9)
    >>> found.status, found.value
    (<Status.NOT_REACHED: 'not_reached'>, None)
    """
    named = accuracy_name(accuracy)
    if embeddings is None and not drawn_as_tables(problem):
        return capacity.solve(problem, quantity, target, named)
    if embeddings is not None and quantity not in ("samples", "length"):
        raise ProblemError(f"arrays can be solved for samples or length, not {quantity!r}")

    def predict(one: Problem, update: ProgressCallback) -> TablePrediction:
        return predict_table(one, tables_of(one, embeddings), update)

    with shown_progress(progress, "tables") as update:
        return solve_table(problem, quantity, target, named, predict, update)


def bound(problem: Problem, target: float = 0.5) -> Bound:
    """Lower bound for estimators that see only the first gradient.

    Args:
        problem: its samples matter only to what is said of them, not to how many are needed.
        target: the share of tokens whose label is to be right, on average.

    Returns:
        The samples needed at least, the facts possible at most, and which of three bounds is it.

    Raises:
        ProblemError: a target that is no share, or a problem that the bound is not about.

    >>> found = bound(Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> round(found.samples), found.vocab, found.binding
    (11621, 448, 'gradient')
    """
    return lower_bound.bound(problem, target)
