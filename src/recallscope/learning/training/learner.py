"""A learner from an optimiser: what is common to all that train."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from recallscope.learning.learner import Learner, Outcome, Setup
from recallscope.learning.training.cost import one_at_a_time, runs_at_once, training_cost
from recallscope.learning.training.options import COMMON, check
from recallscope.parts.field import Field
from recallscope.parts.naming import find_part

if TYPE_CHECKING:
    from recallscope.learning.cost import Cost
    from recallscope.learning.training.loop import MakeOptimiser
    from recallscope.problem import Problem

METRICS = (
    *("curve_step", "curve_loss", "curve_recall", "curve_lock", "curve_mass", "curve_cosine"),
    *("ended", "rate_used", "steps_taken", "final_loss", "first_lock"),
)


def trained_by(
    optimiser: MakeOptimiser,
    rate: Callable[[Problem], float],
    fields: Mapping[str, Field] | None = None,
    *,
    by_weight: bool = False,
) -> Learner:
    """A learner that trains with an optimiser.

    Args:
        optimiser: from what learns, the learning rate and the problem to a `torch.optim.Optimizer`.
        rate: the learning rate for problems that give none.
        fields: what it adds to problems in addition to the fields of every training.
        by_weight: whether it treats each weight by itself. Tiny runs can then be trained in one
            tensor; an optimiser of matrices does not.
    """
    at_once = runs_at_once if by_weight else one_at_a_time

    def cost(problem: Problem, engine: str, dtype: str, test_samples: int) -> Cost:
        if find_part("model", problem.model).batched:
            return training_cost(problem, engine, dtype, test_samples, at_once=at_once(problem))
        from recallscope.learning.training.probe import module_cost

        return module_cost(problem, dtype, test_samples)

    def learn_together(setups: Sequence[Setup]) -> list[Outcome | OverflowError]:
        from recallscope.learning.threads import Threads
        from recallscope.learning.training.loop import Training

        problem = setups[0].problem
        usual = find_part("model", problem.model).default_rate(problem)
        chosen = problem["learning_rate"] or usual or rate(problem)
        with Threads(problem["threads"]):
            return Training(setups, optimiser, chosen, at_once(problem)).run()

    return Learner(
        learn=one_of(learn_together),
        learn_together=learn_together,
        at_once=at_once,
        fields={**COMMON, **(fields or {})},
        check=check,
        cost=cost,
        metrics=METRICS,
    )


def one_of(
    learn_together: Callable[[Sequence[Setup]], list[Outcome | OverflowError]],
) -> Callable[[Setup], Outcome]:
    """The same for one run alone."""

    def learn(setup: Setup) -> Outcome:
        (outcome,) = learn_together([setup])
        if isinstance(outcome, OverflowError):
            raise outcome
        return outcome

    return learn
