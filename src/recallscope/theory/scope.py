"""The scope of a number, in the words of somebody who trains models."""

from __future__ import annotations

import math

from recallscope.problem.problem import Problem


def scope(problem: Problem) -> str:
    """One sentence that goes with every capacity that is printed.

    >>> scope(Problem(vocab=512, samples=8192, dim=64, length=32))
    'One attention layer, frozen embeddings, three gradient steps on one batch: ...'
    >>> scope(Problem(vocab=512, samples=8192, dim=64, length=32, learner="adam"))
    'One attention layer, frozen embeddings, learnt by adam.'
    """
    embeddings = "learned" if getattr(problem, "learn_embeddings", False) else "frozen"
    mlp = "trained" if getattr(problem, "learn_mlp", False) else "frozen random"
    hidden = "" if problem.width is None else f" and a {mlp} MLP of width {problem.width}"
    model = f"one attention layer{hidden}, {embeddings} embeddings"
    if not problem.part("model").closed_form:
        model = f"the model {problem.model}"
    steps = "three gradient steps on one batch: not a model that is trained to the end"
    if not problem.part("learner").closed_form:
        steps = f"learnt by {problem.learner}"
    sentence = f"{model}, {steps}"
    return f"{sentence[0].upper()}{sentence[1:]}."


def exposures(problem: Problem) -> str:
    """How often each fact is seen, on average.

    >>> exposures(Problem(vocab=512, samples=8192, dim=64, length=32))
    '512 facts, each seen 16 times on average'
    """
    facts = problem.part("task").number_of_facts(problem)
    per_fact = problem.samples / facts
    times = "without end" if math.isinf(per_fact) else f"{per_fact:.4g} times on average"
    return f"{facts} facts, each seen {times}"
