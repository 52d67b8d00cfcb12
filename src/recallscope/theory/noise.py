"""The noise budget: which noise there is at each stage, how much, and which is the bottleneck."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri  # type: ignore[import-untyped]

from recallscope.theory.accuracy import Analysis
from recallscope.theory.attention_scores import cross_talk, score_variance
from recallscope.theory.problem_arrays import Array, ProblemArrays
from recallscope.theory.readout import sampling

STAGES = ("first_gradient", "attention", "recall")

TERMS = {
    "first_gradient": (
        "interference",
        "kernel_interference",
        "gradient_noise",
        "mlp_noise",
        "mean_bias",
        "sampling",
    ),
    "attention": (
        "gradient_noise",
        "mean_bias",
        "mlp_noise",
        "cross_talk",
    ),
    "recall": (
        "interference",
        "kernel_interference",
        "mlp_noise",
        "mean_bias",
        "sampling",
    ),
}
"""The noises of each stage. `sampling` is how unevenly a batch shows the facts; it moves the right
label, the others move the wrong ones."""

POWERS = {
    "attention": {
        "gradient_noise": [
            [2, -2, -4, 3, 0],
            [2, -2, -3, 2, 0],
            [1, -1, -3, 1, 0],
            [1, -1, -4, 2, 0],
        ],
        "mean_bias": [[1, -2, -3, 4, 0]],
        "mlp_noise": [[2, -2, -2, 3, -1], [1, -2, -2, 4, -1], [2, -2, -3, 3, -1]],
        "cross_talk": [[0, 0, -1, 0, 0]],
    },
    "recall": {
        "interference": [[1, 0, -2, 0, 0], [2, -1, -2, 0, 0]],
        "kernel_interference": [[1, 0, -3, 0, 0]],
        "mlp_noise": [[1, 0, -1, 0, -1], [2, -1, -1, 0, -1]],
        "mean_bias": [[2, -1, -1, 0, 0]],
        "sampling": [[1, -1, 0, 0, 0]],
    },
}
"""Leading terms of each noise by stage, as exponents of V, N, d, L, m; see docs/theory.md."""

REMEDIES = {
    "interference": (
        "raise dim",
        "lower vocab",
    ),
    "kernel_interference": (
        "raise dim",
        "lower vocab",
    ),
    "cross_talk": (
        "raise dim",
        "lower length",
    ),
    "mlp_noise": (
        "raise width",
        "raise dim",
    ),
    "mean_bias": (
        "raise samples",
        "raise dim",
    ),
    "gradient_noise": (
        "raise samples",
        "raise dim",
        "lower length",
    ),
    "sampling": (
        "raise samples",
        "lower vocab",
    ),
}
"""Remedies for each noise, the best first."""


def budget(s: ProblemArrays, analysis: Analysis) -> dict[str, dict[str, Array]]:
    """Variances by stage and term, all in units of the squared signal of the stage.

    >>> from recallscope.theory.accuracy import analyse
    >>> from recallscope.theory.problem_arrays import problem_arrays
    >>> s = problem_arrays(vocab=512, samples=8192, dim=64, length=32)
    >>> terms = budget(s, analyse(s))["first_gradient"]
    >>> {name: float(variance[0].round(3)) for name, variance in terms.items()}
    {'interference': 0.149, ..., 'gradient_noise': 0.307, ..., 'sampling': 0.07}
    """
    scores = analysis.attention
    # A sequence of one token has no rival, no signal and no noise.
    alone = s.length == 1
    squared = np.where(alone, 1.0, scores.signal**2)
    attention = {name: variance / squared for name, variance in scores.terms.items()}
    attention["cross_talk"] = cross_talk(1.0, s.effective_dim) * (
        1 + score_variance(scores) / squared
    )
    attention = {name: np.where(alone, 0.0, variance) for name, variance in attention.items()}
    stages = {"attention": attention}
    for stage, readout in (
        ("first_gradient", analysis.first_gradient),
        ("recall", analysis.recall),
    ):
        uneven = sampling(s.vocab, s.samples, readout.bias)
        stages[stage] = readout.terms | {"sampling": uneven}
    return {stage: {name: stages[stage][name] for name in TERMS[stage]} for stage in STAGES}


def costs(vocab: Array | float, terms: dict[str, Any]) -> dict[str, Any]:
    """Return what the noises of a stage take from the right answer's lead, squared.

    Noise of wrong labels is taken at the quantile 1 − 1/V, which one of V draws exceeds. Noise of
    the right label, `sampling`, is taken at one standard deviation.

    >>> {name: float(cost.round(2)) for name, cost in costs(512, {"sampling": np.float64(0.1),
    ...     "interference": np.float64(0.1)}).items()}
    {'sampling': 0.1, 'interference': 0.83}
    """
    highest = np.maximum(np.square(ndtri(1 / vocab)), 1.0)
    return {
        name: variance if name == "sampling" else variance * highest
        for name, variance in terms.items()
    }


OWN_STAGE = {"attention_accuracy": "attention", "first_gradient_accuracy": "first_gradient"}
"""Accuracies that one stage decides alone; recall needs attention and the read."""


def dominant(
    s: ProblemArrays,
    analysis: Analysis,
    terms: dict[str, dict[str, Array]],
    accuracy: str = "recall_accuracy",
) -> list[tuple[str, str]]:
    """The stage that limits each problem, and the noise that limits that stage.

    It is attention if that fails more often than the read does, else the read.
    The noise is the one that costs most in that stage. For another accuracy than recall the stage
    is the one that decides it.

    >>> from recallscope.theory.accuracy import analyse
    >>> from recallscope.theory.problem_arrays import problem_arrays
    >>> s = problem_arrays(vocab=512, samples=[2e3, 1e9], dim=64, length=256)
    >>> analysis = analyse(s)
    >>> dominant(s, analysis, budget(s, analysis))
    [('attention', 'mean_bias'), ('recall', 'interference')]
    """

    def largest(stage: str) -> list[tuple[str, str]]:
        cost = list(costs(s.vocab, terms[stage]).values())
        return [(stage, TERMS[stage][place]) for place in np.argmax(cost, axis=0).flat]

    if accuracy in OWN_STAGE:
        return largest(OWN_STAGE[accuracy])
    attention_worse = analysis.accuracies.attention_accuracy < analysis.recall_if_attended
    both = zip(attention_worse.flat, largest("attention"), largest("recall"), strict=True)
    return [attention if worse else recall for worse, attention, recall in both]
