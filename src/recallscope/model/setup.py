"""The inputs of a learner: a problem at a seed, with its samples, its embeddings and its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recallscope.common.shapes import Float
from recallscope.problem.problem import Problem
from recallscope.task.examples import Examples, examples_of

if TYPE_CHECKING:
    from torch import Tensor, nn

    from recallscope.model.arrays import Numbers, Tokens
    from recallscope.model.instance import Instance
    from recallscope.problem.given_embeddings import Embeddings

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
        from recallscope.model.instance import Instance

        return Instance.make(
            self.problem,
            self.seed,
            dtype=self.dtype,
            device=self.device,
            embeddings=self.embeddings,
        )

    def model(self) -> nn.Module:
        """The model of the problem, untrained: from tokens and marked positions to logits.

        First weights that torch draws by itself come from the seed.

        >>> problem = Problem(vocab=64, samples=1, dim=8, length=4)
        >>> sum(weight.numel() for weight in Setup(problem=problem, seed=0).model().parameters())
        128
        """
        import torch

        from recallscope.model.input_ids import ReadsIds
        from recallscope.model.noise import seeded

        kind = self.problem.part("model")
        with seeded(self.seed, 0, torch.device(self.device)):
            built: nn.Module = kind.build(self)
        return (ReadsIds(built, self.problem) if kind.reads_ids else built).to(self.device)

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
