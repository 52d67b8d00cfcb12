"""The noises on an embedding matrix, term by term: variances of scores and logits.

Scores of attention are in units of 1/(V L²), logits of the memory in those of a fact's mean count.
`recallscope check` measures each term; docs/tables.md derives them.
"""

from __future__ import annotations

import math

import numpy as np

from recallscope.common.shapes import Float
from recallscope.theory.table_attention import attention_law
from recallscope.theory.table_moments import TableMoments


def attention_terms(
    table: TableMoments, samples: float, length: int, trigger: Float[np.ndarray, " d"]
) -> tuple[float, dict[str, float]]:
    """The trigger's mean score, and variances of a token's, on average over tokens.

    `trigger_noise` is the variance of the trigger's score, common to all tokens.

    >>> from recallscope.theory.table_moments import table_moments
    >>> rows = np.random.default_rng(0).standard_normal((2, 256, 32)) / 32**0.5
    >>> signal, noise = attention_terms(table_moments(*rows), 1024, 8, rows[0, 0])
    >>> round(float(signal), 1), max(noise, key=noise.get)
    (0.6, 'cross_talk')
    """
    A, B = table.covariance, table.output_covariance
    law = attention_law(table, samples, length)
    others, by_outputs = length - 1, float(np.square(B).sum())
    pull = B.trace() * law.pull
    drift = others**2 * (law.marked**2 + law.distractors**2) * by_outputs
    squared = A @ A
    # The marked tokens and distractors of labels that are too frequent, along the mean.
    along = (others * law.marked) ** 2 + law.distractors**2
    along *= by_outputs * float(table.mean @ A @ table.mean)
    by_pairs = 0.0 if math.isinf(law.pairs) else law.signal**2 / max(law.pairs, 1e-300)
    own = float(trigger @ trigger)
    return law.signal * own, {
        "cross_talk": law.signal**2 * float(trigger @ A @ trigger),
        "mean_vector": float(pull @ A @ pull) + float(law.along_mean @ table.overlaps) * by_outputs,
        "lengths": float(law.lengths @ A @ law.lengths),
        "gradient_noise": float(law.scattered @ table.overlaps)
        + law.crowded * float((squared * squared).sum())
        + drift * float((squared * squared).sum()),
        "trigger_noise": own**2 * (law.signal_variance + by_pairs + along),
    }


def recall_terms(table: TableMoments, samples: float) -> tuple[float, dict[str, float]]:
    """The right label's mean logit, and variances of a wrong one's, on average over reads.

    `spectrum` is what interference is more than that of rows in random directions, `sampling` the
    variance of how often the right fact was seen.

    >>> from recallscope.theory.table_moments import table_moments
    >>> rows = np.random.default_rng(0).standard_normal((2, 256, 32)) / 32**0.5
    >>> right, noise = recall_terms(table_moments(*rows), 1024)
    >>> round(right, 1), max(noise, key=noise.get)
    (1.0, 'interference')
    """
    A, B = table.covariance, table.output_covariance
    V, N, d = table.vocab, samples, table.dim
    rows = table.tokens + table.mean
    along = rows @ table.mean
    by_outputs = float(np.square(B).sum())
    right = float(np.mean(np.square(rows).sum(axis=1) - along) * B.trace())
    per_overlap = V * (1 + V / N) * by_outputs
    fourths = np.mean(table.squares**2) * np.mean(table.output_squares**2)
    whole = (
        per_overlap * float(table.overlaps.mean()) - (1 + V / N) / V * fourths
    )  # not the right one
    nominal = right**2 * (1 + V / N) * (2 + V / d) / d
    return right, {
        "interference": min(nominal, whole),
        "spectrum": max(whole - nominal, 0.0),
        "mean_vector": per_overlap * float(table.mean @ A @ table.mean)
        + V / N * V * float(np.square(along).mean()) * by_outputs,
        "sampling": right**2 * V / N,
    }
