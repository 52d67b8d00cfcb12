"""Decoders: guesses of the permutation from the first gradient and the frozen weights alone.

They are compared with the lower bound of `theory.lower_bound`, which none may beat.

- hebbian: the gradient is used as value matrix, as if learning stopped after the first step.
- whitened: the matched filter, the gradient against what each pair of a token and a label would
  add to it, in units of its noise.
- message passing: the matched filter again and again, each time with what the other tokens are
  thought to have added taken away.

The first two answer either with the best label of each token or, since π is a permutation, with the
best assignment of labels to tokens. The last does the latter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]
from torch import Tensor

from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Float, Int64
from recallscope.model.arrays import Memory
from recallscope.model.instance import Instance
from recallscope.problem.problem import Problem
from recallscope.three_step import counts, population, stream
from recallscope.three_step.batch import Tile
from recallscope.three_step.cost import choose_engine
from recallscope.three_step.ops import features, uniform_read
from recallscope.three_step.threads import Threads
from recallscope.three_step.three_step import fresh_batch, training_batch

DECODERS = (
    "hebbian argmax",
    "hebbian assignment",
    "whitened argmax",
    "whitened assignment",
    "message passing",
)

_SEQUENCES_PER_FEATURE = 64  # inverting a covariance from so many errs by two per cent or so
_FEWEST_SEQUENCES = 2**14
_MOST_PASSES = 60
_SETTLED = 1e-3  # of a permutation matrix's norm
_BALANCING_ROUNDS = 3
_ZERO = 1e-10  # of the largest singular value: rounding


def decoder_accuracy(
    problem: Problem, seed: int = 0, decoders: Sequence[str] = DECODERS
) -> dict[str, float]:
    """The fraction of labels that each decoder finds, in the instance of one seed.

    >>> accuracy = decoder_accuracy(Problem(vocab=64, samples=512, dim=16, length=4), seed=0)
    >>> accuracy["hebbian argmax"] < accuracy["whitened argmax"] < accuracy["message passing"]
    True
    """
    with Threads() as threads, torch.no_grad():
        instance = Instance.make(problem, seed)
        guesses = decode(instance, first_gradient(instance, threads), threads, decoders)
    return {
        name: (guess == instance.labels).double().mean().item() for name, guess in guesses.items()
    }


def first_gradient(instance: Instance, threads: Threads) -> Memory:
    """The first gradient of the value matrix, its sign turned: mean_n q_n φ(W_in h_n)^T."""
    engine = choose_engine(instance.problem.replace(regime="limit", eta=None, gamma=None))
    steps = {"stream": stream, "counts": counts, "population": population}[engine]
    gradient: Tensor = steps.first_value(instance, training_batch(instance, threads))
    return gradient.double()


def decode(
    instance: Instance, gradient: Memory, threads: Threads, decoders: Sequence[str] = DECODERS
) -> dict[str, Int64[Tensor, " V"]]:
    """The label of every token, as each decoder guesses it from the gradient.

    >>> instance = Instance.make(Problem(vocab=64, samples=4096, dim=32, length=4), seed=0)
    >>> with Threads() as threads:
    ...     guesses = decode(instance, first_gradient(instance, threads), threads)
    >>> [int((guess == instance.labels).sum()) for guess in guesses.values()]
    [49, 59, 64, 64, 64]
    """
    for decoder in decoders:
        if decoder not in DECODERS:
            raise ProblemError(f"decoder must be one of {', '.join(DECODERS)}, not {decoder!r}")
    hebbian = _hebbian_scores(instance, gradient)
    reading = _Reading.of(instance, gradient, threads)
    guesses = {
        "hebbian argmax": lambda: hebbian.argmax(dim=1),
        "hebbian assignment": lambda: best_assignment(hebbian),
        "whitened argmax": lambda: reading.scores.argmax(dim=1),
        "whitened assignment": lambda: best_assignment(reading.scores),
        "message passing": lambda: best_assignment(_message_passing_scores(reading)),
    }
    return {decoder: guesses[decoder]() for decoder in decoders}


def best_assignment(scores: Float[Tensor, "V V"]) -> Int64[Tensor, " V"]:
    """The permutation of highest total score, with tokens as rows.

    >>> best_assignment(torch.tensor([[3.0, 2.0], [2.0, 0.0]])).tolist()
    [1, 0]
    """
    _, labels = linear_sum_assignment(scores.cpu().numpy(), maximize=True)
    return torch.from_numpy(labels).to(scores.device)


def feature_signals(instance: Instance, threads: Threads) -> Float[Tensor, " directions"]:
    """The signal-to-noise of one sample in each direction of the features, largest first.

    1/(L−1) in all of them for attention alone, which is the most there can be. With an MLP the
    noise is estimated from fresh sequences. The inverse of an estimate makes the signal a little
    too strong, and a bound that uses it a little too low.

    >>> instance = Instance.make(Problem(vocab=64, samples=1, dim=8, length=5), seed=0)
    >>> with Threads() as threads:
    ...     [round(signal, 6) for signal in feature_signals(instance, threads).tolist()]
    [0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25]
    """
    second, mean = _feature_moments(instance, threads)
    root = _inverse_root(second - torch.outer(mean, mean))
    signal = _centred_mean_features(instance, threads) @ root
    share: Tensor = torch.linalg.svdvals(signal)[: instance.problem.vocab - 1] ** 2
    share = share / instance.problem.vocab
    share = share.clamp(max=1 / instance.problem.length)  # which only an estimate can exceed
    return share / (1 - share)


@dataclass(frozen=True, eq=False)
class _Reading:
    """The gradient in coordinates with independent noise of equal variance.

    The decoder sees gains · A^T P B plus noise, with the permutation P as a matrix of tokens by
    labels, and A and B orthonormal. A pair (v, y) adds (E[f | v] − E f) q_y^T / V to the gradient,
    with f the features of a sequence. Counts of labels follow a Poisson law and the decoder does
    not see them. So the noise has the covariance E[f f^T] ⊗ Q^T Q / (N V), a second moment about 0.
    """

    tokens: Float[Tensor, "V k"]
    labels: Float[Tensor, "V r"]
    gains: Float[Tensor, "k 1"]
    seen: Float[Tensor, "k r"]
    noise: float

    @classmethod
    def of(cls, instance: Instance, gradient: Memory, threads: Threads) -> _Reading:
        root = _inverse_root(_feature_moments(instance, threads)[0])
        tokens, gains, directions = _thin_svd(_centred_mean_features(instance, threads) @ root)
        labels, sizes, axes = _thin_svd(instance.centred_outputs.double())
        return cls(
            tokens=tokens,
            labels=labels,
            gains=gains[:, None],
            seen=instance.problem.vocab * (root @ directions).T @ gradient.T @ (axes / sizes),
            noise=instance.problem.vocab / instance.problem.samples,
        )

    @property
    def scores(self) -> Float[Tensor, "V V"]:
        """The matched filter at every pair of a token and a label."""
        return self.tokens @ (self.gains * self.seen) @ self.labels.T


def _hebbian_scores(instance: Instance, gradient: Memory) -> Float[Tensor, "V V"]:
    read = features(instance, instance.tokens).double()
    return read @ gradient.T @ instance.centred_outputs.double().T


def _message_passing_scores(reading: _Reading) -> Float[Tensor, "V V"]:
    """Orthogonal approximate message passing for a permutation seen in few dimensions.

    Each pass first estimates P by a linear filter of what the last estimate leaves unexplained,
    scaled to pass P itself unchanged. Then it takes the posterior mean as if the filter's error
    were Gaussian. What of the posterior mean merely repeats the filter's output is taken out, or
    the errors of successive passes would add up.
    """
    vocab, power = len(reading.tokens), reading.gains**2
    estimate = reading.scores.new_zeros(vocab, vocab)
    for _ in range(_MOST_PASSES):
        left = reading.seen - reading.gains * (reading.tokens.T @ estimate @ reading.labels)
        error = float((left**2 - reading.noise).sum() / (power.sum() * left.shape[1]))
        error = max(error, 1e-12)
        filtered = error * reading.gains / (error * power + reading.noise)
        passed = float((filtered * reading.gains).sum()) * left.shape[1] / vocab**2
        scores = estimate + reading.tokens @ (filtered * left) @ reading.labels.T / passed
        variance = error * (1 / passed - 1) + 1e-12
        posterior = _balanced(scores / variance)
        repeats = float((posterior * (1 - posterior)).mean()) / variance
        updated = (posterior - repeats * scores) / (1 - repeats) if repeats < 1 else posterior
        change = float((updated - estimate).norm()) / vocab**0.5
        estimate = updated
        if change < _SETTLED:
            break
    return scores


def _balanced(logits: Float[Tensor, "V V"]) -> Float[Tensor, "V V"]:
    """Probabilities of pairs, nearly summing to 1 over the labels and over the tokens."""
    for _ in range(_BALANCING_ROUNDS):
        logits = logits - logits.logsumexp(dim=1, keepdim=True)
        logits = logits - logits.logsumexp(dim=0, keepdim=True)
    return logits.exp()


def _centred_mean_features(instance: Instance, threads: Threads) -> Float[Tensor, "V m"]:
    """E[f | x_ℓ = v] − E f for every token v."""
    if instance.hidden_weights is None:
        tokens = instance.tokens.double()
        return (tokens - tokens.mean(dim=0)) / instance.problem.length
    # With one-hot outputs the mean gradient is nothing but the table of these, a row per label.
    one_hot = torch.eye(
        instance.problem.vocab, dtype=instance.tokens.dtype, device=instance.tokens.device
    )
    bare = dataclasses.replace(instance, outputs=one_hot)
    table = population.first_value(bare, training_batch(bare, threads))
    return table.double()[instance.labels] * instance.problem.vocab


def _feature_moments(
    instance: Instance, threads: Threads
) -> tuple[Float[Tensor, "m m"], Float[Tensor, " m"]]:
    """E[f f^T] and E f: exact for attention alone, from fresh sequences with an MLP."""
    problem = instance.problem
    if instance.hidden_weights is None:
        tokens = instance.tokens.double()
        mean = tokens.mean(dim=0) + instance.trigger_value.double() / problem.length
        centred = tokens - tokens.mean(dim=0)
        return torch.outer(mean, mean) + centred.T @ centred / problem.vocab / problem.length, mean
    sequences = max(_SEQUENCES_PER_FEATURE * problem.hidden, _FEWEST_SEQUENCES)
    moments = fresh_batch(instance, threads, sequences).mean(partial(_moments_of_tile, instance))
    return moments[:-1], moments[-1]


def _moments_of_tile(instance: Instance, tile: Tile) -> Float[Tensor, "m+1 m"]:
    read = features(instance, uniform_read(instance, tile))
    return torch.cat([read.T @ read, read.sum(dim=0, keepdim=True)])


def _inverse_root(covariance: Float[Tensor, "m m"]) -> Float[Tensor, "m m"]:
    """The symmetric pseudo-inverse of the square root."""
    sizes, axes = torch.linalg.eigh(covariance)
    kept = sizes > _ZERO * sizes.max()
    root: Tensor = axes[:, kept] / sizes[kept].sqrt() @ axes[:, kept].T
    return root


def _thin_svd(
    matrix: Float[Tensor, "V m"],
) -> tuple[Float[Tensor, "V k"], Float[Tensor, " k"], Float[Tensor, "m k"]]:
    """The singular vectors and values that are not zero."""
    left, sizes, right = torch.linalg.svd(matrix, full_matrices=False)
    kept = sizes > _ZERO * sizes.max()
    return left[:, kept], sizes[kept], right[kept].T
