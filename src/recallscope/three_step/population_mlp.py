"""The first two steps on the population (N = ∞) with an MLP, by quadrature.

A hidden unit receives a sum of L independent numbers, one for each token. Expectations over the
other tokens are therefore integrals over one number. Its law is that of w_j · z_x / L over the V
tokens, convolved with itself by Fourier transform on a grid. Nothing is sampled; the error is that
of the grid, second order in its spacing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from recallscope.common.blocks import blocks
from recallscope.common.shapes import Complex, Float, Int64
from recallscope.model.activations import activation_of
from recallscope.model.arrays import KeyWeights, Memory
from recallscope.model.instance import Instance
from recallscope.three_step.batch import Batch
from recallscope.three_step.tree_sum import tree_sum

UNITS_AT_ONCE = 32
_POINTS_PER_DEVIATION = 16  # of one token's contribution to what a unit receives
_DEVIATIONS = 9  # of the sum over tokens, on each side
_MOST_POINTS = 2**18


def first_value(instance: Instance, batch: Batch) -> Memory:
    """V1 = mean_v q_π(v) F(v)^T with F_j(v) = E φ(what unit j receives) if v is marked."""
    outputs, value = _outputs(instance), activation_of(instance.problem).value

    def columns(units: slice) -> Float[Tensor, "d units"]:
        inputs = _Inputs.of(instance, units)
        mean = inputs.averaged(lambda points, _: value(points), instance.problem.length - 1)
        return outputs.T @ inputs.at_tokens(mean).T / instance.problem.vocab

    return torch.cat(list(_over_units(instance, batch, columns)), dim=1).to(instance.tokens.dtype)


def key_weights(instance: Instance, batch: Batch, V1: Memory) -> KeyWeights:
    """Return the weight of each key in α = E (1/L) Σ_i <v_i − h, b> k_i, the trigger's last.

    With g_v = V1^T q_π(v) and p_j what unit j receives, <v_i − h, b> is
    Σ_j g_vj φ'(p_j) (w_j·v_i − p_j).
    """
    problem = instance.problem
    outputs = _outputs(instance)

    def of_units(units: slice) -> KeyWeights:
        inputs = _Inputs.of(instance, units)
        sent_back = (outputs @ V1[:, units].double()).T
        slope, product = _slope(instance), _slope_times_input(instance)

        # The marked position itself: the other L−1 are averaged.
        others = problem.length - 1
        marked = inputs.marked * inputs.at_tokens(inputs.averaged(slope, others))
        marked = marked - inputs.at_tokens(inputs.averaged(product, others))
        marked = (sent_back * marked).sum(dim=0)

        # Any other position: L−2 are averaged and, with its weight, so is the marked one.
        weights = inputs.binned(sent_back)
        unmarked = inputs.unmarked * inputs.at_tokens(
            inputs.averaged(slope, others - 1, weights)
        ) - inputs.at_tokens(inputs.averaged(product, others - 1, weights))
        unmarked = unmarked.sum(dim=0) * others / problem.vocab

        return torch.cat([marked + unmarked, marked.sum()[None]])

    if problem.length == 1:  # nothing to choose between
        return instance.tokens.new_zeros(problem.vocab + 1, dtype=torch.float64)
    return tree_sum(_over_units(instance, batch, of_units)) / (problem.vocab * problem.length)


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Return the inputs of hidden units from each token, on a grid centred at their mean input."""

    marked: Float[Tensor, "units V"]  # w_j · v for a marked token
    unmarked: Float[Tensor, "units V"]  # w_j · v for any other
    points: Float[Tensor, "units G"]  # the inputs that the grid stands for
    spacing: Float[Tensor, "units 1"]
    cell: Int64[Tensor, "units V"]  # the grid point below each token's contribution
    beyond: Float[Tensor, "units V"]  # how far the contribution lies beyond it, in cells

    @classmethod
    def of(cls, instance: Instance, units: slice) -> _Inputs:
        problem = instance.problem
        assert instance.hidden_weights is not None
        weights = instance.hidden_weights[units].double()
        unmarked = weights @ instance.tokens.double().T
        from_trigger = (weights @ instance.trigger_value.double())[:, None]
        mean = unmarked.mean(dim=1, keepdim=True)
        shares = (unmarked - mean) / problem.length
        widest = shares.abs().amax(dim=1, keepdim=True)
        deviation = shares.std(dim=1, keepdim=True, correction=0) * math.sqrt(problem.length)
        reach = torch.minimum(problem.length * widest, _DEVIATIONS * deviation + widest)
        needed = float((widest / deviation.clamp_min(1e-300)).max()) * math.sqrt(problem.length)
        count = quadrature_points(problem.length, needed)
        spacing = 2 * (2 * widest + reach) / (count - 2)
        # Units that receive the same from every token need some grid all the same.
        spacing = torch.maximum(spacing, 1e-9 * (1 + mean.abs()))
        place = shares / spacing + count // 2
        cell = place.floor().long()
        steps = torch.arange(count, device=shares.device) - count // 2
        return cls(
            marked=unmarked + from_trigger,
            unmarked=unmarked,
            points=mean + from_trigger / problem.length + steps * spacing,
            spacing=spacing,
            cell=cell,
            beyond=place - cell,
        )

    @cached_property
    def share(self) -> Complex[Tensor, "units G/2+1"]:
        """The law of one token's contribution, transformed."""
        return self.binned(torch.full_like(self.beyond, 1 / self.beyond.shape[1]))

    def binned(self, weights: Float[Tensor, "units V"]) -> Complex[Tensor, "units G/2+1"]:
        """Weights at their tokens' contributions, each on two grid points, and transformed."""
        grid = torch.zeros_like(self.points)
        grid.scatter_add_(1, self.cell, weights * (1 - self.beyond))
        grid.scatter_add_(1, self.cell + 1, weights * self.beyond)
        transformed: Tensor = torch.fft.rfft(torch.fft.ifftshift(grid, dim=1))
        return transformed

    def averaged(
        self,
        function: Callable[[Float[Tensor, "units G"], Float[Tensor, "units 1"]], Tensor],
        tokens: int,
        weights: Complex[Tensor, "units G/2+1"] | None = None,
    ) -> Float[Tensor, "units G"]:
        """E function(input + the contributions of so many tokens), at every point of the grid.

        With weights, also summed over the token that each of them belongs to.
        """
        law = self.share**tokens if weights is None else self.share**tokens * weights
        values = torch.fft.rfft(function(self.points, self.spacing))
        mean: Tensor = torch.fft.irfft(values * law.conj(), n=self.points.shape[1])
        return mean

    def at_tokens(self, grid: Float[Tensor, "units G"]) -> Float[Tensor, "units V"]:
        """A function on the grid, read at the contributions of all tokens."""
        return torch.lerp(grid.gather(1, self.cell), grid.gather(1, self.cell + 1), self.beyond)


