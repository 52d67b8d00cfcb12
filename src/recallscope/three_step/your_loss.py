"""Three gradient steps with a loss of the user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recallscope.model.learner import Learner, Outcome
from recallscope.model.setup import Setup
from recallscope.problem.problem import Problem
from recallscope.three_step.by_engines import check_literal

if TYPE_CHECKING:
    from recallscope.three_step.autograd_steps import Loss


@dataclass(frozen=True)
class YourLoss(Learner):
    """Three steps by autograd; the loss is no field of problems, but part of the source."""

    loss: Loss
    called: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.called)  # of each object another, of one class

    def learn(self, setup: Setup) -> Outcome:
        """The steps, by autograd."""
        from recallscope.three_step.autograd_steps import learn_by_autograd

        return learn_by_autograd(setup, self.loss)

    def check(self, problem: Problem) -> None:
        """Raise in the limit, which is known for the paper's system alone."""
        check_literal(problem)


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
    return YourLoss(loss, name or f"three-step-{called.strip('<>').replace('_', '-').lower()}")
