"""The minimum of the loss over the value matrix, where that is all that is left to learn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.optimize import minimize  # type: ignore[import-untyped]
from torch import Tensor

from recallscope.learning.label_softmax import mean_outputs

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

_ROWS_AT_ONCE = 1024
_MOST_LOOKS = 5000
_FLAT = {torch.float32: 5e-4, torch.float64: 1e-6}  # shares of the gradient at zero
_HALF = math.log(2)


@dataclass(frozen=True, eq=False)
class Minimum:
    """What was found, and how one knows that it is the end.

    Attributes:
        V: the value matrix.
        loss: there, the mean over samples.
        slope: the norm of the gradient there, as a share of that at zero.
        separable: whether every label that was stored has more than half of the mass, so that it is
            the answer. The loss has no minimum then: it falls to zero as V grows, and the answers
            stay.
        looks: how often loss and gradient were computed.
    """

    V: Float[Tensor, "d m"]
    loss: float
    slope: float
    separable: bool
    looks: int

    @property
    def certified(self) -> bool:
        """Whether this is the end: everything stored is separated, or the gradient is zero."""
        return self.separable or self.slope <= _FLAT[self.V.dtype]


class _Certified(Exception):  # noqa: N818  # no error: the way out of the minimiser
    pass


def minimum(
    features: Float[Tensor, "n m"],
    label: Int64[Tensor, " n"],
    weight: Float[Tensor, " n"],
    outputs: Float[Tensor, "V d"],
) -> Minimum:
    """Minimise Σ weight (log Σ_y exp(u_y·V f) − u_label·V f) over V by L-BFGS.

    The loss is convex in V, so that the end of training does not depend on how it is reached; its
    certificate is a gradient of zero, or that all labels are right by then. Logits are made block
    by block: memory is that of the features and of V.

    >>> minimum(torch.eye(3), torch.arange(3), torch.ones(3), torch.eye(3)).separable
    True
    """
    weight = weight / weight.sum()
    stored = (outputs[label] * weight[:, None]).T @ features  # what the labels pull V towards
    # In these units logits of order one are steps of order one, of which a search makes its first.
    unit = 1 / float(features.norm(dim=1).max() * outputs.norm(dim=1).max())
    found: Minimum | None = None
    at_zero = math.nan

    def look(point: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal found, at_zero
        V = torch.from_numpy(unit * point).to(stored.dtype).view(stored.shape)
        slope, loss, surprise = -stored, 0.0, 0.0
        for start in range(0, len(features), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            hidden = features[rows] @ V.T
            mean, log_sum = mean_outputs(hidden, outputs)
            surprises = log_sum - (hidden * outputs[label[rows]]).sum(dim=1)
            loss += float(weight[rows] @ surprises)
            surprise = max(surprise, float(surprises.max()))
            slope += (mean * weight[rows, None]).T @ features[rows]
        norm = float(slope.norm())
        if found is None:
            at_zero = norm or 1.0
        found = Minimum(
            V=V,
            loss=loss,
            slope=norm / at_zero,
            separable=surprise < _HALF,
            looks=1 if found is None else found.looks + 1,
        )
        if found.certified:
            raise _Certified
        return loss, unit * slope.double().flatten().numpy()

    limits = {"maxiter": _MOST_LOOKS, "maxfun": _MOST_LOOKS, "maxcor": 20, "ftol": 0.0, "gtol": 0.0}
    try:
        end = minimize(look, np.zeros(stored.numel()), jac=True, method="L-BFGS-B", options=limits)
        look(end.x)  # the last look was not always the best
    except _Certified:
        pass
    assert found is not None
    return found
