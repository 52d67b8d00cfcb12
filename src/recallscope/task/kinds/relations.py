"""Subjects and relations: a subject's answer to each relation, among noise tokens.

This is the factual recall of Nichani, Lee and Bietti (arXiv 2412.06538). A sequence has a subject
and a relation at random places, noise elsewhere, and an end; no two relations share an answer. Ours
differs in that all relations have equally many answers, drawn uniformly, and in that
every fact is equally frequent unless `frequencies` says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Int64
from recallscope.problem.frequencies import Frequencies
from recallscope.problem.part import problem_field
from recallscope.problem.problem import Problem
from recallscope.task.examples import Examples
from recallscope.task.fact_samples import FactDistribution, check_facts, drawn_facts
from recallscope.task.kind import Task
from recallscope.task.random import Role, below, generator


def _begins(problem: Problem) -> list[int]:
    """The first id of subjects, relations, noise and the end; those of answers come before."""
    relations = problem["relations"]
    counts = (relations * problem["answers"], problem.vocab, relations, problem["noise_tokens"])
    return list(accumulate(counts))


class Relations:
    """Samples of a problem at a seed: ids of answers first, then subjects, relations, noise, end.

    Fact number `subject * relations + relation` is what a subject and a relation have as answer.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.seed, self.facts = problem, seed, FactDistribution(problem)

    @cached_property
    def answer_of(self) -> Int64[np.ndarray, " facts"]:
        """The answer of each fact, out of those of its relation."""
        relations, answers = self.problem["relations"], self.problem["answers"]
        random = generator(self.seed, Role.FACTS, self.problem.vocab, relations, answers)
        ids: Int64[np.ndarray, " facts"] = random.integers(answers, size=self.facts.number)
        ids += np.arange(self.facts.number) % relations * answers
        return ids

    def examples(self, start: int, stop: int, split: str = "train") -> Examples:
        """Examples start…stop−1; 'each' asks for every fact in turn."""
        length, among = self.problem.length, self.problem["relations"]
        sizes = (self.problem.vocab, length, among, self.problem["noise_tokens"])
        fact, random = drawn_facts(self.seed, sizes, self.facts, length + 2, start, stop, split)
        subjects, relations, noise, end = _begins(self.problem)
        ids = np.full((len(fact), length + 1), end)
        ids[:, :-1] = noise + below(end - noise, random[:, 2:])
        rows, place = np.arange(len(fact)), below(length, random[:, 0])
        other = below(length - 1, random[:, 1])  # of the places that are left
        ids[rows, place] = subjects + fact // among
        ids[rows, other + (other >= place)] = relations + fact % among
        return self.facts.examples(ids, self.answer_of[fact], fact)


@dataclass(frozen=True)
class RelationsTask(Frequencies, Task):
    """Each of `vocab` subjects has an answer to each relation."""

    has_mark = False

    relations: int = problem_field(8, low=1, monotone=-1, help="How many relations there are.")
    answers: int = problem_field(8, low=2, help="How many answers each relation has.")
    noise_tokens: int = problem_field(64, low=1, help="How many noise tokens there are.")

    def make(self, problem: Problem, seed: int) -> Relations:
        """The facts of a seed."""
        return Relations(problem, seed)

    def check(self, problem: Problem) -> None:
        """Raise unless there is room for a subject and a relation, and for all facts."""
        if problem.length < 2:
            raise ProblemError(
                "the task relations has a subject and a relation in each sequence, but length is "
                f"{problem.length}; give length=2 or more"
            )
        check_facts(problem)

    def number_of_labels(self, problem: Problem) -> int:
        """The answers of all relations."""
        return _begins(problem)[0]

    def number_of_facts(self, problem: Problem) -> int:
        """Each subject has one for each relation."""
        return problem.vocab * self.relations

    def number_of_ids(self, problem: Problem) -> int:
        """Answers, subjects, relations, noise and the end."""
        return _begins(problem)[-1] + 1

    def bits_of_answer(self, problem: Problem) -> float:
        """Those of a uniform answer of its relation."""
        return math.log2(self.answers)


PART = RelationsTask()
