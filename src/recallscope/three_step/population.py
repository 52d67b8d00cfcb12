"""The limit of three-step learning on the population, N = ∞: expectations instead of sums.

Attention alone is exact, in closed form. With an MLP the first two steps are integrals over what a
hidden unit receives, taken by quadrature. The third depends on the scores of the tokens alone, and
is exact for both. No sample is drawn: the batch is there for its threads and its progress.
"""

from __future__ import annotations

import torch

from recallscope.model.arrays import Memory, Vector
from recallscope.model.instance import Instance
from recallscope.three_step import population_mlp
from recallscope.three_step.attention_gradient import attention_vector
from recallscope.three_step.batch import Batch
from recallscope.three_step.memory import store
from recallscope.three_step.ops import key_scores


def first_value(instance: Instance, batch: Batch) -> Memory:
    """V1 = E q φ(W_in h)^T; for attention alone Σ_v p_v q_π(v) (z_v + t' + (L−1) z̄)^T / L.

    Marked tokens have probabilities p; z̄ is the mean of the others. Where all facts are seen
    equally often, Σ q vanishes and (1/LV) Σ_v q_π(v) z_v^T is left.
    """
    if instance.hidden_weights is not None:
        return population_mlp.first_value(instance, batch)
    problem = instance.problem
    outputs = instance.centred_outputs[instance.labels]
    if instance.frequencies is not None:
        marked, others = _probabilities(instance)
        reads = instance.tokens + instance.trigger_value
        reads = (reads + (problem.length - 1) * (others @ instance.tokens)) / problem.length
        return store(instance, batch.threads, outputs * marked[:, None], reads).to(reads.dtype)
    total = store(instance, batch.threads, outputs, instance.tokens)
    return (total / (problem.length * problem.vocab)).to(instance.tokens.dtype)


def attention(instance: Instance, batch: Batch, V1: Memory) -> Vector:
    """α = E (1/L) Σ_i <v_i − h, b> k_i.

    For attention alone b depends on the marked token v alone and averages to 0 over v, so only
    these terms survive, with the factor (L−1)/L² and means over v and over the tokens z:
    mean_v <z_v + t' − z̄, b_v> (z_v + t) − mean_v <z_v, b_v> z̄, where t' is the trigger if it is
    in the values, else 0. `_unequal_attention` has the other terms too.
    """
    if instance.hidden_weights is not None:
        weights = population_mlp.key_weights(instance, batch, V1)
        return attention_vector(instance, weights)
    if instance.frequencies is not None:
        return _unequal_attention(instance, V1)
    problem, tokens = instance.problem, instance.tokens
    average = tokens.mean(dim=0)
    back = instance.centred_outputs[instance.labels] @ V1
    marked = ((tokens + instance.trigger_value - average) * back).sum(dim=1)
    unmarked = (tokens * back).sum(dim=1).mean()
    alpha = marked @ tokens / problem.vocab + marked.mean() * instance.trigger - unmarked * average
    return alpha * (problem.length - 1) / problem.length**2


def _unequal_attention(instance: Instance, V1: Memory) -> Vector:
    """α = (L−1)/L² [Σ_v p_v <z_v + t' − z̄, b_v> (z_v + t) + (L−1) Σ_w r_w <z_w, B> z_w − c z̄].

    Marked tokens have probabilities p and the others r, z̄ = Σ r z. B = Σ p b no longer vanishes,
    and c = Σ_v p_v <z_v + t', b_v> + (L−2) <z̄, B>.
    """
    problem, tokens = instance.problem, instance.tokens
    marked, others = _probabilities(instance)
    average, reads = others @ tokens, tokens + instance.trigger_value
    back = instance.centred_outputs[instance.labels] @ V1
    mean_back = marked @ back
    pull = marked * ((reads - average) * back).sum(dim=1)
    alpha = pull @ tokens + pull.sum() * instance.trigger
    alpha += (problem.length - 1) * ((others * (tokens @ mean_back)) @ tokens)
    kept = marked @ (reads * back).sum(dim=1) + (problem.length - 2) * (average @ mean_back)
    return (alpha - kept * average) * (problem.length - 1) / problem.length**2


def _probabilities(instance: Instance) -> tuple[Vector, Vector]:
    """How often each token is the marked one, and how often it is one of the others."""
    assert instance.frequencies is not None
    marked = instance.frequencies.to(instance.tokens.dtype)
    uniform = torch.full_like(marked, 1 / len(marked))
    return marked, marked if instance.problem["distractor_frequencies"] == "same" else uniform


def second_value(instance: Instance, batch: Batch, V1: Memory, alpha: Vector) -> Memory:
    """V2 = E q φ(W_in v_j)^T, from the probability that each token wins the attention.

    Order the tokens by score. The highest of L−1 others is token w with probability
    gap_w = ((r+1)/V)^(L−1) − (r/V)^(L−1), r its rank; the marked token loses to it if w scores
    more than the marked token with its bonus. Of unequal tokens, r/V is how often those below w
    are drawn.
    """
    problem = instance.problem
    scores, bonus = key_scores(instance, alpha)
    order = scores.argsort()
    ranked = scores[order]
    rank = torch.arange(problem.vocab + 1, dtype=torch.float64, device=scores.device)
    drawn, weight = rank / problem.vocab, torch.full_like(scores, 1 / problem.vocab)
    if instance.frequencies is not None:
        weight, others = _probabilities(instance)
        drawn[1:] = others.double()[order].cumsum(dim=0)
    below = drawn ** (problem.length - 1)  # P(all others rank below r)
    gap = below.diff().to(scores.dtype)
    beaten = torch.searchsorted(ranked, scores + bonus, right=True)  # tokens that do not win
    attended = below[beaten].to(scores.dtype)

    outputs = instance.centred_outputs[instance.labels] * weight[:, None]
    right = store(
        instance,
        batch.threads,
        outputs * attended[:, None],
        instance.tokens + instance.trigger_value,
    )
    # Token of rank r is attended to for every marked token that it beats: a cumulative sum.
    sums = outputs.new_zeros(problem.vocab + 1, problem.dim)
    sums.index_add_(0, beaten, outputs)
    beaten_outputs = sums.cumsum(dim=0)[:-1] * gap[:, None]
    mistaken = store(instance, batch.threads, beaten_outputs, instance.tokens[order])
    return (right + mistaken).to(V1.dtype)
