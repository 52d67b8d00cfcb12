"""Runs, as tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recallscope.cli.tables.output import print_problem, print_table
from recallscope.common.formatting import printable
from recallscope.learning.training.ended import how_many_ended

if TYPE_CHECKING:
    from recallscope.experiment.training_curve import TrainingCurve
    from recallscope.measurement.run_result import RunResult
    from recallscope.record import Record


_COLUMNS = {
    "lock": "lock_accuracy",
    "recall": "recall_accuracy",
    "one step": "one_step_accuracy",
    "signal": "score_signal",
    "noise": "score_noise",
    "cos(α, t)": "trigger_cosine",
}


def print_run(found: RunResult) -> None:
    problem, records, summary = found.problem, found.records, found.summary
    made = records[0].provenance
    print_problem(problem)
    print(
        f"key {problem.key}, {made.engine} engine, {made.dtype}, "
        f"{sum(record.provenance.elapsed_seconds for record in records):.2f} s"
    )
    rows = []
    for record in records:
        cells = (getattr(record, name) for name in _COLUMNS.values())
        shown = ["–" if cell is None else f"{cell:.3f}" for cell in cells]
        rows.append([str(record.seed), str(record.status), *shown])
    print_table(("seed", "status", *_COLUMNS), rows, right=slice(2, None))
    for record in records:
        if record.reason:
            print(f"recallscope: seed {record.seed}: {printable(record.reason)}", file=sys.stderr)
    tested = [record for record in records if record.test_samples]
    for name, mean in summary.items():
        print(
            f"{name.replace('_', ' '):18} {mean.mean:.4f}  "
            f"(95 % interval {mean.low:.4f} to {mean.high:.4f})"
        )
    _print_metrics(records)
    if tested:
        seeds = f"{len(tested)} seeds" if len(tested) > 1 else "one seed"
        print(
            f"Intervals are for the mean over all seeds, from {seeds} "
            f"tested on {tested[0].test_samples} fresh samples each."
        )


def _print_metrics(records: Sequence[Record]) -> None:
    """Means of numbers; of lists that there are any."""
    lists = []
    for name in dict.fromkeys(name for record in records for name in record.metrics):
        values = [record.metrics[name] for record in records if name in record.metrics]
        numbers = [value for value in values if isinstance(value, (int, float))]
        if name == "ended":
            print(f"{name:18} {how_many_ended(numbers)}")
        elif numbers:
            print(f"{name:18} {sum(numbers) / len(numbers):.4g}")
        else:
            lists.append(name)
    if lists:
        print(f"Lists of numbers, with --json: {', '.join(lists)}.")


def print_training(found: TrainingCurve) -> None:
    """How it ended, and what the first steps would have predicted."""
    print_problem(found.problem)
    print(found)
    if found.early is not None:
        print(
            f"After three steps, by closed forms: recall {found.early.recall_accuracy:.4f}, "
            f"lock {found.early.lock_accuracy:.4f}."
        )
