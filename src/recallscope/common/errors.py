"""The error of a user's mistake, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable


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
ProblemError.__module__ = "recallscope"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about a name that is not known: the known one closest to it, if any.

    >>> did_you_mean("spehre", ["sphere", "gaussian"]), did_you_mean("cube", ["sphere"])
    ('; did you mean sphere?', '')
    """
    from difflib import get_close_matches  # here, as it is seldom needed and takes a while

    close = get_close_matches(str(name)[:60], known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
