"""The task of the paper: the label is the image of the marked token under a fixed permutation."""

from __future__ import annotations

from dataclasses import dataclass

from recallscope.common.errors import ProblemError
from recallscope.problem.facts import facts_of, inputs_of
from recallscope.problem.frequencies import check_frequencies, frequencies_of
from recallscope.problem.part import problem_field
from recallscope.problem.problem import Problem
from recallscope.task.kind import FactTask
from recallscope.task.recall import RecallTask


@dataclass(frozen=True)
class Recall(FactTask):
    """The paper's task, with fewer facts or facts of unequal frequency if asked for."""

    closed_form = True
    equal_facts = True

    distractor_frequencies: str = problem_field(
        "same",
        choices=("same", "uniform"),
        help="The tokens that are not marked: drawn as facts are, or uniform over all tokens.",
    )
    trigger: str = problem_field(
        "auto",
        choices=("auto", "vector", "token", "marked-id"),
        help=(
            "What marks a token: an added vector, a token before it, or a second id; auto for a "
            "vector if the model can add one, else a token. One layer cannot learn a token: it "
            "does not see which one comes next."
        ),
    )

    def make(self, problem: Problem, seed: int) -> RecallTask:
        """The sequences of a seed."""
        return RecallTask(
            problem.vocab,
            problem.length,
            seed,
            facts=self.facts,
            distractors=self.distractor_frequencies,
            frequencies=frequencies_of(problem, facts_of(problem)),
        )

    def check(self, problem: Problem) -> None:
        """Raise unless the model can be shown the trigger, and frequencies go together."""
        check_frequencies(problem, facts_of(problem))
        model = problem.part("model")
        if self.trigger == "vector" and model.reads_ids and not model.takes_mark:
            raise ProblemError(
                f"the model {problem.model} reads ids and adds no vector to them; give "
                "trigger=token or trigger=marked-id"
            )
        if self.trigger in ("token", "marked-id") and not model.reads_ids:
            raise ProblemError(
                f"the model {problem.model} reads a marked position, not ids; leave "
                f"trigger={self.trigger} out, or choose a model that reads ids"
            )

    def number_of_ids(self, problem: Problem) -> int:
        """Tokens, trigger and end; or tokens twice, and the end."""
        inputs = inputs_of(problem)
        return 2 * inputs + 1 if self.trigger == "marked-id" else inputs + 2


PART = Recall()
