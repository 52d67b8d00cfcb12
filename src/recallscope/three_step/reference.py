"""The paper's system in plain PyTorch, from the task to the recall; it judges all faster code.

A sequence has L of V tokens. A trigger marks one of them; the model is to answer with its label.
Embeddings and MLP are random and frozen. Only W_KQ and W_V learn, from zero, in three gradient
steps on one batch of N samples: the value matrix, the attention, and the value matrix again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot


class Frozen(NamedTuple):
    """The frozen weights."""

    z: Tensor  # V×d: the embedding of each token
    u: Tensor  # V×d: the embedding of each label
    z_trig: Tensor  # d: added to the key of the marked token
    z_EOS: Tensor  # d: the end of the sequence, from which attention looks
    v_trig: Tensor | float = 0.0  # added to the value of the marked token
    W_in: Tensor | None = None  # m×d: the MLP's first matrix; None for attention alone
    phi: Callable[[Tensor], Tensor] = torch.relu  # its activation


class Batch(NamedTuple):
    """N samples."""

    x: Tensor  # N×L: the tokens
    i: Tensor  # N: which of them is marked
    y: Tensor  # N: the label of that token


class Weights(NamedTuple):
    """The trained weights; both begin at zero."""

    W_KQ: Tensor  # d×d
    W_V: Tensor  # d×m, or d×d for attention alone


def scores(frozen: Frozen, batch: Batch, W_KQ: Tensor) -> Tensor:
    """The attention score of every position: its key, times W_KQ, times the query."""
    mark = one_hot(batch.i, batch.x.shape[1]).to(frozen.z)
    keys = frozen.z[batch.x] + mark[:, :, None] * frozen.z_trig
    return keys @ (W_KQ @ frozen.z_EOS)


def logits(frozen: Frozen, batch: Batch, attention: Tensor, W_V: Tensor) -> Tensor:
    """The score of every label: values are averaged, pass the MLP and W_V, and meet each u."""
    mark = one_hot(batch.i, batch.x.shape[1]).to(frozen.z)
    values = frozen.z[batch.x] + mark[:, :, None] * frozen.v_trig
    read = torch.einsum("nl,nld->nd", attention, values)
    hidden = read if frozen.W_in is None else frozen.phi(read @ frozen.W_in.T)
    return hidden @ W_V.T @ frozen.u.T


def argmax(scores: Tensor) -> Tensor:
    """Attention to the highest score alone, as softmax has it of infinitely large scores."""
    return one_hot(scores.argmax(dim=1), scores.shape[1]).to(scores)


def tangent(logits: Tensor, y: Tensor) -> Tensor:
    """The cross-entropy of infinitely small logits: its tangent at zero, where all labels tie."""
    return (logits.mean(dim=1) - logits.gather(1, y[:, None])[:, 0]).mean()


def three_steps(
    frozen: Frozen, batch: Batch, eta: float = 0.0, gamma: float = math.inf
) -> tuple[Weights, Weights]:
    """The weights after the first step and after the third, of sizes η, γ and γ.

    By default in the limit η → 0, γ → ∞, where only directions are left: the loss is its tangent,
    attention is argmax in the third step, and what a step is added to no longer counts.
    """
    limit = eta == 0.0
    loss = tangent if limit else cross_entropy
    d, m = frozen.z.shape[1], len(frozen.z.T if frozen.W_in is None else frozen.W_in)
    W_KQ = frozen.z.new_zeros(d, d, requires_grad=True)
    W_V = frozen.z.new_zeros(d, m, requires_grad=True)

    def descent(weight: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        """Minus the gradient of the loss at the weights that there are."""
        attention = attend(scores(frozen, batch, W_KQ))
        error = loss(logits(frozen, batch, attention, W_V), batch.y)
        return -torch.autograd.grad(error, weight)[0]

    def moved(weight: Tensor, change: Tensor, size: float) -> Tensor:
        return (change if limit else weight + size * change).detach().requires_grad_()

    softmax = torch.nn.Softmax(dim=1)
    W_V = moved(W_V, descent(W_V, softmax), eta)
    first = Weights(W_KQ, W_V)
    W_KQ = moved(W_KQ, descent(W_KQ, softmax), gamma)
    W_V = moved(W_V, descent(W_V, argmax if limit else softmax), gamma)
    return first, Weights(W_KQ, W_V)


def tested(frozen: Frozen, fresh: Batch, weights: Weights, limit: bool) -> tuple[float, float]:
    """How often attention is highest at the marked token, and how often the answer is right."""
    score = scores(frozen, fresh, weights.W_KQ)
    attention = argmax(score) if limit else score.softmax(dim=1)
    answer = logits(frozen, fresh, attention, weights.W_V).argmax(dim=1)
    attended, recall = score.argmax(dim=1) == fresh.i, answer == fresh.y
    return attended.double().mean().item(), recall.double().mean().item()


def draw(
    V: int, N: int, d: int, L: int, m: int | None = None, seed: int = 0
) -> tuple[Frozen, Batch, Batch]:
    """Random unit embeddings, a permutation, N samples to learn from and 4,096 fresh ones."""
    random = torch.Generator().manual_seed(seed)
    z, u = (torch.nn.functional.normalize(torch.randn(V, d, generator=random)) for _ in "zu")
    z_trig, z_EOS = torch.nn.functional.normalize(torch.randn(2, d, generator=random))
    W_in = None if m is None else torch.randn(m, d, generator=random)
    permutation = torch.randperm(V, generator=random)

    def samples(n: int) -> Batch:
        x = torch.randint(V, (n, L), generator=random)
        i = torch.randint(L, (n,), generator=random)
        return Batch(x, i, permutation[x[torch.arange(n), i]])

    return Frozen(z, u, z_trig, z_EOS, W_in=W_in), samples(N), samples(4096)