def _outputs(instance: Instance) -> Float[Tensor, "V d"]:
    return instance.centred_outputs[instance.labels].double()


def _over_units(
    instance: Instance, batch: Batch, function: Callable[[slice], Tensor]
) -> Iterator[Float[Tensor, ...]]:
    """A function of each block of hidden units, in order."""
    every = list(blocks(instance.problem.hidden, UNITS_AT_ONCE))
    for units, result in zip(every, batch.threads.map(function, every), strict=True):
        yield result
        batch.advance(units.stop - units.start)


def quadrature_points(length: int, widest: float = 5.0) -> int:
    """Points of a unit's grid, if a token contributes at most so many of its deviations."""
    wanted = 2 * _POINTS_PER_DEVIATION * (3 * widest + _DEVIATIONS * math.sqrt(length))
    return min(1 << math.ceil(math.log2(wanted)), _MOST_POINTS)


def _slope(instance: Instance) -> Callable[[Tensor, Tensor], Tensor]:
    """φ' averaged over a cell of the grid: a jump between two points is no error."""
    value = activation_of(instance.problem).value
    return lambda points, spacing: (
        (value(points + spacing / 2) - value(points - spacing / 2)) / spacing
    )


def _slope_times_input(instance: Instance) -> Callable[[Tensor, Tensor], Tensor]:
    slope = _slope(instance)
    return lambda points, spacing: slope(points, spacing) * points
