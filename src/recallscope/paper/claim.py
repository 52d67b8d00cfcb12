"""A claim: what is said, what would support and what would contradict it, and how it is measured.

Statement, support and contradiction were written before the full-size runs were looked at, and the
predictions in the claim's own file put them into numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recallscope.paper.verdict import Judgement, Verdict, together
from recallscope.plotting.panels import Picture

if TYPE_CHECKING:
    from recallscope.paper.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the measurements say of a claim.

    Attributes:
        judgements: its predictions, each with its interval and verdict.
        answer: what was found, in a few sentences whose numbers come from the measurements.
        picture: the figure.
        rows: the numbers behind the figure, as rows of a table.
        lost: how many runs failed or are infeasible; they are no evidence.
    """

    judgements: Sequence[Judgement]
    answer: str
    picture: Picture
    rows: Sequence[dict[str, Any]]
    lost: int = 0

    @property
    def verdict(self) -> Verdict:
        """Computed from the intervals, never typed."""
        return together(self.judgements)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim, in our words.

    Attributes:
        name: for the command line, such as "products".
        title: a few words.
        statement: what is claimed.
        support: what would support it.
        contradict: what would contradict it.
        background: what a reader who does not know the paper needs, in a short paragraph.
        sweeps: the names of the sweep files whose runs it rests on; files of one's own by their
            paths, ending in .toml, where {size} stands for smoke, short or full.
        analyse: from the runs to a finding.
        plain: what it would mean in practice, in one sentence of everyday words.
        caveat: what the claim is not about, or its numbers do not show; told with every verdict.
        of_paper: whether the paper makes it; others are told apart, and not counted with them.
    """

    name: str
    title: str
    statement: str
    support: str
    contradict: str
    background: str
    sweeps: tuple[str, ...]
    analyse: Callable[[Evidence], Finding]
    plain: str = ""
    caveat: str = ""
    of_paper: bool = True
