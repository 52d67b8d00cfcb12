"""The task of the paper: the label is the image of the marked token under a fixed permutation."""

from __future__ import annotations

from recallscope.common.frequencies import check_frequencies, frequencies_of
from recallscope.parts.field import Field
from recallscope.parts.naming import find_part
from recallscope.problem import Problem, ProblemError
from recallscope.tasks.kind import FACTS, Task, facts_of, inputs_of
from recallscope.tasks.recall import RecallTask


def _make(problem: Problem, seed: int) -> RecallTask:
    return RecallTask(
        problem.vocab,
        problem.length,
        seed,
        facts=problem["facts"],
        distractors=problem["distractor_frequencies"],
        frequencies=frequencies_of(problem, facts_of(problem)),
    )


def _check(problem: Problem) -> None:
    check_frequencies(problem, facts_of(problem))
    trigger, model = problem["trigger"], find_part("model", problem.model)
    if trigger == "vector" and model.reads_ids and not model.takes_mark:
        raise ProblemError(
            f"the model {problem.model} reads ids and adds no vector to them; give trigger=token "
            "or trigger=marked-id"
        )
    if trigger in ("token", "marked-id") and not model.reads_ids:
        raise ProblemError(
            f"the model {problem.model} reads a marked position, not ids; leave trigger={trigger} "
            "out, or choose a model that reads ids"
        )


def _ids(problem: Problem) -> int:
    """Tokens, trigger and end; or tokens twice, and the end."""
    inputs = inputs_of(problem)
    return 2 * inputs + 1 if problem["trigger"] == "marked-id" else inputs + 2


PART = Task(
    make=_make,
    fields=FACTS
    | {
        "distractor_frequencies": Field(
            default="same",
            choices=("same", "uniform"),
            help=(
                "The tokens that are not marked: drawn as facts are, or uniform over all tokens."
            ),
        ),
        "trigger": Field(
            default="auto",
            choices=("auto", "vector", "token", "marked-id"),
            help=(
                "What marks a token: an added vector, a token before it, or a second id; auto "
                "for a vector if the model can add one, else a token. One layer cannot learn a "
                "token: it does not see which one comes next."
            ),
        ),
    },
    check=_check,
    ids=_ids,
    closed_form=True,
    equal_facts=True,
)
