"""Real experiments on some of a table's rows, to compare with what was predicted for them.

One step of learning is measured on the rows as they are. Training to the end would take hours in
all dimensions. It is measured on the same rows in a few random directions, and compared with what
is predicted for those.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from recallscope.audits.facts import MEMORIES, Counts, trained_by_rank
from recallscope.audits.used_rows import Rows
from recallscope.common.plain import Plain
from recallscope.theory.output_lengths import whitened
from recallscope.theory.table_facts import SHARES

_DIRECTIONS = 48
_AROUND = {  # times the facts that were predicted; trained memories fall from all to few at once
    "one_step": (0.6, 0.8, 1.0, 1.25, 1.6),
    "trained": (0.7, 0.82, 0.9, 1.0, 1.1),
}
_FEWEST_FACTS = 2
_TESTS = 10_000  # of each number of facts, if so many runs are allowed
_MOST_RUNS = {"one_step": 256, "trained": 6}
_SURE = 2.0  # standard errors


@dataclass(frozen=True, kw_only=True)
class MeasuredFacts(Plain):
    """Facts by the recalled fraction: as predicted for the rows that were taken, and as measured.

    `low` and `high` are two standard errors away.
    """

    dim: int
    rows: int
    runs: int
    predicted: Counts
    measured: Counts
    low: Counts
    high: Counts


def measure_facts(
    pair: tuple[Rows, Rows],
    predicted: Counts,
    progress: Callable[[float, float], None] = lambda done, total: None,
) -> dict[str, MeasuredFacts]:
    """By memory: how many facts there may be for a fraction of them to be recalled."""
    projected = _projected(pair)
    ranks = [int(np.linalg.matrix_rank(each)) for each in projected]
    trained = trained_by_rank(ranks, whitened(projected[1]))
    asked = {"one_step": (pair, predicted), "trained": (projected, trained)}
    found = {}
    for place, (memory, (rows, expected)) in enumerate(asked.items()):

        def advance(share: float, place: int = place) -> None:
            progress(place + share, len(MEMORIES))

        found[memory] = _around(memory, rows, expected, advance)
    return found


def _projected(pair: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
    """Rows in a few random directions, the same for inputs and outputs."""
    dim = pair[0].shape[1]
    if dim <= _DIRECTIONS:
        return pair
    drawn = np.random.default_rng(6).standard_normal((dim, _DIRECTIONS))
    directions = np.linalg.qr(drawn)[0]
    return pair[0] @ directions, pair[1] @ directions


def _around(
    memory: str, pair: tuple[Rows, Rows], expected: Counts, advance: Callable[[float], None]
) -> MeasuredFacts:
    """Recall at numbers of facts around those that are expected, and where it crosses `SHARES`."""
    most = len(pair[0])
    wanted = sorted(
        {
            min(max(round(min(count, most) * times), _FEWEST_FACTS), most)
            for count in expected.values()
            for times in _AROUND[memory]
        }
    )
    means, errors, runs = [], [], 0
    for place, count in enumerate(wanted):
        times = int(np.clip(_TESTS / count, 2, _MOST_RUNS[memory]))
        recalls = [_recall(memory, pair, count, seed) for seed in range(times)]
        runs += times
        means.append(float(np.mean(recalls)))
        # Facts of one run are not independent, so this is the least error.
        spread = np.std(recalls, ddof=1) if times > 1 else 0.0
        tests = times * count
        errors.append(max(spread, math.sqrt(0.25 / tests)) / math.sqrt(times))
        advance((place + 1) / len(wanted))
    level, off = np.array(means), np.array(errors)
    curves = {"measured": level, "low": level - _SURE * off, "high": level + _SURE * off}
    crossed = {
        name: {share: _crossing(wanted, curve, share) for share in SHARES}
        for name, curve in curves.items()
    }
    return MeasuredFacts(dim=pair[0].shape[1], rows=most, runs=runs, predicted=expected, **crossed)


def _recall(memory: str, pair: tuple[Rows, Rows], count: int, seed: int) -> float:
    """The recalled fraction of so many facts about rows drawn from the table."""
    from recallscope.experiment.run import run
    from recallscope.models.embeddings import Embeddings
    from recallscope.problem import Problem, ProblemError

    rng = np.random.default_rng([7, seed, count])
    at = rng.choice(len(pair[0]), size=count, replace=False)
    size = math.sqrt(np.square(pair[0][at]).sum(axis=1).mean())
    axis = np.eye(pair[0].shape[1])[0]
    arrays = Embeddings(pair[0][at] / size, pair[1][at] / size, axis, axis)
    # Of one step, sequences of one token: nothing to find, and in expectation every fact equally
    # often.
    how: dict[str, Any] = {"samples": math.inf}
    if memory == "trained":
        how = {"samples": count, "task": "memory", "learner": "converged"}
    problem = Problem(vocab=count, dim=len(axis), length=1, embedding=arrays.name, **how)
    record = run(problem, seed, embeddings=arrays)
    if record.status != "ok" or record.recall_accuracy is None:
        raise ProblemError(f"an experiment on these rows has failed: {record.reason}")
    return float(record.recall_accuracy)


def _crossing(counts: list[int], recalls: np.ndarray, share: float) -> float:
    """Where recall falls below a value, by straight lines over logarithms; infinite if nowhere."""
    # Recall can only fall: values that rise are lowered to those before them.
    falling = np.minimum.accumulate(recalls)
    if falling[-1] >= share:
        return math.inf
    if falling[0] < share:
        return float(counts[0])
    return float(np.exp(np.interp(-share, -falling, np.log(counts))))
