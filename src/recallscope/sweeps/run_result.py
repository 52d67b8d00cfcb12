"""One problem at several seeds: the records, and the means over them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.experiment.summary import summarise
from recallscope.plot.labels import accuracy_label, describe_common_fields
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.result import Drawing, Result
from recallscope.problem.problem import Problem
from recallscope.statistics.intervals import Interval
from recallscope.theory.choosing import law_named, quick_prediction


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResult(Result):
    """The records of one problem, in the order of their seeds."""

    problem: Problem
    records: list[Record]
    _in_json = ("problem", "records", "summary")

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, place: int) -> Record:
        return self.records[place]

    @property
    def summary(self) -> dict[str, Interval]:
        """The mean of each accuracy over the runs that are ok, with its 95 % interval."""
        return summarise(self.records)

    @property
    def ok(self) -> bool:
        """Whether every run was."""
        return all(record.status is Status.OK for record in self.records)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each record."""
        return [record.row() for record in self.records]

    def _words(self) -> str:
        ok = sum(record.status is Status.OK for record in self.records)
        text = ", ".join(
            f"{accuracy_label(name)} {mean.mean:.4f} ({mean.low:.4f} to {mean.high:.4f})"
            for name, mean in self.summary.items()
        )
        return f"{len(self.records)} runs, {ok} ok; means with 95 % intervals: {text or 'none'}"

    def _drawing(self) -> Drawing:
        means = self.summary
        if not means:
            raise ProblemError("no run has an accuracy, so there is nothing to draw")
        fine = [record for record in self.records if record.status is Status.OK]
        names = [accuracy_label(name) for name in means]
        seed_names = [accuracy_label(name) for name in means for _ in fine]
        accuracies = [record.accuracy(name)[0] for name in means for record in fine]
        mean, low, high = (list(ends) for ends in zip(*means.values(), strict=True))
        series = [
            Series("one seed each", Kind.MEASURED, seed_names, accuracies, colour=5),
            Series("mean, 95 % interval", Kind.MEASURED, names, mean, low, high, colour=0),
        ]
        if (prediction := quick_prediction(self.problem)) is not None:
            about = law_named(prediction.law).about
            predicted = [prediction.accuracies.get(name, math.nan) for name in means]
            series.append(Series(about, Kind.THEORY, names, predicted, colour=6))
        caption = (
            f"{describe_common_fields([self.problem.to_dict()])}. {len(fine)} seeds, tested on "
            f"{fine[0].test_samples} fresh samples each."
        )
        panel = Panel(title="", x="", y="accuracy", series=series)
        return Drawing("picture", Picture(caption=caption, panels=[panel]))
