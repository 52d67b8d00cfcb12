"""Everything fixed before learning begins, as tensors: a pure function of (problem, seed)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from recallscope.common.checks import LARGEST_SEED, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Float, Int64
from recallscope.model.embeddings import draw_embeddings
from recallscope.model.family import draw_hidden_weights
from recallscope.problem.given_embeddings import Embeddings, check_arrays
from recallscope.problem.problem import Problem, check_dtype
from recallscope.task.examples import SampleSource
from recallscope.task.kind import samples_of

_NUMPY: dict[str, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}


@dataclass(frozen=True, eq=False)
class Instance:
    """The task, the embeddings and the frozen MLP of one experiment.

    Attributes:
        problem: what it is an instance of.
        seed: which.
        task: where samples come from.
        tokens: z, the embedding of each token.
        outputs: u, the embedding of each label.
        trigger: t, what marks a position.
        end: e, from where attention looks.
        hidden_weights: W_in of the MLP; None for attention alone.

    >>> instance = Instance.make(Problem(vocab=64, samples=4096, dim=16, length=4), seed=0)
    >>> instance.tokens.shape, instance.outputs.shape, instance.trigger.shape
    (torch.Size([64, 16]), torch.Size([64, 16]), torch.Size([16]))
    """

    problem: Problem
    seed: int
    task: SampleSource
    tokens: Float[Tensor, "V d"]  # z_v
    outputs: Float[Tensor, "V d"]  # u_y
    trigger: Float[Tensor, " d"]  # t
    end: Float[Tensor, " d"]  # e
    hidden_weights: Float[Tensor, "m d"] | None  # W_in

    @classmethod
    def make(
        cls,
        problem: Problem,
        seed: int,
        *,
        dtype: str = "float64",
        device: str = "cpu",
        embeddings: Embeddings | None = None,
    ) -> Instance:
        """Draw the instance of a problem, or build it around given arrays.

        Args:
            problem: what to draw an instance of.
            seed: which.
            dtype: 'float32', or 'float64'.
            device: where the tensors are.
            embeddings: your own arrays, if the problem names them.

        Returns:
            The same for the same problem and seed, on every machine.

        Raises:
            ProblemError: arrays that are not those of the problem, or a seed below 0.
        """
        check_dtype(dtype)
        check_arrays(problem, embeddings)
        seed = whole_number("seed", seed, 0, LARGEST_SEED)
        owned = embeddings is not None
        if embeddings is None:
            embeddings = draw_embeddings(problem, seed, _NUMPY[dtype])
        hidden_weights = None
        if problem.width is not None:
            hidden_weights = draw_hidden_weights(problem.width, problem.dim, seed, _NUMPY[dtype])

        def tensor(array: np.ndarray) -> Tensor:
            # A copy of the user's arrays, in case they change; drawn arrays are ours already.
            array = np.array(array, dtype=_NUMPY[dtype], order="C", copy=owned or None)
            return torch.from_numpy(array).to(device)

        return cls(
            problem=problem,
            seed=seed,
            task=samples_of(problem, seed),
            tokens=tensor(embeddings.tokens),
            outputs=tensor(embeddings.outputs),
            trigger=tensor(embeddings.trigger),
            end=tensor(embeddings.end),
            hidden_weights=None if hidden_weights is None else tensor(hidden_weights),
        )

    @cached_property
    def centred_outputs(self) -> Float[Tensor, "V d"]:
        """q_y = u_y − mean(u): what is left of the label once a uniform guess is subtracted."""
        return self.outputs - self.outputs.mean(dim=0)

    @cached_property
    def labels(self) -> Int64[Tensor, " V"]:
        """π(v) for every token v."""
        permutation = getattr(self.task, "permutation", None)
        if permutation is None:
            raise ProblemError(f"the task {self.problem.task} has no permutation of the tokens")
        return torch.as_tensor(permutation, device=self.tokens.device)

    @cached_property
    def frequencies(self) -> Float[Tensor, " facts"] | None:
        """The probability of each fact, in float64; None where all are equal."""
        frequencies = getattr(self.task, "frequencies", None)
        return (
            None if frequencies is None else torch.as_tensor(frequencies, device=self.tokens.device)
        )

    @property
    def trigger_value(self) -> Float[Tensor, " d"]:
        """The trigger's addition to the value at its position: t, or nothing."""
        if self.problem.trigger_in_values:
            return self.trigger
        return torch.zeros_like(self.trigger)
