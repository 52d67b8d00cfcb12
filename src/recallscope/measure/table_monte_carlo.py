"""Monte Carlo of the noises on an embedding matrix, term by term.

Batches are drawn and the second step's scores worked out as they are defined. The score of a token
is linear in the sums of tokens that samples read. The part of these that is the mean vector gives
one term. Of the rest, what stays from batch to batch gives another term, and what changes a third.
The logits of a memory likewise have a part due to the mean vector. The rest is compared with that
of rows in random directions.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from recallscope.common.shapes import Float
from recallscope.measure.monte_carlo import Term
from recallscope.problem.given_embeddings import Embeddings

Rows = Float[np.ndarray, "V d"]
Vector = Float[np.ndarray, " d"]

_BATCHES, _READS = 8, 64


def measure_table(
    embeddings: Embeddings, samples: int, length: int, seed: int
) -> dict[Term, float]:
    """The terms of `theory.table_noise`, and both signals, on one table.

    >>> from recallscope.model.embeddings import draw_embeddings
    >>> from recallscope.problem.problem import Problem
    >>> problem = Problem(vocab=64, samples=256, dim=16, length=4, embedding="structured")
    >>> variances = measure_table(draw_embeddings(problem, 0), 256, 4, seed=0)
    >>> variances["recall", "sampling"] > 0
    True
    """
    random = np.random.default_rng(seed)
    tokens, outputs, trigger = (
        np.asarray(rows, dtype=np.float64)
        for rows in (embeddings.tokens, embeddings.outputs, embeddings.trigger)
    )
    outputs = outputs - outputs.mean(axis=0)
    attention = _of_attention(tokens, outputs, trigger, samples, length, random)
    return attention | _of_recall(tokens, outputs, samples, random)


def _of_attention(
    tokens: Rows, outputs: Rows, trigger: Vector, samples: int, length: int, random: Generator
) -> dict[Term, float]:
    mean = tokens.mean(axis=0)
    rows = tokens - mean
    gained, pulled, by_mean = [], [], []
    for _ in range(_BATCHES):
        sequences = random.integers(len(rows), size=(length, samples))  # the first is marked
        labels = outputs[random.permutation(len(rows))[sequences[0]]]
        total = np.zeros((samples, rows.shape[1]))
        for place in sequences:
            total += rows[place]
        unit = len(rows) / samples**2
        by_mean_vector = np.outer(labels @ labels.sum(axis=0), length * mean)
        backs = (labels @ (labels.T @ total), by_mean_vector)
        scores, vectors = zip(*(_step(rows, sequences, unit * back) for back in backs), strict=True)
        gained.append(sum(scores))
        pulled.append(vectors[0])
        by_mean.append(vectors[1])
    covariance = rows.T @ rows / len(rows)
    own = float(trigger @ trigger)
    pairs = np.array(pulled) @ covariance @ np.array(pulled).T
    stays = _between(pairs)
    return {
        ("attention", "signal"): own * float(np.mean(gained)),
        ("attention", "cross_talk"): _between(np.outer(gained, gained))
        * float(trigger @ covariance @ trigger),
        ("attention", "mean_vector"): float(np.mean([v @ covariance @ v for v in by_mean])),
        ("attention", "lengths"): stays,
        ("attention", "gradient_noise"): float(np.diag(pairs).mean()) - stays,
        ("attention", "trigger_noise"): own**2 * float(np.var(gained, ddof=1)),
    }


def _step(rows: Rows, sequences: np.ndarray, back: Rows) -> tuple[float, Vector]:
    """Return what the trigger gains, and where tokens pull, if samples read this."""
    scores = np.stack([np.einsum("nd,nd->n", rows[place], back) for place in sequences])
    scores -= scores.mean(axis=0)
    weights = np.bincount(sequences.ravel(), weights=scores.ravel(), minlength=len(rows))
    return float(scores[0].sum()), weights @ rows


def _between(products: Float[np.ndarray, "batches batches"]) -> float:
    """The mean product of two different batches: the square of their common part."""
    count = len(products)
    return float((products.sum() - np.trace(products)) / (count * (count - 1)))


def _of_recall(tokens: Rows, outputs: Rows, samples: int, random: Generator) -> dict[Term, float]:
    mean = tokens.mean(axis=0)
    rows, vocab = tokens - mean, len(tokens)
    per_fact = samples / vocab
    batches = []
    for _ in range(_BATCHES):
        counts = random.multinomial(samples, np.full(vocab, 1 / vocab)) / per_fact
        label = random.permutation(vocab)
        tokens_read = random.integers(vocab, size=_READS)
        whole = _logits(tokens, outputs, counts, label, tokens[tokens_read])
        apart = _logits(rows, outputs, counts, label, rows[tokens_read])
        columns = np.arange(_READS)
        wrong = np.ones(whole.shape, dtype=bool)
        wrong[label[tokens_read], columns] = False
        right = whole[label[tokens_read], columns].mean() - whole[wrong].mean()
        directions = [random.standard_normal(rows.shape) for _ in range(2)]
        unit_rows, unit_outputs = (
            matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in directions
        )
        alike = _logits(unit_rows, unit_outputs, counts, label, unit_rows[tokens_read])
        squares = [np.square(logits[wrong]).mean() for logits in (alike, apart, whole - apart)]
        batches.append((right, *squares, counts.var()))
    right, alike, apart, by_mean, seen = np.mean(batches, axis=0)
    return {
        ("recall", "signal"): float(right),
        ("recall", "interference"): float(right**2 * alike),
        ("recall", "spectrum"): float(apart - right**2 * alike),
        ("recall", "mean_vector"): float(by_mean),
        ("recall", "sampling"): float(right**2 * seen),
    }


def _logits(
    rows: Rows, outputs: Rows, counts: np.ndarray, label: np.ndarray, reads: Rows
) -> Float[np.ndarray, "V reads"]:
    """Logits of every label, for each read, by a memory that has seen facts so often."""
    memory = outputs[label].T @ (counts[:, None] * rows)
    logits: np.ndarray = outputs @ (memory @ reads.T)
    return logits
