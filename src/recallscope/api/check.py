"""Every closed form against Monte Carlo."""

from __future__ import annotations

from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.problem import Problem
from recallscope.validation import check as validation
from recallscope.validation.check import CheckReport


def check(
    problem: Problem, seeds: int = 16, *, progress: ProgressCallback | bool = True
) -> CheckReport:
    """Measure every noise of a problem and around it, and compare it with its closed form.

    Run this first when you have changed the model or a formula. Nine to eleven problems are run at
    each seed, each densely, with arrays of N×V, N×L and N×m numbers: choose a small one.

    Args:
        problem: the one around which each size is halved and doubled.
        seeds: how many instances of each problem.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (work done, work in all).

    Returns:
        Each noise as predicted and as measured, its slopes, and which of them disagree.

    Raises:
        ProblemError: fewer than two seeds, or a problem that no closed form is about.

    >>> report = check(Problem(vocab=64, samples=512, dim=16, length=8), seeds=2)
    >>> {c.size for c in report.comparisons} == {"vocab", "samples", "dim", "length"}
    True
    """
    with shown_progress(progress, "check") as update:
        return validation.check(problem, seeds, update)
