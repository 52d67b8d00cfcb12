"""How fast this machine learns."""

from __future__ import annotations

from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.experiment import bench as experiment
from recallscope.experiment.bench import BenchResult
from recallscope.experiment.turns import FEWEST_TURNS
from recallscope.problem import Problem


def bench(
    problem: Problem | None = None,
    *,
    dtype: str = "float32",
    device: str = "cpu",
    repeats: int = FEWEST_TURNS,
    progress: ProgressCallback | bool = True,
) -> BenchResult:
    """Time three-step learning of one problem, every way there is, on one thread and in turns.

    Args:
        problem: what to learn; by default V=4096, N=65,536, d=128, L=64.
        dtype: 'float32', or 'float64'.
        device: where torch computes.
        repeats: how many turns; each way is timed once in a turn.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (work done, work in all).

    Returns:
        Seconds of each way, samples per second, and ratios of times in the same turn.

    Raises:
        ProblemError: a problem whose learner is not three steps, or too few repeats.

    >>> result = bench(Problem(vocab=64, samples=512, dim=16, length=4))
    >>> result.threads, result.seconds["autograd"] > 0, list(result.ratios)[:2]
    (1, True, ['speedup_over_autograd', 'fraction_of_bare'])
    """
    problem = problem or Problem(vocab=4096, samples=65536, dim=128, length=64)
    with shown_progress(progress, "bench") as update:
        return experiment.bench(
            problem, dtype=dtype, device=device, repeats=repeats, progress=update
        )
