"""The second step on an embedding matrix: the law of the attention vector.

Scores are in units of 1/(V L²), as for random embeddings; docs/tables.md derives each term. The
vector is τ t + β: what the trigger gained, and what tokens pull attention towards. Given the table,
both are a mean and Gaussian noise. The imbalance of labels, D = Σ q over the batch, is one vector
in many terms, so it is drawn first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from recallscope.common.shapes import Float
from recallscope.theory.table_moments import Rows, TableMoments

Shares = Float[np.ndarray, " V"]

_MANY_PAIRS = 1e6  # a Poisson number of so many is a Gaussian one


class AttentionLaw(NamedTuple):
    """Means and covariances of the attention vector, given a table, N and L.

    `pairs` is how many pairs of samples have the same label, as if all facts weighed the same.
    `pull` is the token part per unit of |D|²/N, and `lengths` what unequal lengths add to it.
    `marked` and `distractors` are the standard deviations of what too frequent labels draw in, per
    unit of √(DᵀBD/N). Each token also draws attention by chance: `scattered` are these variances,
    and `along_mean` those per unit of DᵀBD/N. Distractors of the same sample add `crowded` times A³
    to the covariance.
    """

    signal: float
    signal_variance: float
    pairs: float
    pull: Float[np.ndarray, " d"]
    lengths: Float[np.ndarray, " d"]
    marked: float
    distractors: float
    scattered: Float[np.ndarray, " V"]
    along_mean: Float[np.ndarray, " V"]
    crowded: float


def attention_law(table: TableMoments, samples: float, length: int) -> AttentionLaw:
    """The attention vector after the second step: its mean and its noise."""
    V, N, L = float(table.vocab), samples, float(length)
    keep, others, per_sample = 1 - 1 / L, L - 1, V / N
    inner = max(L - 2, 0.0)
    A, B = table.covariance, table.output_covariance
    trace_a, trace_b = A.trace(), B.trace()
    square_a, square_b = np.square(A).sum(), np.square(B).sum()
    fourth = np.square(table.output_squares).mean()
    spread = np.var(table.output_squares)
    own_a = np.square(table.squares).mean() / V
    own_b = fourth / V
    # What two different facts have in common by their tokens, and by their outputs.
    apart_a, apart_b = max(square_a - own_a, 0.0), max(square_b - own_b, 0.0)
    # Two samples' tokens overlap: a marked one with a distractor, or two distractors.
    met = V * square_a * square_b - V * own_a * own_b
    met *= others * (1 - 2 / L) ** 2 * (1 + per_sample) / N + 2 * keep**2 * per_sample / N
    met += (keep * others) ** 2 / N * apart_a * apart_b
    met += others * inner / L * V * per_sample / N**2 * square_a * fourth
    # Facts overlap in tokens and in outputs: this stays in the population.
    met += 2 * (keep * (1 + per_sample)) ** 2 * apart_a * apart_b
    # Long tokens may happen to have long outputs.
    met += keep**2 * np.var(table.squares) * spread / V
    # Facts with longer rows count for more, and how often those came is chance.
    of_facts = V**2 * own_a * own_b - (trace_a * trace_b) ** 2
    met += 4 * keep**2 * max(of_facts, 0.0) / N
    unequal = V**2 * own_a * own_b / max(trace_a * trace_b, 1e-300) ** 2
    # The variance of what each token draws to itself.
    shared = L * others / N**2 * square_b * (V * table.overlaps + table.squares**2)
    read = keep * others / (N * V) * (fourth + V * square_b)
    read = read * np.maximum(table.overlaps - table.squares**2 / V, 0.0)
    itself = others * inner / N**3 * fourth * (V * table.overlaps + table.squares**2)
    twice = (keep / N) ** 2 * (2 + 4 * N / V) * fourth * table.squares**2
    if math.isinf(N):
        twice = np.zeros_like(twice)
    # Which token has the longer output is a chance of the permutation that more samples keep.
    twice = twice + (keep * (1 + per_sample) * table.squares) ** 2 * spread / V**2
    return AttentionLaw(
        signal=keep * trace_a * trace_b,
        signal_variance=float(met),
        pairs=N * (N - 1) / (2 * V * unequal) if math.isfinite(N) else math.inf,
        pull=per_sample * L * others * (A @ table.mean),
        lengths=(keep + per_sample * others) * trace_b * table.skew,
        marked=math.sqrt(per_sample * (1 + per_sample)),
        distractors=per_sample * math.sqrt(others),
        scattered=shared + read + itself + twice,
        along_mean=per_sample * L**3 / N * np.square(table.tokens @ table.mean),
        crowded=float(others**2 * inner / N * per_sample**2 * fourth),
    )


def attention_draws(
    law: AttentionLaw, table: TableMoments, length: int, draws: int, random: np.random.Generator
) -> tuple[Float[np.ndarray, " draws"], Float[np.ndarray, "draws d"]]:
    """τ and β of so many batches."""
    A, B = table.covariance, table.output_covariance
    keep, others = 1 - 1 / length, length - 1
    alike = np.full(table.vocab, 1 / math.sqrt(table.vocab))

    def normal(rows: Rows, scale: Shares = alike) -> Rows:
        """Sums of rows with normal weights: their covariance is that of the rows."""
        return (scale * random.standard_normal((draws, table.vocab))) @ rows

    imbalance = normal(table.outputs)  # D/√N
    length_of_it = np.square(imbalance).sum(axis=1)
    by_outputs = np.sqrt(np.einsum("kd,kd->k", imbalance @ B, imbalance))[:, None]  # √(DᵀBD/N)
    marked = law.marked * by_outputs * normal(table.tokens)
    distractors = law.distractors * by_outputs * normal(table.tokens)
    tokens = length_of_it[:, None] * law.pull + law.lengths
    crowd = math.sqrt(law.crowded) * normal(table.tokens)
    tokens = tokens + (others * (marked + distractors) + crowd) @ A
    tokens = tokens + normal(table.tokens, np.sqrt(law.scattered))
    tokens = tokens + by_outputs * normal(table.tokens, np.sqrt(law.along_mean))
    count = np.ones(draws)
    if law.pairs < _MANY_PAIRS:
        # Only another sample of the same label shows which token of a sample is marked.
        count = random.poisson(law.pairs, draws) / max(law.pairs, 1e-300)
    signal = law.signal * count + length * ((keep * marked - distractors / length) @ table.mean)
    signal = signal + math.sqrt(law.signal_variance) * random.standard_normal(draws)
    return signal, tokens
