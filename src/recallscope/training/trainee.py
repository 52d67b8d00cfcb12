"""Trainees: runs of the paper's model, or a module of somebody else's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from recallscope.common.shapes import Float, Int64
from recallscope.model.noise import seeded
from recallscope.task.random import Role, generator
from recallscope.three_step.three_step import early_attention
from recallscope.training.groups import Group, usual_groups
from recallscope.training.model import TrainedTransformer

if TYPE_CHECKING:
    from recallscope.model.instance import Instance
    from recallscope.model.learner import Logits
    from recallscope.model.setup import Setup

    Samples = tuple[Int64[Tensor, "runs n L"], Int64[Tensor, "runs n"], Int64[Tensor, "runs n"]]
    """Tokens, marked positions and labels of each run."""


class Snapshot(NamedTuple):
    """The trained model: logits, the module, and for the paper's model what is attended to."""

    logits: Logits
    module: nn.Module
    attended: Callable[[Tensor, Tensor], Tensor] | None = None


def trainee_of(setups: Sequence[Setup]) -> _BatchedTrainee | _ModuleTrainee:
    """The models of some runs of one problem, as they are before the first step."""
    batched = setups[0].problem.part("model").batched
    return _BatchedTrainee(setups) if batched else _ModuleTrainee(setups[0])


class _BatchedTrainee:
    """Runs of one problem that are trained together; `module` is what learns."""

    def __init__(self, setups: Sequence[Setup]) -> None:
        self._setups = setups
        self.module = self._model(setups)
        problem = setups[0].problem
        with torch.no_grad():
            for run, setup in enumerate(setups):
                weights = (self.module.V, self.module.W)
                V, W = (weight.view(len(setups), problem.dim, -1)[run] for weight in weights)
                if problem["start"]:
                    _start(setup, V, W)
                if problem["saturation"]:
                    _saturate(setup.instance, W)

    def groups(self) -> list[nn.Parameter]:
        """The trained parameters, as an optimiser takes them."""
        return list(self.module.parameters())

    def noise(self, step: int) -> AbstractContextManager[None]:
        """Where the losses of a step are found: what is random in them comes from the seed."""
        return nullcontext()

    def losses(self, samples: Samples) -> Float[Tensor, " runs"]:
        """The mean loss of each run over its samples."""
        return self.module.losses(*samples)

    def look(self, samples: Samples) -> dict[str, Float[Tensor, " runs"]]:
        """Return the measurements of each run on its samples."""
        tokens, position, label = samples
        attention = self.module.attention(tokens, position)
        seen = {
            "recall": self.module(tokens, position).argmax(dim=2) == label,
            "attention": attention.argmax(dim=2) == position,
            "mass": attention.gather(2, position[:, :, None])[:, :, 0],
        }
        vector = self.module.attention_vector()[:, :, 0].double()
        cosine = functional.cosine_similarity(vector, self.module.trigger.double(), dim=1)
        means = {name: values.double().mean(dim=1) for name, values in seen.items()}
        return means | {"cosine": cosine}

    def kept(self, run: int) -> Snapshot:
        """Return the model of a run so far: a copy, which is tested alone."""
        model = self._model([self._setups[run]])
        with torch.no_grad():
            for name, weight in model.named_parameters():
                every = self.module.get_parameter(name)
                weight.copy_(every.view(len(self._setups), *weight.shape)[run])

        def logits(tokens: Tensor, position: Tensor) -> Tensor:
            logits_of_run: Tensor = model(tokens[None], position[None])[0]
            return logits_of_run

        def attended(tokens: Tensor, position: Tensor) -> Tensor:
            return model.attention(tokens[None], position[None])[0].argmax(dim=1)

        return Snapshot(logits, model, attended)

    def _model(self, setups: Sequence[Setup]) -> TrainedTransformer:
        problem = setups[0].problem
        learnt = ("tokens", "outputs") * problem["learn_embeddings"]
        learnt += ("hidden_weights",) * problem["learn_mlp"]
        return TrainedTransformer([setup.instance for setup in setups], learnt)


class _ModuleTrainee:
    """The same for one run of a module of somebody else's."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.module = setup.model()

    def groups(self) -> list[Group]:
        """As the model has it, or what learns in groups as is usual."""
        groups: list[Group] | None = self._setup.problem.part("model").parameter_groups(self.module)
        return usual_groups(self.module) if groups is None else groups

    def noise(self, step: int) -> AbstractContextManager[None]:
        # Number 0 is that of the first weights.
        return seeded(self._setup.seed, step + 1, self._setup.instance.tokens.device)

    def losses(self, samples: Samples) -> Float[Tensor, " runs"]:
        tokens, position, label = samples
        self.module.train()
        return functional.cross_entropy(self.module(tokens[0], position[0]), label[0])[None]

    def look(self, samples: Samples) -> dict[str, Float[Tensor, " runs"]]:
        tokens, position, label = samples
        self.module.eval()
        right = self.module(tokens[0], position[0]).argmax(dim=1) == label[0]
        return {"recall": right.double().mean()[None]}

    def kept(self, run: int) -> Snapshot:
        module = copy.deepcopy(self.module)
        return Snapshot(module, module)


def _start(setup: Setup, V: Tensor, W: Tensor) -> None:
    """Random first weights, from the seed alone."""
    problem = setup.problem
    for block, weight in enumerate((V, W)):
        source = generator(setup.seed, Role.START, problem.dim, problem.hidden, block=block)
        drawn = problem["start"] * source.standard_normal(tuple(weight.shape))
        weight.copy_(torch.from_numpy(drawn))


def _saturate(instance: Instance, W: Tensor) -> None:
    """The second of three steps, so large that the scores of tokens vary by what is asked for.

    The first is infinitely smaller: only its direction matters, and V stays as it was.
    """
    alpha = early_attention(instance)
    spread = (instance.tokens @ alpha).std()
    size = instance.problem["saturation"] / spread
    W.copy_(size * torch.outer(alpha, instance.end) / (instance.end @ instance.end))
