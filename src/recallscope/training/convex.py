"""The minimum of the loss over the value matrix, where only this matrix learns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.optimize import minimize  # type: ignore[import-untyped]

from recallscope.common.blocks import blocks
from recallscope.model.arrays import Features, Memory, Numbers, PerSample, Table
from recallscope.three_step.label_softmax import mean_outputs

_ROWS_AT_ONCE = 1024
_MOST_LOOKS = 5000
_FLAT = {torch.float32: 5e-4, torch.float64: 1e-6}  # fractions of the gradient at zero
_HALF = math.log(2)


@dataclass(frozen=True, eq=False)
class Minimum:
    """The minimum that was found, and its certificate.

    Attributes:
        V: the value matrix.
        loss: there, the mean over samples.
        slope: the norm of the gradient there, as a fraction of that at zero.
        separable: whether every label that was stored has more than half of the mass, and so is
            the answer. The loss has no minimum then: it falls to zero as V grows, and the answers
            stay.
        certified: whether this is the end. Either all that was stored is separable, or the gradient
            is zero, to the precision of its numbers.
        looks: how often loss and gradient were computed.
    """

    V: Memory
    loss: float
    slope: float
    separable: bool
    certified: bool
    looks: int


class _Certified(Exception):  # noqa: N818  # no error: the way out of the minimiser
    pass


def minimum(features: Features, label: Numbers, weight: PerSample, outputs: Table) -> Minimum:
    """Minimise Σ weight (log Σ_y exp(u_y·V f) − u_label·V f) over V by L-BFGS.

    The loss is convex in V, so the end of training does not depend on how it is reached. Its
    certificate is a gradient of zero, or that all labels are right by then. Logits are made block
    by block: memory is that of the features and of V. Where float32 is too coarse to come to the
    end, float64 continues.

    >>> minimum(torch.eye(3), torch.arange(3), torch.ones(3), torch.eye(3)).separable
    True
    """
    dtype, flat = features.dtype, _FLAT[features.dtype]
    start = np.zeros(outputs.shape[1] * features.shape[1])
    looks = 0
    for kind in (dtype, torch.float64):
        loss = _Loss(features.to(kind), label, weight.to(kind), outputs.to(kind), flat)
        best = loss.descended(start)
        looks += best.looks
        if best.certified:
            break
        start = best.V.double().flatten().numpy() / loss.unit
    return replace(best, V=best.V.to(dtype), looks=looks)


class _Loss:
    """The loss and its gradient, which notes the last place that it was asked for."""

    def __init__(
        self, features: Features, label: Numbers, weight: PerSample, outputs: Table, flat: float
    ) -> None:
        self._features, self._label, self._outputs, self._flat = features, label, outputs, flat
        self._weight = weight / weight.sum()
        # What the labels pull V towards, and the mean guess, from which they do at zero.
        own = (outputs[label] * self._weight[:, None]).T @ features
        guess = outputs.mean(dim=0)[:, None] * (self._weight @ features)
        self._stored, self._at_zero = own, float((own - guess).norm()) or 1.0
        # Steps of order one, as searches make their first, are logits of order one in this unit.
        self.unit = 1 / float(features.norm(dim=1).max() * outputs.norm(dim=1).max())
        self._last: Minimum | None = None

    def descended(self, start: np.ndarray) -> Minimum:
        """Where L-BFGS from a point ends."""
        limits: dict[str, float] = {"maxiter": _MOST_LOOKS, "maxfun": _MOST_LOOKS, "maxcor": 20}
        limits |= {"ftol": 0.0, "gtol": 0.0}  # it ends where it is certified
        try:
            end = minimize(self._look, start, jac=True, method="L-BFGS-B", options=limits)
            self._look(end.x)  # the last look was not always the best
        except _Certified:
            pass
        assert self._last is not None
        return self._last

    def _look(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        V = torch.from_numpy(self.unit * point).to(self._stored.dtype).view(self._stored.shape)
        slope, loss, surprise = -self._stored, 0.0, 0.0
        for rows in blocks(len(self._features), _ROWS_AT_ONCE):
            features, weight = self._features[rows], self._weight[rows]
            hidden = features @ V.T
            mean, log_sum = mean_outputs(hidden, self._outputs)
            surprises = log_sum - (hidden * self._outputs[self._label[rows]]).sum(dim=1)
            loss += float(weight @ surprises)
            surprise = max(surprise, float(surprises.max()))
            slope += (mean * weight[:, None]).T @ features
        share = float(slope.norm()) / self._at_zero
        separable = surprise < _HALF
        self._last = Minimum(
            V=V,
            loss=loss,
            slope=share,
            separable=separable,
            certified=separable or share <= self._flat,
            looks=1 if self._last is None else self._last.looks + 1,
        )
        if self._last.certified:
            raise _Certified
        return loss, self.unit * slope.double().flatten().numpy()
