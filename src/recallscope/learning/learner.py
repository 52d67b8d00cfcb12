"""The interface of a learner: from the samples of a problem to logits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from recallscope.common.shapes import Float
from recallscope.learning.blocks import blocks
from recallscope.parts.part import Part
from recallscope.problem import Problem
from recallscope.tasks.examples import Examples, examples_of

if TYPE_CHECKING:
    from torch import Tensor, nn

    from recallscope.learning.cost import Cost
    from recallscope.models.arrays import Flags, Numbers, Tokens
    from recallscope.models.embeddings import Embeddings
    from recallscope.models.instance import Instance

    Logits = Callable[[Tokens, Numbers], Float[Tensor, "n V"]]

_TESTS_AT_ONCE = 1024
_LOGITS_AT_ONCE = 2**24


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The inputs of a learner: a problem at a seed, and how it is to be run.

    Attributes:
        problem: what is to be learnt.
        seed: of the samples, the embeddings and all else that is drawn.
        test_samples: on how many fresh samples it will be tested.
        dtype: float32 or float64.
        device: where torch computes.
        engine: for learners that have several.
        embeddings: arrays that the problem names.
        progress: called with (work done, work in all), if it is there.
        watch: called with what a learner sees along the way, by name.
        checkpoint: a file from which a training resumes, and to which it is saved as it goes.
        batch_of: what makes batches, for learners that have several engines.
    """

    problem: Problem
    seed: int
    test_samples: int = 4096
    dtype: str = "float64"
    device: str = "cpu"
    engine: str = "auto"
    embeddings: Embeddings | None = None
    progress: Callable[[int, int], None] | None = None
    watch: Callable[[Mapping[str, float]], None] | None = None
    checkpoint: Path | None = None
    batch_of: Callable[..., Any] | None = None

    @cached_property
    def instance(self) -> Instance:
        """The samples, the embeddings and the frozen weights, as tensors."""
        from recallscope.models.instance import Instance

        return Instance.make(
            self.problem,
            self.seed,
            dtype=self.dtype,
            device=self.device,
            embeddings=self.embeddings,
        )

    def model(self) -> nn.Module:
        """The model of the problem, untrained: from tokens and marked positions to logits.

        >>> problem = Problem(vocab=64, samples=1, dim=8, length=4)
        >>> sum(weight.numel() for weight in Setup(problem=problem, seed=0).model().parameters())
        128
        """
        from recallscope.models.input_ids import model_of

        return model_of(self).to(self.device)

    def samples(self, start: int, stop: int, split: str = "train") -> tuple[Tensor, ...]:
        """Tokens, marked positions and labels of samples start…stop−1, as tensors.

        Without a trigger, the position is the last one.
        """
        import torch

        if hasattr(self.instance.task, "draw"):  # nothing more is worked out than is asked for
            arrays = tuple(self.instance.task.draw(start, stop, split))
        else:
            examples = self.examples(start, stop, split)
            last = np.full_like(examples.answer, examples.input_ids.shape[1] - 1)
            marked = last if examples.marked is None else examples.marked
            arrays = (examples.input_ids, marked, examples.answer)
        return tuple(torch.from_numpy(array).long().to(self.device) for array in arrays)

    def examples(self, start: int, stop: int, split: str = "train") -> Examples:
        """Examples start…stop−1 of the task: ids, answers, and which fact each asks for."""
        return examples_of(self.instance.task, start, stop, split)


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
