"""Every closed form against Monte Carlo."""

from __future__ import annotations

from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.measure import check_report
from recallscope.measure.check_report import CheckReport
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.problem import Problem
from recallscope.theory.table_prediction import drawn_as_tables


def check(
    problem: Problem,
    seeds: int = 16,
    *,
    embeddings: Embeddings | None = None,
    progress: ProgressCallback | bool = True,
) -> CheckReport:
    """Measure every noise of a problem and around it, and compare it with its closed form.

    Run this first after a change of the model or a formula. Nine to eleven problems are run at each
    seed with dense arrays of N×V, N×L and N×m numbers, so choose a small problem. For embedding
    matrices, drawn by a family or given as arrays, it measures the terms of their theory.

    Args:
        problem: the one around which each size is halved and doubled.
        seeds: how many instances of each problem.
        embeddings: arrays that the problem names; then sizes are samples and length.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (work done, work in all).

    Returns:
        Each noise as predicted and as measured, its slopes, and which of them disagree.

    Raises:
        ProblemError: fewer than two seeds, or a problem without a closed form.

    >>> report = check(Problem(vocab=64, samples=512, dim=16, length=8), seeds=2)
    >>> {c.size for c in report.comparisons} == {"vocab", "samples", "dim", "length"}
    True
    """
    with shown_progress(progress, "check") as update:
        if embeddings is None and not drawn_as_tables(problem):
            return check_report.check(problem, seeds, update)
        from recallscope.measure.check_tables import check_tables

        if embeddings is not None:
            embeddings.check(problem)
        return check_tables(problem, embeddings, seeds, update)
