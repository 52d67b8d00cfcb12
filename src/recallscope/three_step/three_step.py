"""The algorithm: value matrix, attention, value matrix, one gradient step each on one batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType

from torch import Tensor

from recallscope.common.shapes import Float
from recallscope.model.instance import Instance
from recallscope.three_step import by_reference, counts, finite_steps, population, stream
from recallscope.three_step.batch import Batch, tile_size
from recallscope.three_step.cost import choose_engine
from recallscope.three_step.threads import Threads

_MODULES: dict[str, ModuleType] = {
    "stream": stream,
    "counts": counts,
    "literal": finite_steps,
    "population": population,
}


@dataclass(frozen=True, eq=False)
class Learned:
    """The weights after three steps.

    In the limit regime only directions matter, and the scale is that of unit steps. `V1` and `V2`
    are mean gradients, and `alpha` is the direction of W1 e. In the literal regime they are the
    weights themselves, with W1 = γ alpha e^T.

    Attributes:
        V1: the value matrix after the first step, d×m (d×d without an MLP).
        alpha: the attention vector after the second, d.
        V2: the value matrix after the third.

    >>> import torch
    >>> learned = Learned(V1=torch.zeros(8, 8), alpha=torch.ones(8), V2=torch.zeros(8, 8))
    >>> learned.finite
    True
    """

    V1: Float[Tensor, "d m"]
    alpha: Float[Tensor, " d"]
    V2: Float[Tensor, "d m"]

    @property
    def finite(self) -> bool:
        """Whether no weight has overflowed."""
        return all(bool(weight.isfinite().all()) for weight in (self.V1, self.alpha, self.V2))


def learn(
    instance: Instance, threads: Threads, *, engine: str = "auto", batch: Batch | None = None
) -> Learned:
    """Run the three steps on the batch of the instance's problem, or on a given batch.

    Args:
        instance: the task, the embeddings and the frozen MLP.
        threads: entered before, as in the example.
        engine: 'stream', 'counts', 'reference', or 'auto' for the one that costs less.
        batch: the samples; by default those of the problem.

    Returns:
        The value matrix after the first step, the attention, and the value matrix after the third.

    Raises:
        ProblemError: an unknown engine, or one that cannot run this problem.

    >>> from recallscope.problem.problem import Problem
    >>> instance = Instance.make(Problem(vocab=64, samples=4096, dim=32, length=4), seed=0)
    >>> with Threads() as threads:
    ...     learned = learn(instance, threads)
    >>> learned.V2.shape, learned.alpha.shape
    (torch.Size([32, 32]), torch.Size([32]))
    """
    chosen = choose_engine(instance.problem, engine)
    if batch is None:
        batch = training_batch(instance, threads)
    if chosen == "reference":
        return Learned(*by_reference.learn(instance, batch))
    steps = _MODULES[chosen]
    batch = replace(batch, keep=True)
    V1 = steps.first_value(instance, batch)
    alpha = steps.attention(instance, batch, V1)
    V2 = steps.second_value(instance, batch, V1, alpha)
    return Learned(V1, alpha, V2)


def early_attention(instance: Instance) -> Float[Tensor, " d"]:
    """The attention vector after two of three steps in the limit, whatever learns afterwards.

    >>> from recallscope.problem.problem import Problem
    >>> problem = Problem(vocab=64, samples=4096, dim=32, length=4, learner="adam")
    >>> early_attention(Instance.make(problem, seed=0)).shape
    torch.Size([32])
    """
    problem = instance.problem.replace(learner="three-step", regime="limit")
    with Threads() as threads:
        return learn(replace(instance, problem=problem), threads).alpha


def training_batch(
    instance: Instance, threads: Threads, advance: Callable[[int], None] = lambda done: None
) -> Batch:
    """The N samples of the problem; none for the population, as its expectation is known."""
    population = math.isinf(instance.problem.samples)
    return Batch(
        draw=instance.task.draw,
        samples=0 if population else int(instance.problem.samples),
        tile=tile_size(instance.problem),
        threads=threads,
        device=instance.tokens.device,
        advance=advance,
    )


def fresh_batch(instance: Instance, threads: Threads, samples: int) -> Batch:
    """So many fresh samples of the problem."""
    whole = training_batch(instance, threads)
    draw = instance.task.draw
    return replace(whole, draw=lambda start, stop: draw(start, stop, "test"), samples=samples)
