"""A claim: its statement, what would support or contradict it, and how it is measured.

Statement, support and contradiction were written before the full-size runs, and predictions.toml
puts them into numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recallscope.paper.verdict import Judgement, Verdict, together
from recallscope.results.panels import Picture

if TYPE_CHECKING:
    from recallscope.paper.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the measurements say of a claim.

    Attributes:
        judgements: its predictions, each with its interval and verdict.
        answer: what was found, in a few sentences with numbers from the measurements.
        picture: the figure.
        rows: the numbers behind the figure, as rows of a table.
        practice: what it means for somebody who builds models, in a sentence or two.
        reply: what the measurements answer to the claim's attack, in numbers.
        lost: how many runs failed or are infeasible; they do not count as evidence.
        untestable: why no verdict is given, whatever the predictions are.
        undecided: why the statement stays open though its predictions hold.
    """

    judgements: Sequence[Judgement]
    answer: str
    picture: Picture
    rows: Sequence[dict[str, Any]]
    practice: str = ""
    reply: str = ""
    lost: int = 0
    untestable: str = ""
    undecided: str = ""

    @property
    def verdict(self) -> Verdict:
        """Computed from the intervals; a statement that says more than they do is not supported."""
        if self.untestable:
            return Verdict.NOT_TESTABLE
        found = together(self.judgements)
        return Verdict.OPEN if self.undecided and found is Verdict.SUPPORTED else found

    @property
    def in_practice(self) -> str:
        """What it means in practice, if the measurements decide."""
        return "" if together(self.judgements) is Verdict.OPEN else self.practice


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim, in our words.

    Attributes:
        name: for the command line, such as "products".
        title: a few words.
        statement: what is claimed.
        source: where it is said.
        support: what would support it.
        contradict: what would contradict it.
        background: what a reader who does not know the paper needs, in a short paragraph.
        sweeps: the names of the sweep files that it rests on. Give your files by their paths, which
            end in .toml; {size} in them stands for smoke, short or full.
        analyse: from the runs to a finding.
        plain: what it would mean in practice, in one sentence of everyday words.
        practice: what it means for somebody who builds models, unless a finding says it.
        caveat: what the claim or its numbers do not cover; shown with every verdict.
        attack: what a hostile referee would say of a verdict; the finding replies.
        untestable: why no verdict can be given, if its subject is not available.
        undecided: why the statement stays open even if all predictions hold.
        of_the_paper: whether the paper makes it; others are listed and counted separately.
    """

    name: str
    title: str
    statement: str
    support: str
    contradict: str
    background: str
    sweeps: tuple[str, ...]
    analyse: Callable[[Evidence], Finding]
    source: str = ""
    plain: str = ""
    practice: str = ""
    caveat: str = ""
    attack: str = ""
    untestable: str = ""
    undecided: str = ""
    of_the_paper: bool = True

    @property
    def from_abstract(self) -> bool:
        """Whether the paper's abstract says it; other claims are from texts about the paper."""
        return self.source.startswith("The abstract")
