"""One thing changed at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from recallscope.api.run_options import RunOptions, runner, with_run_options
from recallscope.cell import check_amount
from recallscope.measurement import ablation
from recallscope.measurement.ablation import Ablations
from recallscope.problem import Problem, ProblemError, whole_number
from recallscope.record import accuracy_name


@with_run_options
def ablate(
    problem: Problem,
    names: Sequence[str] = (),
    accuracy: str = "recall",
    *,
    seeds: int = 16,
    seed: int = 0,
    **how: Unpack[RunOptions],
) -> Ablations:
    """Change one thing of a problem at a time, and compare both at the same seeds.

    Args:
        problem: as it is before the change.
        names: embedding, mlp, trigger, steps, batch, gaussian; all that apply if none is given.
        accuracy: recall, lock, one-step, or a metric.
        seeds: how many runs of each arm.
        seed: the first.
        how: how and where to run, as in `HowToRun`.

    Returns:
        The difference that each change makes, with its interval, paired by seed.

    Raises:
        ProblemError: an unknown name, or a change that does not apply to the problem.

    >>> problem = Problem(vocab=64, samples=512, dim=48, length=4)
    >>> [result.pairs for result in ablate(problem, ["trigger"], seeds=2).results]
    [2]
    """
    if isinstance(names, str):
        raise ProblemError(f"names are a list, as in [{names!r:.60}]")
    runs = runner(how)
    if runs.own:
        raise ProblemError("a custom experiment has nothing to ablate; use sweep")
    ablations = ablation.named(names, problem, accuracy_name(accuracy))
    count = whole_number("seeds", seeds, 1, 10**6)
    check_amount("this ablation", len(ablation.plan(ablations, 1)), count)
    records = runs.records(ablation.plan(ablations, count, seed), "ablations")
    results = [ablation.compare(each, records) for each in ablations]
    return Ablations(problem=problem, seeds=count, results=results, records=records)
