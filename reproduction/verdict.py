"""From intervals to verdicts, by one rule for all statements.

A statement makes several predictions, each of a number: the expected range of its interval. It is
supported if all hold, refuted if one fails, and open if an interval is too wide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from recallscope.common.formatting import format_number
from recallscope.statistics.intervals import Interval

LEVEL = 0.995
"""Level of the judged intervals. A statement makes at most ten predictions, so chance alone
contradicts a true one in at most one statement of twenty."""


REPLICATION = "A preregistered replication: version 0.1 had measured most of it with other seeds."


class Verdict(StrEnum):
    """What the measurements say of a statement, or of one of its predictions."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    OPEN = "open"
    NOT_YET_MEASURED = "not yet measured"
    NOT_TESTABLE = "not testable"

    @property
    def meaning(self) -> str:
        """One sentence on what it means and what to do about it."""
        return _MEANINGS[self]


_MEANINGS = {
    Verdict.SUPPORTED: "Every prediction lies in its expected range, with its interval.",
    Verdict.REFUTED: "A prediction fails: its interval lies outside its expected range.",
    Verdict.OPEN: "No prediction fails, but some interval is too wide; run a larger size.",
    Verdict.NOT_YET_MEASURED: "Runs are missing; run the statement first.",
    Verdict.NOT_TESTABLE: "What it is about is not available: ours was measured in its place.",
}


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """One prediction of a statement: a number with its interval, and its expected range.

    `above` and `below` are the ends of the expected range; either may be missing.
    """

    what: str
    measured: Interval
    above: float | None
    below: float | None
    verdict: Verdict

    @property
    def expected(self) -> str:
        """The expected range, in words."""
        above, below = (
            None if end is None else format_number(end) for end in (self.above, self.below)
        )
        if above is not None and below is not None:
            return f"between {above} and {below}"
        return f"above {above}" if above is not None else f"below {below}"


def judge(
    what: str, measured: Interval, *, above: float | None = None, below: float | None = None
) -> Judgement:
    """Compare an interval of level `LEVEL` with its expected range.

    >>> str(judge("power of d", Interval(-1.4, -1.6, -1.2), below=0).verdict)
    'supported'
    >>> str(judge("power of d", Interval(-0.1, -0.3, 0.1), below=0).verdict)
    'open'
    >>> str(judge("power of d", Interval(0.9, 0.7, 1.1), below=0).verdict)
    'refuted'
    """
    if above is None and below is None:
        raise ValueError("a prediction needs an expected range: above, below or both")
    too_low = above is not None and measured.high <= above
    too_high = below is not None and measured.low >= below
    high_enough = above is None or measured.low > above
    low_enough = below is None or measured.high < below
    if too_low or too_high:
        verdict = Verdict.REFUTED
    elif high_enough and low_enough:
        verdict = Verdict.SUPPORTED
    else:
        verdict = Verdict.OPEN
    return Judgement(what=what, measured=measured, above=above, below=below, verdict=verdict)


def together(judgements: Iterable[Judgement]) -> Verdict:
    """The verdict on a statement from those on its predictions.

    >>> str(together([]))
    'not yet measured'
    """
    verdicts = {judgement.verdict for judgement in judgements}
    if not verdicts:
        return Verdict.NOT_YET_MEASURED
    if Verdict.REFUTED in verdicts:
        return Verdict.REFUTED
    return Verdict.SUPPORTED if verdicts == {Verdict.SUPPORTED} else Verdict.OPEN


def tally(
    of_paper: Sequence[Verdict], others: Sequence[Verdict] = (), from_abstract: int = 0
) -> str:
    """How many statements attributed to the paper have which verdict, and how many others.

    >>> tally([Verdict.SUPPORTED, Verdict.REFUTED, Verdict.SUPPORTED], from_abstract=1)
    'Of 3 statements attributed to the paper, 1 from its abstract, 2 are ...'
    """
    abstract = f" {from_abstract} from its abstract," if from_abstract else ""
    count = f"Of {len(of_paper)} statements attributed to the paper,{abstract}"
    count = f"{count} {_counted(of_paper)}."
    apart = f" Others, not the paper's: {_counted(others)}." if others else ""
    return f"{count}{apart} {REPLICATION}"


def _counted(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdicts)
    parts = [
        f"{counts[verdict]} {'is' if counts[verdict] == 1 else 'are'} {verdict}"
        for verdict in Verdict
        if counts[verdict]
    ]
    *others, last = parts or ["none has a verdict"]
    return " and ".join(filter(None, [", ".join(others), last]))
