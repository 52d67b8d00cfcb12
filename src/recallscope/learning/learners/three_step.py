"""The learner of the paper: three gradient steps on one batch.

With the paper's task, model and loss the fastest exact engine makes them, with others autograd.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from recallscope.learning.by_engines import PAPER, by_engines
from recallscope.learning.learner import Learner, Outcome, Setup
from recallscope.parts.field import Field
from recallscope.problem import Problem, ProblemError
from recallscope.tasks.kind import facts_of

if TYPE_CHECKING:
    from recallscope.learning.autograd_steps import Loss
    from recallscope.learning.cost import Cost


def three_steps(loss: Loss, name: str | None = None) -> Learner:
    """The learner of three steps with your loss.

    Args:
        loss: from logits (n×labels) and labels (n) to the mean over the samples.
        name: what the learner is called; by default as the function, after `three-step-`.

    Returns:
        A learner, to be passed as one: `Problem(learner=three_steps(loss), regime="literal", …)`.

    >>> from torch.nn.functional import multi_margin_loss
    >>> three_steps(multi_margin_loss).name
    'three-step-multi-margin-loss'
    """
    called: Any = getattr(loss, "__name__", type(loss).__name__)
    return Learner(
        name=name or f"three-step-{called.strip('<>').replace('_', '-').lower()}",
        learn=partial(_learn_with, loss),
        check=_check_literal,
    )


def _learn_with(loss: Loss, setup: Setup) -> Outcome:
    from recallscope.learning.autograd_steps import learn_by_autograd

    return learn_by_autograd(setup, loss)


def _learn(setup: Setup) -> Outcome:
    if not by_engines(setup.problem):
        from recallscope.learning.autograd_steps import LOSSES

        return _learn_with(LOSSES[setup.problem["loss_function"]], setup)
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
    if not by_engines(problem):
        _check_literal(problem)
    unequal = getattr(problem, "frequencies", "uniform") != "uniform"
    if unequal and math.isinf(problem.samples) and problem.width is not None:
        raise ProblemError(
            "with samples=inf and an MLP the learner three-step takes every fact equally often; "
            "leave frequencies out, or give a number of samples"
        )


def _check_literal(problem: Problem) -> None:
    """Raise in the limit, which is known for the paper's system alone."""
    if problem.regime == "literal":
        return
    other = [
        f"{name.replace('_', ' ')} {value}"
        for name, usual in PAPER.items()
        if (value := getattr(problem, name, "of yours")) != usual
    ]
    if facts_of(problem) != problem.vocab:
        other.append(f"{facts_of(problem)} facts of {problem.vocab} tokens")
    raise ProblemError(
        "three steps in the limit are known for the task recall with a fact for every token, the "
        f"model transformer and the loss function cross-entropy, not for {', '.join(other)}; give "
        "regime=literal, with eta and gamma"
    )


def _cost(problem: Problem, engine: str, dtype: str, test_samples: int) -> Cost:
    from recallscope.learning.cost import three_step_cost, unknown_cost

    if not by_engines(problem):
        return unknown_cost(engine)
    return three_step_cost(problem, engine, dtype, test_samples)


PART = Learner(
    learn=_learn,
    fields={
        "loss_function": Field(
            default="cross-entropy",
            choices=("cross-entropy", "squared-error", "hinge"),
            help="What the three steps reduce.",
        ),
    },
    check=_check,
    cost=_cost,
    closed_form=True,
    has_engines=True,
)
