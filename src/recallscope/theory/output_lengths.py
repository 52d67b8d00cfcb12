"""The cost of outputs of unequal length to a trained memory: short ones lie inside of long ones.

Training corrects any linear map of the outputs: lengths count after whitening. A label with an
output of length s needs a score s z above those of all rivals. As in `label_pool`, normal scores
are projected on that cone by bringing some rivals to one level t, here by least squares in z. The
cost is (z − t/s)² + Σ (z_w − t/s_w)₊², which for many rivals is near its mean. See
docs/end-of-training.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr  # type: ignore[import-untyped]

from recallscope.common.shapes import Float
from recallscope.theory.label_pool import normal_density
from recallscope.theory.output_cone import cone

_CLASSES = 32  # of rows of like length
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
_HALVINGS = 60
_FARTHEST = 40.0  # no level is further, in lengths
_SHORTEST = 1e-6


def whitened(rows: Float[np.ndarray, "V d"]) -> Float[np.ndarray, "V r"]:
    """Centred rows in the directions that they span, which have equal variance.

    >>> whitened(np.random.default_rng(0).standard_normal((64, 8))).shape
    (64, 8)
    """
    centred = rows - rows.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred)
    kept = values > max(values[-1], 0) * len(values) * np.finfo(float).eps
    return np.asarray(centred @ directions[:, kept] / np.sqrt(values[kept]))


def cost_of_lengths(lengths: Float[np.ndarray, " V"], labels: float, dim: float) -> float:
    """How many times the parameters of equal lengths so many labels of such lengths need in R^d.

    >>> lengths = np.exp(0.6 * np.random.default_rng(0).standard_normal(256))
    >>> [round(cost_of_lengths(classes, 256, 40), 1) for classes in (np.ones(256), lengths)]
    [1.0, 2.0]
    """
    wanted = (np.arange(_CLASSES) + 0.5) / _CLASSES
    scale = math.sqrt(float(np.mean(np.square(lengths)))) or 1.0
    classes = np.maximum(np.quantile(lengths, wanted) / scale, _SHORTEST)
    # The fraction of K(V) that is left in d dimensions is as for random outputs.
    left = cone(labels, dim) / float(_lacking(np.ones(1), labels)[0])
    lacking = np.minimum(left * _lacking(classes, labels), dim)
    return float(lacking.mean() / cone(labels, dim))


def _lacking(classes: np.ndarray, labels: float) -> np.ndarray:
    """For each class of lengths, how many dimensions its cone lacks among independent scores."""
    own, node = classes[:, None], _NODES[None, :]
    low = np.broadcast_to(-_FARTHEST * own, (len(classes), len(_NODES))).copy()
    high = np.full_like(low, _FARTHEST * classes.max())
    rivals_per_class = (labels - 1) / len(classes)
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        at = level[..., None] / classes
        pull = rivals_per_class * ((normal_density(at) - at * ndtr(-at)) / classes).sum(axis=-1)
        above = (level / own - node) / own > pull
        low, high = np.where(above, low, level), np.where(above, level, high)
    at = high[..., None] / classes
    rivals = rivals_per_class * ((1 + at**2) * ndtr(-at) - at * normal_density(at)).sum(axis=-1)
    cost = (node - high / own) ** 2 + rivals
    return np.asarray(cost @ (_WEIGHTS / _WEIGHTS.sum()))
