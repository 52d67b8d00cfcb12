"""The weights of an optimiser, in groups: with decay, without decay, and matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.optim import Optimizer

Group = dict[str, Any]
"""As optimisers of torch take it: `params`, and options for these alone."""

REST_OF_RATE = 0.05
"""The rate of AdamW for all but matrices, as a fraction of that of a spectral step."""


def usual_groups(module: nn.Module) -> list[Group]:
    """Return the trained parameters: matrices, and without decay biases, norms and embeddings.

    >>> module = nn.Sequential(nn.Embedding(10, 4), nn.LayerNorm(4), nn.Linear(4, 10))
    >>> [[tuple(each.shape) for each in group["params"]] for group in usual_groups(module)]
    [[(10, 4)], [(10, 4), (4,), (4,), (10,)]]
    """
    learnt = [each for each in module.parameters() if each.requires_grad]
    tables = {id(each) for each in embedding_tables(module)}
    decaying = [each for each in learnt if each.ndim >= 2 and id(each) not in tables]
    names = {id(each) for each in decaying}
    rest = [each for each in learnt if id(each) not in names]
    groups: list[Group] = [{"params": decaying}, {"params": rest, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def embedding_tables(module: nn.Module) -> list[nn.Parameter]:
    """The tables of a module that ids are looked up in, each once.

    >>> len(embedding_tables(nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 10))))
    1
    """
    found = {
        id(each): each
        for part in module.modules()
        if isinstance(part, nn.Embedding)
        for each in part.parameters(recurse=False)
    }
    return list(found.values())


def matrices_and_rest(groups: list[Group]) -> tuple[list[Group], list[Group]]:
    """Groups for an optimiser of matrices, and groups of all other weights."""
    parts: tuple[list[Group], list[Group]] = ([], [])
    for group in groups:
        decays = group.get("weight_decay") != 0.0
        for spectral, into in zip((True, False), parts, strict=True):
            chosen = [each for each in group["params"] if (decays and each.ndim == 2) == spectral]
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
        return [group for each in self.optimisers for group in each.param_groups]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for each in self.optimisers:
            each.zero_grad()

    def step(self) -> None:
        """A step of each."""
        for each in self.optimisers:
            each.step()

    def state_dict(self) -> dict[str, Any]:
        """As of one optimiser: weights are numbered through."""
        state: dict[int, Any] = {}
        for first, each in self._numbered():
            state |= {first + k: value for k, value in each.state_dict()["state"].items()}
        return {"state": state, "param_groups": []}

    def load_state_dict(self, given: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        for first, each in self._numbered():
            own = each.state_dict()
            count = sum(len(group["params"]) for group in own["param_groups"])
            own["state"] = {
                k - first: value
                for k, value in given["state"].items()
                if first <= k < first + count
            }
            each.load_state_dict(own)

    def _numbered(self) -> Iterator[tuple[int, Optimizer]]:
        first = 0
        for each in self.optimisers:
            yield first, each
            first += sum(len(group["params"]) for group in each.param_groups)
