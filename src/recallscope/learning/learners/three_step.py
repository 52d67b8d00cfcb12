"""The learner of the paper: three gradient steps on one batch, by the fastest exact engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from recallscope.learning.learner import Learner, Outcome, Setup
from recallscope.problem import Problem, ProblemError
from recallscope.tasks.kind import facts_of

if TYPE_CHECKING:
    from recallscope.learning.cost import Cost


def _learn(setup: Setup) -> Outcome:
    from recallscope.learning.evaluation import evaluate, logits_of
    from recallscope.learning.threads import Threads
    from recallscope.learning.three_step import learn, training_batch

    batch_of = setup.batch_of or training_batch
    with Threads() as threads:
        instance = setup.instance
        batch = batch_of(instance, threads, _count_up(setup.problem, setup.progress))
        learned = learn(instance, threads, engine=setup.engine, batch=batch)
        if not learned.finite:
            raise OverflowError(
                f"the weights overflowed {setup.dtype}; make steps or arrays smaller"
            )
        numbers = evaluate(instance, learned, threads, setup.test_samples)
    return Outcome(logits=logits_of(instance, learned), numbers=numbers)


def _count_up(
    problem: Problem, progress: Callable[[int, int], None] | None
) -> Callable[[int], None]:
    if progress is None:
        return lambda done: None
    # Three passes over the samples; of the population, two over the hidden units.
    population = math.isinf(problem.samples)
    total = 2 * (problem.width or 0) if population else 3 * int(problem.samples)
    done = 0

    def advance(samples: int) -> None:
        nonlocal done
        done += samples
        progress(done, total)

    return advance


def _check(problem: Problem) -> None:
    for kind, only in (("task", "recall"), ("model", "transformer")):
        name = getattr(problem, kind)
        if name != only:
            raise ProblemError(
                f"the learner three-step is for the {kind} {only}, not for {name}; "
                "choose another learner"
            )

    unequal = problem["frequencies"] != "uniform"
    if unequal and math.isinf(problem.samples) and problem.width is not None:
        raise ProblemError(
            "with samples=inf and an MLP the learner three-step takes every fact equally often; "
            "leave frequencies out, or give a number of samples"
        )
    if (facts := facts_of(problem)) != problem.vocab:
        raise ProblemError(
            f"the learner three-step has a fact for every token, {problem.vocab}, not {facts}; "
            "leave facts out, or choose another learner"
        )


def _cost(problem: Problem, engine: str, dtype: str, test_samples: int) -> Cost:
    from recallscope.learning.cost import three_step_cost

    return three_step_cost(problem, engine, dtype, test_samples)


PART = Learner(learn=_learn, check=_check, cost=_cost, closed_form=True, has_engines=True)
