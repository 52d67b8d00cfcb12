"""The error of a user's mistake."""

from __future__ import annotations


class ProblemError(ValueError):
    """A problem, or something given with it, that cannot be: one sentence that says why.

    >>> from recallscope import Problem
    >>> try:
    ...     Problem(vocab=1, samples=100, dim=8, length=4)
    ... except ProblemError as error:
    ...     print(error)
    vocab must be a whole number from 2 to 2^53, not 1
    """


# Where it is found; it stands here for those below the problem.
ProblemError.__module__ = "recallscope.problem"
