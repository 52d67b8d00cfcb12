"""The interface of a learner: from the samples of a problem to logits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from recallscope.common.blocks import blocks
from recallscope.common.shapes import Float
from recallscope.model.setup import Setup
from recallscope.problem.part import Part
from recallscope.problem.problem import Problem

if TYPE_CHECKING:
    from torch import Tensor, nn

    from recallscope.model.arrays import Flags, Numbers, Tokens
    from recallscope.model.cost import Cost

    Logits = Callable[[Tokens, Numbers], Float[Tensor, "n V"]]

_TESTS_AT_ONCE = 1024
_LOGITS_AT_ONCE = 2**24


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a learner.

    Attributes:
        logits: what was learnt, from tokens and marked positions to the logits of all labels.
        module: the module that has learnt it, which metrics may look into; `logits` if it is one.
        metrics: numbers, or curves, of how it was learnt; they become metrics of the record.
        numbers: fields of the record, for a learner that tests itself; by default it is tested on
            fresh samples for `recall_accuracy`.
    """

    logits: Logits
    metrics: Mapping[str, float | Sequence[float]] = field(default_factory=dict)
    numbers: Mapping[str, Any] | None = None
    module: nn.Module | None = None


@dataclass(frozen=True)
class Learner(Part, ABC):
    """A way to learn.

    Attributes:
        metrics: the names of the metrics that it gives.
        closed_form: whether the formulas for three gradient steps are right for it.
        has_engines: whether there are several ways to compute it, to choose from.
        minimum: whether what it gives is the minimum of the loss.
    """

    kind_of_part = "learner"
    metrics: ClassVar[tuple[str, ...]] = ()
    closed_form: ClassVar[bool] = False
    has_engines: ClassVar[bool] = False
    minimum: ClassVar[bool] = False

    @abstractmethod
    def learn(self, setup: Setup) -> Outcome:
        """What was learnt; a pure function of the setup, which reads no global generator."""

    def learn_together(self, setups: Sequence[Setup]) -> list[Outcome | OverflowError]:
        """The same for several seeds of one problem, in the same order.

        A learner that is faster so has its own. An error in the place of an outcome is of that run
        alone. No bit of an outcome may depend on its company.
        """
        return [self.learn(setup) for setup in setups]

    def at_once(self, problem: Problem) -> int:
        """How many of them at most."""
        return 1

    def cost(self, problem: Problem, engine: str, dtype: str, test_samples: int) -> Cost | None:
        """What a run will take; None if that is not known."""
        return None


class LearnedModel:
    """Return the trained model as it is tested: without dropout, and refused if it has overflowed.

    It is called with tokens and marked positions. `module` is the trained module, or None. The
    model of the paper has `attention` and `hidden`, others have other names, and all take hooks of
    torch.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._logits: Any = outcome.logits
        self.module: Any = outcome.module
        if self.module is None and hasattr(self._logits, "eval"):
            self.module = self._logits
        if self.module is not None:
            self.module.eval()

    def __call__(self, tokens: Tensor, position: Tensor) -> Tensor:
        logits: Tensor = self._logits(tokens, position)
        if not bool(logits.isfinite().all()):
            raise OverflowError("the logits are not finite; make steps smaller")
        return logits


def tested(setup: Setup, logits: Logits) -> dict[str, Any]:
    """How often the highest logit is the right one, on fresh samples."""
    share = mean_of_tests(
        setup, lambda tokens, position, label: logits(tokens, position).argmax(dim=1) == label
    )
    return {"test_samples": setup.test_samples, "recall_accuracy": share}


def mean_of_tests(
    setup: Setup,
    seen: Callable[[Tokens, Numbers, Numbers], Flags | Float[Tensor, " n"]],
    count: int | None = None,
    split: str = "test",
) -> float:
    """The mean of what is seen of the fresh samples, or of others; of what is right, how often."""
    import torch

    labels = setup.problem.part("task").number_of_labels(setup.problem)
    total, block = 0.0, max(1, min(_TESTS_AT_ONCE, _LOGITS_AT_ONCE // labels))
    count = count or setup.test_samples
    with torch.no_grad():
        for rows in blocks(count, block):
            total += seen(*setup.samples(rows.start, rows.stop, split)).sum().item()
    return total / count
