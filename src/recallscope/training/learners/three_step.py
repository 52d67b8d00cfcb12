"""The learner of the paper: three gradient steps on one batch.

With the paper's task, model and loss the fastest exact engine makes them, with others autograd.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallscope.common.errors import ProblemError
from recallscope.model.learner import Learner, Outcome
from recallscope.model.setup import Setup
from recallscope.problem.part import problem_field
from recallscope.problem.problem import Problem
from recallscope.three_step.by_engines import by_engines, check_literal

if TYPE_CHECKING:
    from recallscope.model.cost import Cost


@dataclass(frozen=True)
class ThreeStep(Learner):
    """Three gradient steps: value, attention, value."""

    closed_form = True
    has_engines = True

    loss_function: str = problem_field(
        "cross-entropy",
        choices=("cross-entropy", "squared-error", "hinge"),
        help="What the three steps reduce.",
    )

    def learn(self, setup: Setup) -> Outcome:
        """The steps, by an engine that knows them or by autograd."""
        if not by_engines(setup.problem):
            from recallscope.three_step.autograd_steps import LOSSES, learn_by_autograd

            return learn_by_autograd(setup, LOSSES[self.loss_function])
        from recallscope.three_step.evaluation import evaluate, logits_of
        from recallscope.three_step.threads import Threads
        from recallscope.three_step.three_step import learn, training_batch

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

    def check(self, problem: Problem) -> None:
        """Raise where neither an engine nor autograd can make the steps."""
        if not by_engines(problem):
            check_literal(problem)
        unequal = getattr(problem, "frequencies", "uniform") != "uniform"
        if unequal and math.isinf(problem.samples) and problem.width is not None:
            raise ProblemError(
                "with samples=inf and an MLP the learner three-step takes every fact equally "
                "often; leave frequencies out, or give a number of samples"
            )

    def cost(self, problem: Problem, engine: str, dtype: str, test_samples: int) -> Cost:
        """That of the engine; by autograd it is not known."""
        from recallscope.model.cost import unknown_cost
        from recallscope.three_step.cost import three_step_cost

        if not by_engines(problem):
            return unknown_cost(engine)
        return three_step_cost(problem, engine, dtype, test_samples)


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


PART = ThreeStep()
