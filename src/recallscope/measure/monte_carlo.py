"""Monte Carlo: each noise of the theory measured separately, on the same problem.

A closed form and its simulation take the same problem and give the same variance. The simulation
draws an instance, and computes logits and scores densely from their definitions. It separates the
noises by drawing again only what one noise comes from:

- distractors drawn twice for the same marked tokens: what differs is gradient noise;
- hidden weights drawn twice: what differs is MLP noise, what stays is the infinitely wide MLP;
- the overlaps of tokens, their mean and the trigger: noises along these are found by regression.

Only embeddings, task and activations are code of the engines or the theory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from recallscope.common.shapes import Float, Int64
from recallscope.model.activations import activation_of
from recallscope.model.family import draw_hidden_weights
from recallscope.model.instance import Instance
from recallscope.problem.problem import Problem

Term = tuple[str, str]
"""A stage and the name of one of its noises, or of its signal."""


def measure(problem: Problem, seed: int) -> dict[Term, float]:
    """The variance of each noise in one instance, in units of the squared signal of its stage.

    Attention is in units of 1/(V L²) instead and has the signal too, the squared score of the
    trigger. With the trigger in the values it also has memorisation, the rest of the signal.

    >>> variances = measure(Problem(vocab=64, samples=512, dim=16, length=4), seed=0)
    >>> variances["recall", "sampling"] > 0
    True
    """
    draws = _draws(problem, seed)
    return _of_recall(draws) | _of_first_gradient(draws) | _of_attention(draws)


class _Draw(NamedTuple):
    """An instance with its labels renamed after their tokens, and one batch."""

    problem: Problem
    tokens: Float[Tensor, "V d"]
    outputs: Float[Tensor, "V d"]  # of the label of each token
    centred: Float[Tensor, "V d"]
    trigger: Float[Tensor, " d"]
    hidden: Float[Tensor, "m d"] | None
    sequence: Int64[Tensor, "N L"]
    position: Int64[Tensor, " N"]
    marked: Int64[Tensor, " N"]  # the marked token of each sample
    token_means: Float[Tensor, "N d"]  # of each sequence

    @property
    def counts(self) -> Float[Tensor, " V"]:
        """How often each fact was seen, over the mean."""
        seen = torch.bincount(self.marked, minlength=self.problem.vocab).double()
        return seen / seen.mean()

    def features(self, reads: Float[Tensor, "n d"]) -> Float[Tensor, "n m"]:
        if self.hidden is None:
            return reads
        inputs = reads @ self.hidden.T
        values: Float[Tensor, "n m"] = activation_of(self.problem).value(inputs)
        normal: Float[Tensor, "n m"] = values / len(self.hidden) ** 0.5
        return normal

    @property
    def means(self) -> Float[Tensor, "N d"]:
        """h, what uniform attention reads."""
        if self.problem.trigger_in_values:
            return self.token_means + self.trigger / self.problem.length
        return self.token_means


def _draws(problem: Problem, seed: int) -> list[_Draw]:
    """Two draws of the distractors by two of the hidden weights: AA, BA, AB, BB."""
    instance = Instance.make(problem, seed)
    batches = [instance.task.draw(0, int(problem.samples), split) for split in ("train", "test")]
    sequences = [torch.from_numpy(batch.tokens).long() for batch in batches]
    position = torch.from_numpy(batches[0].position).long()
    rows = torch.arange(len(position))
    marked = sequences[0][rows, position]
    sequences[1][rows, position] = marked
    hidden = [instance.hidden_weights]
    if problem.width is not None:
        other = draw_hidden_weights(problem.width, problem.dim, seed + 2**40)
        hidden.append(torch.from_numpy(other))
    means = [
        torch.cat([instance.tokens[part].mean(dim=1) for part in torch.split(sequence, 256)])
        for sequence in sequences
    ]
    return [
        _Draw(
            problem=problem,
            tokens=instance.tokens,
            outputs=instance.outputs[instance.labels],
            centred=instance.centred_outputs[instance.labels],
            trigger=instance.trigger,
            hidden=weights,
            sequence=sequence,
            position=position,
            marked=marked,
            token_means=mean,
        )
        for weights in (hidden[0], hidden[-1])
        for sequence, mean in zip(sequences, means, strict=True)
    ]


def _wrong(values: Float[Tensor, "V V"]) -> Float[Tensor, " pairs"]:
    """The entries of wrong labels."""
    return values[~torch.eye(len(values), dtype=torch.bool)]


def _product(a: Float[Tensor, "V V"], b: Float[Tensor, "V V"]) -> float:
    return float((_wrong(a) * _wrong(b)).mean())


def _of_recall(draws: list[_Draw]) -> dict[Term, float]:
    """The third step when every sample is read at its trigger: only label counts matter."""
    one, two = draws[0], draws[2]
    gram = one.outputs @ one.centred.T
    items = [_items(draw) for draw in (one, two)]
    signal = sum(item.signal for item in items) / 2
    counts = one.counts

    def logits(kernel: Float[Tensor, "V V"]) -> Float[Tensor, "V V"]:
        """Logits of every label (rows) for every token asked (columns), without its own item."""
        stored = kernel * counts[:, None]
        return gram @ (stored - torch.diag(stored.diagonal()))

    linear = logits(items[0].linear + items[1].linear) / 2
    rest = [logits(item.rest) for item in items]
    bias = [logits(item.mean.expand_as(item.rest)) for item in items]
    shared = sum(float(item.mean.mean()) for item in items) / 2
    variances = {
        "interference": _product(linear, linear),
        "kernel_interference": _product(*rest),
        "mlp_noise": _product(rest[0] - rest[1], rest[0] - rest[1]) / 2,
        "mean_bias": _product(*bias),
        "sampling": float(counts.var()) * (signal + shared) ** 2,
    }
    return {("recall", name): variance / signal**2 for name, variance in variances.items()}


class _Items(NamedTuple):
    """The kernel of stored token (rows) and asked token (columns), taken apart."""

    signal: float
    mean: Float[Tensor, " V"]  # what an asked token has in common with all
    linear: Float[Tensor, "V V"]
    rest: Float[Tensor, "V V"]


def _items(draw: _Draw) -> _Items:
    marked = draw.problem.trigger_in_values
    reads = draw.tokens + draw.trigger if marked else draw.tokens
    features = draw.features(reads)
    kernel = features @ features.T
    own = kernel.diagonal().clone()
    others = _others_mean(kernel)
    regressors = [draw.tokens @ draw.tokens.T]
    if marked:
        regressors.append((draw.tokens @ draw.trigger)[:, None].expand_as(kernel))
    columns = torch.stack([_wrong(r - _others_mean(r)) for r in regressors], dim=1)
    slopes = torch.linalg.lstsq(columns, _wrong(kernel - others)[:, None]).solution[:, 0]
    linear = torch.zeros_like(kernel)
    linear[~torch.eye(len(kernel), dtype=torch.bool)] = columns @ slopes
    return _Items(float((own - others).mean()), others, linear, kernel - others - linear)


def _others_mean(kernel: Float[Tensor, "V V"]) -> Float[Tensor, " V"]:
    """The mean of each column, its diagonal left out."""
    return (kernel.sum(dim=0) - kernel.diagonal()) / (len(kernel) - 1)


def _of_first_gradient(draws: list[_Draw]) -> dict[Term, float]:
    """The first gradient, asked for bare tokens."""
    vocab = draws[0].problem.vocab
    gram = draws[0].outputs @ draws[0].centred.T
    counts = draws[0].counts
    logits, biases, signals, means = [], [], [], []
    for draw in draws:
        kernel = draw.features(draw.means) @ draw.features(draw.tokens).T  # N×V
        mean = kernel.mean(dim=0)
        stored = torch.zeros(vocab, vocab, dtype=kernel.dtype)
        stored.index_add_(0, draw.marked, kernel - mean)
        stored /= len(kernel) / vocab
        signals.append(float(stored.diagonal().sum() / counts.sum()))
        means.append(float(mean.mean()))
        stored.fill_diagonal_(0)
        logits.append(gram @ stored)
        share = counts[:, None].expand(vocab, vocab).clone()
        biases.append(gram @ share.fill_diagonal_(0) * mean)
    signal, shared = sum(signals) / 4, sum(means) / 4
    first, redrawn, narrow, narrow_redrawn = logits
    variances = {
        "interference": (_product(first, narrow_redrawn) + _product(redrawn, narrow)) / 2,
        "gradient_noise": _product(first - redrawn, narrow - narrow_redrawn) / 2,
        "mlp_noise": _product(first - narrow, first - narrow) / 2,
        "mean_bias": _product(biases[0], biases[3]),
        "sampling": float(counts.var()) * (signal + shared) ** 2,
    }
    return {("first_gradient", name): variance / signal**2 for name, variance in variances.items()}


def _of_attention(draws: list[_Draw]) -> dict[Term, float]:
    """The scores of attention after the second step."""
    one, two = draws[0], draws[2]
    problem = one.problem
    along_trigger = one.tokens @ one.trigger
    overlap = one.tokens @ one.tokens.T
    # Where the mean token pulls: (K² − K) 1 for the matrix K of overlaps.
    along_mean = overlap @ overlap.sum(dim=1) - overlap.sum(dim=1)
    along = [direction - direction.mean() for direction in (along_trigger, along_mean)]

    def apart(scores: Float[Tensor, " V"]) -> tuple[list[Tensor], Float[Tensor, " V"]]:
        """Return the parts along the trigger, along the mean token, and the rest."""
        rest, parts = scores - scores.mean(), []
        for direction in along:
            parts.append(direction * (direction @ rest) / (direction @ direction))
            rest = rest - parts[-1]
        return parts, rest

    (scores, bonus), (other_scores, other_bonus) = _scores(one), _scores(two)
    (parts, rest), (other_parts, other_rest) = apart(scores), apart(other_scores)
    # Noise leans to either direction by chance, a part in V of its variance.
    common = float((rest * other_rest).sum() / (len(rest) - 3))
    cross, pull = (
        float((part * other).mean()) - common / len(rest)
        for part, other in zip(parts, other_parts, strict=True)
    )
    signal = (bonus + other_bonus) / 2
    quantities = {
        "gradient_noise": common,
        "mlp_noise": float((scores - other_scores).var() / 2),
        "mean_bias": pull,
        "cross_talk": cross,
        "trigger": bonus * other_bonus,
        "signal": signal,
    }
    if problem.trigger_in_values:
        without = replace(problem, trigger_in_values=False)
        bare = [_scores(draw._replace(problem=without))[1] for draw in (one, two)]
        quantities["signal"] = sum(bare) / 2
        quantities["memorisation"] = signal - quantities["signal"]
    return {("attention", name): value for name, value in quantities.items()}


def _scores(draw: _Draw) -> tuple[Float[Tensor, " V"], float]:
    """z·α of every token and t·α, in units of 1/(V L²), from the definition of the gradient."""
    problem = draw.problem
    means = draw.means
    features = draw.features(means)
    memory = draw.centred[draw.marked].T @ features / len(features)  # V1, d×m
    if draw.hidden is None:
        gradient = draw.centred[draw.marked] @ memory
    else:
        inputs = means @ draw.hidden.T
        slopes = activation_of(problem).slope(inputs) / len(draw.hidden) ** 0.5
        gradient = (slopes * (draw.centred[draw.marked] @ memory)) @ draw.hidden
    scores = (gradient @ draw.tokens.T).gather(1, draw.sequence)
    if problem.trigger_in_values:
        scores.scatter_add_(1, draw.position[:, None], (gradient @ draw.trigger)[:, None])
    scores = scores - (gradient * means).sum(dim=1, keepdim=True)
    weight = torch.zeros(problem.vocab, dtype=scores.dtype)
    weight.index_add_(0, draw.sequence.reshape(-1), scores.reshape(-1))
    on_trigger = scores.gather(1, draw.position[:, None]).sum()
    unit = problem.vocab * problem.length / problem.samples
    alpha = (weight @ draw.tokens + on_trigger * draw.trigger) * unit
    return draw.tokens @ alpha, float(alpha @ draw.trigger)
