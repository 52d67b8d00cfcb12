"""Required sizes: to reach a target, within a budget, and by the lower bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from recallscope.common.errors import ProblemError
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.problem.metrics import accuracy_name
from recallscope.problem.problem import Problem
from recallscope.theory import required_size
from recallscope.theory.budgets import Allocation, BudgetLike, solve_within
from recallscope.theory.law import Given, Law
from recallscope.theory.lower_bound import bound as bound
from recallscope.theory.required_size import Solution

if TYPE_CHECKING:
    from recallscope.problem.given_embeddings import Embeddings


@overload
def solve(
    problem: Problem,
    quantity: str,
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    embeddings: Embeddings | None = None,
    law: str | Law | None = None,
    progress: ProgressCallback | bool = True,
) -> Solution: ...


@overload
def solve(
    problem: Problem,
    *,
    accuracy: str = "recall",
    within: BudgetLike,
    law: str | Law | None = None,
    progress: ProgressCallback | bool = True,
) -> Allocation: ...


def solve(
    problem: Problem,
    quantity: str | None = None,
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    within: BudgetLike | None = None,
    embeddings: Embeddings | None = None,
    law: str | Law | None = None,
    progress: ProgressCallback | bool = True,
) -> Solution | Allocation:
    """The size that reaches a target, or the sizes with the highest accuracy within a budget.

    For a target it is the smallest samples, dim or width, or the largest vocab or length.

    Args:
        problem: everything but the sizes sought; their values in the problem are ignored.
        quantity: samples, dim, width, vocab or length.
        target: the accuracy to reach.
        accuracy: recall, attention or first-gradient.
        within: a budget instead of a quantity and a target: 'parameters=1e6' or ('parameters',
            1e6). Parameters are spent on dim and width, tokens on samples, compute on all three.
        embeddings: arrays that the problem names; then sizes are samples and length.
        law: the name of a law, or your `Law`, to use instead.
        progress: of tables: True for a bar in a terminal or a notebook, False for none, or a
            function that is called with (work done, work in all).

    Returns:
        The size, or None with status `not_reached` and a reason that names the remaining noise.
        For a budget the best sizes, with or without an MLP, and the best of the other kind.

    Raises:
        ProblemError: an invalid size, accuracy, target or budget, or no closed form.

    >>> solution = solve(Problem(vocab=512, samples=1, dim=64, length=32), "samples", target=0.9)
    >>> solution.status, solution.value
    (<Status.NOT_REACHED: 'not_reached'>, None)
    >>> solve(Problem(vocab=512, samples=8192, dim=64, length=16), within="parameters=1e5").sizes
    {'dim': 83, 'width': None}
    """
    if (quantity is None) == (within is None) or (within is not None and target != 0.5):
        raise ProblemError("solve for a size and a target, or within a budget: give one of both")
    if embeddings is not None:
        embeddings.check(problem)
        if quantity not in ("samples", "length"):
            raise ProblemError(f"arrays can be solved for samples or length, not {quantity!r}")
    name = accuracy_name(accuracy)
    with shown_progress(progress, "sizes" if within else "tables") as update:
        given = Given(embeddings=embeddings, progress=update)
        if within is not None:
            return solve_within(problem, within, name, given=given, law=law)
        return required_size.solve(problem, str(quantity), target, name, given=given, law=law)
