"""A statement: what is stated, what would support or contradict it, and what was found.

Statement, support and contradiction were written before the full-size runs, and predictions.toml
puts them into numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recallscope.plot.panels import Picture
from reproduction.sweeps import SizedSweep
from reproduction.verdict import Judgement, Verdict, together


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement, in our words.

    Attributes:
        name: for the command line, such as "products".
        title: a few words.
        statement: what is stated.
        source: where it is said.
        support: what would support it.
        contradict: what would contradict it.
        background: what a reader who does not know the paper needs, in a short paragraph.
        sweeps: those that it rests on.
        plain: what it would mean, in one sentence of everyday words.
        practice: what it means for somebody who builds models, unless a finding says it.
        caveat: what the statement or its numbers do not cover; shown with every verdict.
        attack: what a hostile referee would say of a verdict; the finding replies.
        untestable: why no verdict can be given, if its subject is not available.
        undecided: why the statement stays open even if all predictions hold.
        of_the_paper: whether the paper makes it; others are listed and counted separately.
    """

    name: str
    title: str
    statement: str
    source: str
    support: str
    contradict: str
    background: str
    sweeps: tuple[SizedSweep, ...]
    plain: str
    practice: str = ""
    caveat: str = ""
    attack: str
    untestable: str = ""
    undecided: str = ""
    of_the_paper: bool = True

    @property
    def from_abstract(self) -> bool:
        """Whether the paper's abstract says it; others are from texts about the paper."""
        return self.source.startswith("The abstract")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the measurements say of a statement.

    Attributes:
        statement: what it is about.
        judgements: its predictions, each with its interval and verdict.
        answer: what was found, in a few sentences with numbers from the measurements.
        reply: what the measurements answer to the statement's attack, in numbers.
        picture: the figure.
        rows: the numbers behind the figure, as rows of a table.
        practice: what it means for somebody who builds models, if the numbers say it.
        lost: how many runs failed or are infeasible; they do not count as evidence.
    """

    statement: Statement
    judgements: Sequence[Judgement]
    answer: str
    reply: str
    picture: Picture
    rows: Sequence[dict[str, Any]]
    practice: str = ""
    lost: int = 0

    @property
    def verdict(self) -> Verdict:
        """Computed from the intervals; a statement that says more than they do is not supported."""
        if self.statement.untestable:
            return Verdict.NOT_TESTABLE
        verdict = together(self.judgements)
        if self.statement.undecided and verdict is Verdict.SUPPORTED:
            return Verdict.OPEN
        return verdict

    @property
    def title(self) -> str:
        """Of the figure: the result, if the figure states one."""
        return self.picture.title or self.statement.title

    @property
    def in_practice(self) -> str:
        """What it means in practice, if the measurements decide."""
        if together(self.judgements) is Verdict.OPEN:
            return ""
        return self.practice or self.statement.practice
