"""The weights of an optimiser, in groups: with decay, without decay, and matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.optim import Optimizer

from recallscope.model.parameters import embedding_tables

Group = dict[str, Any]
"""As optimisers of torch take it: `params`, and options for these alone."""

REST_OF_RATE = 0.05
"""The rate of AdamW for all but matrices, as a fraction of that of a spectral step."""


def usual_groups(module: nn.Module) -> list[Group]:
    """Return the trained parameters: matrices, and without decay biases, norms and embeddings.

    >>> module = nn.Sequential(nn.Embedding(10, 4), nn.LayerNorm(4), nn.Linear(4, 10))
    >>> [[tuple(weight.shape) for weight in group["params"]] for group in usual_groups(module)]
    [[(10, 4)], [(10, 4), (4,), (4,), (10,)]]
    """
    learnt = [weight for weight in module.parameters() if weight.requires_grad]
    tables = {id(table) for table in embedding_tables(module)}
    decaying = [weight for weight in learnt if weight.ndim >= 2 and id(weight) not in tables]
    names = {id(weight) for weight in decaying}
    rest = [weight for weight in learnt if id(weight) not in names]
    groups: list[Group] = [{"params": decaying}, {"params": rest, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def matrices_and_rest(groups: list[Group]) -> tuple[list[Group], list[Group]]:
    """Groups for an optimiser of matrices, and groups of all other weights."""
    parts: tuple[list[Group], list[Group]] = ([], [])
    for group in groups:
        decays = group.get("weight_decay") != 0.0
        for spectral, into in zip((True, False), parts, strict=True):
            chosen = [
                weight for weight in group["params"] if (decays and weight.ndim == 2) == spectral
            ]
            if chosen:
                into.append(group | {"params": chosen})
    return parts


class Together:
    """Several optimisers that take their steps together, and are used as one."""

    def __init__(self, *optimisers: Optimizer) -> None:
        self.optimisers = optimisers

    @property
    def param_groups(self) -> list[Group]:
        """Those of all, one optimiser after another."""
        return [group for optimiser in self.optimisers for group in optimiser.param_groups]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for optimiser in self.optimisers:
            optimiser.zero_grad()

    def step(self) -> None:
        """A step of each."""
        for optimiser in self.optimisers:
            optimiser.step()

    def state_dict(self) -> dict[str, Any]:
        """As of one optimiser: weights are numbered through."""
        state: dict[int, Any] = {}
        for first, optimiser in self._numbered():
            state |= {first + k: value for k, value in optimiser.state_dict()["state"].items()}
        return {"state": state, "param_groups": []}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        for first, optimiser in self._numbered():
            own = optimiser.state_dict()
            count = sum(len(group["params"]) for group in own["param_groups"])
            own["state"] = {
                k - first: value
                for k, value in state_dict["state"].items()
                if first <= k < first + count
            }
            optimiser.load_state_dict(own)

    def _numbered(self) -> Iterator[tuple[int, Optimizer]]:
        first = 0
        for optimiser in self.optimisers:
            yield first, optimiser
            first += sum(len(group["params"]) for group in optimiser.param_groups)
