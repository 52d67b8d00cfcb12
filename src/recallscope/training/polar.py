"""The exact spectral step as an optimiser."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn
from torch.optim import Optimizer


class Polar(Optimizer):
    """Steps along the polar factor of the gradient: all its singular values become one.

    Five Newton-Schulz iterations, as `torch.optim.Muon` makes them, lift small singular values only
    so far; here they are lifted exactly, by a singular value decomposition.

    >>> weight = torch.nn.Parameter(torch.zeros(2, 2))
    >>> weight.grad = torch.diag(torch.tensor([3.0, 1e-3]))
    >>> Polar([weight], lr=0.5).step()
    >>> weight.abs().round(decimals=4).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Take one step; what is zero to rounding stays zero."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                slope = weight.grad
                if group["momentum"]:
                    state = self.state[weight]
                    mean = state.setdefault("mean", torch.zeros_like(slope))
                    slope = mean.mul_(group["momentum"]).add_(slope)
                left, sizes, right = torch.linalg.svd(slope, full_matrices=False)
                least = sizes[:1] * max(slope.shape) * torch.finfo(slope.dtype).eps
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.sub_((left * (sizes > least)) @ right, alpha=group["lr"])
