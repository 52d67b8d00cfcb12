"""The limit of three-step learning on the population, N = ∞: expectations instead of sums.

Attention alone is exact, in closed form. With an MLP the first two steps are integrals over what a
hidden unit receives, taken by quadrature. The third depends on the scores of the tokens alone, and
is exact for both. No sample is drawn: the batch is there for its threads and its progress.
"""

from __future__ import annotations

import torch

from recallscope.learning import population_mlp
from recallscope.learning.attention_gradient import attention_vector
from recallscope.learning.batch import Batch
from recallscope.learning.memory import store
from recallscope.learning.ops import key_scores
from recallscope.models.arrays import Memory, Vector
from recallscope.models.instance import Instance


def first_value(instance: Instance, batch: Batch) -> Memory:
    """V1 = E q φ(W_in h)^T; for attention alone (1/LV) Σ_v q_π(v) z_v^T, as Σ q vanishes."""
    if instance.hidden_weights is not None:
        return population_mlp.first_value(instance, batch)
    problem = instance.problem
    total = store(
        instance, batch.threads, instance.centred_outputs[instance.labels], instance.tokens
    )
    return (total / (problem.length * problem.vocab)).to(instance.tokens.dtype)


def attention(instance: Instance, batch: Batch, V1: Memory) -> Vector:
    """α = E (1/L) Σ_i <v_i − h, b> k_i.

    For attention alone b depends on the marked token v alone and averages to 0 over v. Only these
    terms survive, with the factor (L−1)/L² and means over v and over the tokens z: mean_v <z_v + t'
    − z̄, b_v> (z_v + t) − mean_v <z_v, b_v> z̄, where t' is the trigger if it is in the values,
    else 0.
    """
    if instance.hidden_weights is not None:
        weights = population_mlp.key_weights(instance, batch, V1)
        return attention_vector(instance, weights)
    problem, tokens = instance.problem, instance.tokens
    average = tokens.mean(dim=0)
    back = instance.centred_outputs[instance.labels] @ V1
    marked = ((tokens + instance.trigger_value - average) * back).sum(dim=1)
    unmarked = (tokens * back).sum(dim=1).mean()
    alpha = marked @ tokens / problem.vocab + marked.mean() * instance.trigger - unmarked * average
    return alpha * (problem.length - 1) / problem.length**2


def second_value(instance: Instance, batch: Batch, V1: Memory, alpha: Vector) -> Memory:
    """V2 = E q φ(W_in v_j)^T, from the probability that each token wins the attention.

    Order the tokens by score. The highest of L−1 others is token w with probability gap_w =
    ((r+1)/V)^(L−1) − (r/V)^(L−1), r its rank. The marked token loses if w scores more than it with
    its bonus.
    """
    problem = instance.problem
    scores, bonus = key_scores(instance, alpha)
    order = scores.argsort()
    ranked = scores[order]
    rank = torch.arange(problem.vocab + 1, dtype=torch.float64, device=scores.device)
    below = (rank / problem.vocab) ** (problem.length - 1)  # P(all others rank below r)
    gap = below.diff().to(scores.dtype)
    beaten = torch.searchsorted(ranked, scores + bonus, right=True)  # tokens that do not win
    locks = below[beaten].to(scores.dtype)

    outputs = instance.centred_outputs[instance.labels] / problem.vocab
    locked = store(
        instance, batch.threads, outputs * locks[:, None], instance.tokens + instance.trigger_value
    )
    # Token of rank r is attended to for every marked token that it beats: a cumulative sum.
    sums = outputs.new_zeros(problem.vocab + 1, problem.dim)
    sums.index_add_(0, beaten, outputs)
    beaten_outputs = sums.cumsum(dim=0)[:-1] * gap[:, None]
    mistaken = store(instance, batch.threads, beaten_outputs, instance.tokens[order])
    return (locked + mistaken).to(V1.dtype)
