"""What a size must be: to reach a target by the closed forms, and at least by the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.problem import Problem, ProblemError
from recallscope.record import accuracy_name
from recallscope.theory import capacity, lower_bound
from recallscope.theory.capacity import Solution
from recallscope.theory.law import Given, Law
from recallscope.theory.lower_bound import Bound

if TYPE_CHECKING:
    from recallscope.models.embeddings import Embeddings


def solve(
    problem: Problem,
    quantity: str,
    target: float = 0.5,
    accuracy: str = "recall",
    *,
    embeddings: Embeddings | None = None,
    law: str | Law | None = None,
    progress: ProgressCallback | bool = True,
) -> Solution:
    """The smallest samples, dim or width, or the largest vocab or length, that reaches a target.

    Args:
        problem: everything but the size sought, whose value in the problem is not used.
        quantity: samples, dim, width, vocab or length.
        target: the accuracy to reach.
        accuracy: recall, lock or one-step.
        embeddings: arrays that the problem names; then sizes are samples and length.
        law: the name of a law, or one of your own, that is to answer instead.
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
    if embeddings is not None:
        embeddings.check(problem)
        if quantity not in ("samples", "length"):
            raise ProblemError(f"arrays can be solved for samples or length, not {quantity!r}")
    with shown_progress(progress, "tables") as update:
        given = Given(embeddings=embeddings, progress=update)
        return capacity.solve(
            problem, quantity, target, accuracy_name(accuracy), given=given, law=law
        )


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
