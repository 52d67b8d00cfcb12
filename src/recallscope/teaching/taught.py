"""What came of teaching facts to a model: a curve of recall, the facts that are missing, advice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scipy.special import betaincinv  # type: ignore[import-untyped]

from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_duration, format_number
from recallscope.common.status import Status
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.result import Drawing, Result

_STEEPNESS = 3.3
"""Fitted to published fine-tunings: recall = 1 / (1 + (Eh/E)^3.3) after E exposures."""
_ENOUGH, _AIM = 0.99, 0.95  # of the facts
_FORGOTTEN = 1.1  # times the perplexity before


@dataclass(frozen=True)
class Look:
    """A sample of the facts at one step."""

    step: int
    exposures: float
    recall: float
    loss: float
    lost: int
    """Facts that an earlier look found recalled, and this one does not."""
    kept_perplexity: float | None
    seconds: float
    """What the look took."""


@dataclass(frozen=True)
class TaughtFact:
    """One fact at the end."""

    line: int
    prompt: str
    answer: str
    count: int
    tokens: int
    """Of the answer."""
    recalled: bool
    loss: float
    test_recalled: bool | None
    """By the other wording; None if there is none."""
    first_recalled: float | None
    """Exposures at the first look that found it recalled; None if none did or none asked."""
    times_lost: int | None
    """How often one look found it recalled and the next did not; None if none asked."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Taught(Result):
    """Recall after a training on facts, on the way and at the end.

    Its rows are the facts that are missing at the end, those with the largest loss first.
    """

    status: Status
    reason: str
    facts: int
    sample: int
    """How many facts each look asked for."""
    recall: float
    test_recall: float | None
    """Of the facts with another wording, by that."""
    exposures: float
    steps: int
    batch: int
    rate: float
    rank: int | None
    """Of the LoRA adapters; None if all parameters were trained, or others."""
    parameters: int
    trained_parameters: int
    kept_before: float | None
    """The perplexity of the texts to keep."""
    kept_after: float | None
    looks: tuple[Look, ...]
    missing: tuple[TaughtFact, ...]
    seconds: float

    def exposures_to(self, target: float) -> float | None:
        """Exposures at which recall of the sample came to a target, between two looks; or None."""
        before = None
        for look in self.looks:
            if look.recall >= target:
                if before is None:
                    return look.exposures
                part = (target - before.recall) / (look.recall - before.recall)
                return before.exposures + part * (look.exposures - before.exposures)
            before = look
        return None

    def rows(self) -> list[dict[str, Any]]:
        """A row for each fact that is missing."""
        return [asdict(fact) for fact in self.missing]

    def step_rows(self) -> list[dict[str, Any]]:
        """A row for each look."""
        return [asdict(look) for look in self.looks]

    def summary_rows(self) -> list[dict[str, Any]]:
        """For a paper, the curve."""
        return self.step_rows()

    def advice(self) -> str:
        """What to do next."""
        if self.status is not Status.OK:
            return "Give a smaller learning rate."
        sentences = []
        if self.recall >= _ENOUGH:
            sentences.append("The model knows the facts.")
        elif 0.1 <= self.recall < _AIM:
            # From this recall to the other along the curve that published trainings have.
            odds = (1 / self.recall - 1) / (1 / _AIM - 1)
            needed = self.exposures * odds ** (1 / _STEEPNESS)
            sentences.append(
                f"Recall {_AIM} usually takes about {needed:.0f} exposures from such a curve."
            )
        elif self.recall < 0.1:
            sentences.append("Nearly nothing is learned yet: double the exposures.")
        else:
            sentences.append("Give the missing facts a larger count, or more exposures to all.")
        if self._forgotten():
            if self.rank is None:
                less = "give a rank, as adapters forget less"
            else:
                less = "give a smaller rate"
            sentences.append(f"The model predicts kept texts worse: mix in such texts, or {less}.")
        return " ".join(sentences)

    def _forgotten(self) -> bool:
        if self.kept_before is None or self.kept_after is None:
            return False
        return self.kept_after > _FORGOTTEN * self.kept_before

    def _words(self) -> str:
        if self.status is not Status.OK:
            return f"{self.status}: {self.reason}"
        text = [
            f"recall {self.recall:.3f} of {self.facts:,} facts after "
            f"{format_number(self.exposures)} exposures ({self.steps:,} steps)"
        ]
        if self.test_recall is not None:
            text.append(f"by another wording {self.test_recall:.3f}")
        for target in (0.5, 0.9):
            reached = self.exposures_to(target)
            if reached is not None:
                text.append(f"{target} after {format_number(reached)}")
        if self.missing:
            text.append(f"{len(self.missing):,} missing")
        if self.kept_before is not None and self.kept_after is not None:
            text.append(
                f"perplexity of kept texts {format_number(self.kept_before)} → "
                f"{format_number(self.kept_after)}"
            )
        return ", ".join(text)

    def _drawing(self) -> Drawing:
        if len(self.looks) < 2:
            raise ProblemError("a curve needs two looks at least, so there is nothing to draw")
        at = [look.exposures for look in self.looks]
        recalls = [look.recall for look in self.looks]
        bars: dict[str, Sequence[float]] = {}
        if self.sample < self.facts:
            bars = {
                name: [float(_end(share, self.sample, end)) for share in recalls]
                for name, end in (("low", 0.025), ("high", 0.975))
            }
        label = "all facts" if self.sample == self.facts else f"{self.sample:,} of the facts"
        series = [Series(label, Kind.MEASURED, at, recalls, **bars, colour=0)]
        if self.sample < self.facts and self.status is Status.OK:
            end = Series("all facts", Kind.MEASURED, [self.exposures], [self.recall], colour=1)
            series.append(end)
        panels = [Panel(title="recall", x="exposures", y="fraction of facts", series=series)]
        losses = [look.loss for look in self.looks]
        if all(map(math.isfinite, losses)):
            loss = Series("of the answers", Kind.MEASURED, at, losses, colour=0)
            panels.append(Panel(title="loss", x="exposures", y="nats per token", series=[loss]))
        kept = [look.kept_perplexity for look in self.looks]
        if all(each is not None and math.isfinite(each) for each in kept):
            curve = [float(each) for each in kept if each is not None]
            texts = Series("texts to keep", Kind.MEASURED, at, curve, colour=2)
            panels.append(
                Panel(title="kept texts", x="exposures", y="perplexity", series=[texts], log_y=True)
            )
        how = "all parameters" if self.rank is None else f"LoRA of rank {self.rank}"
        caption = (
            f"{self.facts:,} facts taught to {format_number(self.parameters)} parameters: {how}, "
            f"rate {format_number(self.rate)}, {self.batch} facts in a batch, "
            f"{format_duration(self.seconds)}. A fact is recalled if greedy decoding gives its "
            "answer token for token. Bars: 95 % intervals from the sample."
        )
        return Drawing(
            "picture", Picture(caption=caption, panels=panels, title=f"Recall {self.recall:.2f}")
        )


def _end(share: float, sample: int, end: float) -> float:
    """An end of Jeffreys' interval for a fraction of some facts."""
    right = share * sample
    return float(betaincinv(right + 0.5, sample - right + 0.5, end))
