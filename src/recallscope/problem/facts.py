"""How many facts and different tokens a problem has, as its task says."""

from __future__ import annotations

from recallscope.problem.problem import Problem


def facts_of(problem: Problem) -> int:
    """How many facts a problem has.

    >>> facts_of(Problem(vocab=64, samples=1, dim=8, length=4, facts=100, learner="adam"))
    100
    """
    number: int = problem.part("task").number_of_facts(problem)
    return number


def inputs_of(problem: Problem) -> int:
    """How many different tokens sequences may have: those of the vocabulary, and one for each fact.

    Without a trigger, no fact has a token to itself.

    >>> inputs_of(Problem(vocab=64, samples=1, dim=8, length=4, facts=100, learner="adam"))
    100
    """
    marked = problem.part("task").has_mark
    return max(problem.vocab, facts_of(problem)) if marked else problem.vocab
