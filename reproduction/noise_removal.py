"""Which noise limits recall, found by experiment: take one away at a time, and see what helps most.

Each change leaves the other noises as they are, as far as it can. Data without end takes several
away at once: what an uneven batch costs, mean bias, and what distractors cost by chance. Which of
these it was is seen where a centred activation, or no distractors, helps at least half as much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from recallscope.problem.problem import Problem

WIDER, WIDE = 8, 2048  # times as wide, but no wider than this, or than twice as wide
DIMENSIONS = 4  # times as many
ACCURACIES = ("recall_accuracy", "first_gradient_accuracy")


def changes(problem: Problem) -> dict[str, Problem]:
    """A problem with an MLP, and the same with one noise less each time.

    MLP noise goes as (1 + V/d)/m: with more dimensions the layer is as much narrower as keeps it.

    >>> problem = Problem(vocab=256, samples=2048, dim=64, length=8, width=500, activation="relu")
    >>> wider = changes(problem)["more_dimensions"]
    >>> wider.dim, wider.width
    (256, 200)
    """
    assert problem.width is not None
    spread = 1 + problem.vocab / problem.dim
    dim = DIMENSIONS * problem.dim
    narrower = max(round(problem.width * (1 + problem.vocab / dim) / spread), 1)
    problems = {
        "as_it_is": problem,
        "wider": problem.replace(width=max(min(WIDER * problem.width, WIDE), 2 * problem.width)),
        "more_dimensions": problem.replace(dim=dim, width=narrower),
        "unlimited_data": problem.replace(samples=math.inf),
        "no_distractors": problem.replace(length=1),
    }
    if problem.activation == "relu":  # the others in use have a mean of zero
        problems["centred"] = problem.replace(activation="centred-relu")
    return problems


def limits(problem: Problem, seed: int) -> dict[str, float]:
    """Recall and the readout of the first gradient, as they are and after each change.

    >>> problem = Problem(vocab=64, samples=256, dim=16, length=4, width=32, activation="tanh")
    >>> sorted(limits(problem, seed=0))[:3]
    ['first_gradient_accuracy_as_it_is', 'first_gradient_accuracy_more_dimensions', ...]
    """
    from recallscope.experiment.experiment import run

    recalls = {}
    for name, changed in changes(problem).items():
        record = run(changed, seed, dtype="float32")
        for accuracy in ACCURACIES:
            recalls[f"{accuracy}_{name}"] = record.accuracy(accuracy)[0]
    return recalls


def limiting(recall: Mapping[str, float]) -> str:
    """The noise that costs most recall, from recall as it is and after each change.

    Distractors are the gradient noise of the first gradient. After three steps they are read no
    more where attention has found the trigger: then they cost recall by hiding it.

    >>> recall = {"as_it_is": 0.3, "wider": 0.35, "more_dimensions": 0.32, "unlimited_data": 0.6}
    >>> limiting(recall | {"no_distractors": 0.31, "centred": 0.5})
    'mean bias'
    """
    gain = {name: value - recall["as_it_is"] for name, value in recall.items()}
    by_data = gain["unlimited_data"]
    if gain["wider"] >= max(gain["more_dimensions"], by_data):
        return "MLP noise"
    if gain["more_dimensions"] >= by_data:
        return "interference"
    centred, alone = gain.get("centred", 0.0), gain["no_distractors"]
    if max(centred, alone) < by_data / 2:
        return "sampling"
    return "mean bias" if centred >= alone else "distractors"
