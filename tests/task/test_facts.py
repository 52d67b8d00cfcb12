"""More or fewer facts than tokens, examples that language models read, and tests by fact."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from made_parts import made

from recallscope import Model, Problem, ProblemError, RecallTask, Task, predict, run
from recallscope.model.setup import Setup
from recallscope.problem.naming import find_part
from recallscope.problem.part import fields_of
from recallscope.task.examples import Examples, examples_of
from recallscope.task.kind import samples_of

FEW = Problem(vocab=32, samples=600, dim=24, length=4, learner="adam", steps=150, facts=12)
MANY = Problem(
    vocab=8, samples=400, dim=24, length=1, task="memory", learner="adam", steps=300, facts=40
)


def test_marked_tokens_are_facts_and_distractors_too_unless_asked():
    for distractors, largest in (("same", 12), ("uniform", 32)):
        task = RecallTask(32, 4, seed=1, facts=12, distractors=distractors)
        tokens, position, label = task.draw(0, 4000)
        marked = tokens[np.arange(4000), position]
        assert set(marked.tolist()) == set(range(12))
        assert set(tokens.ravel().tolist()) == set(range(largest))
        assert (label == task.permutation[marked]).all()
        counts = np.array(list(Counter(marked.tolist()).values()))
        assert abs(counts - 4000 / 12).max() < 6 * math.sqrt(4000 / 12)


def test_facts_beyond_the_tokens_share_labels_evenly():
    task = samples_of(MANY, seed=0)
    tokens, _, label = task.draw(0, 40)
    assert sorted(tokens[:, 0].tolist()) == list(range(40))
    assert set(Counter(label.tolist()).values()) == {5}


def test_as_many_facts_as_tokens_is_as_without_the_field():
    plain, same = (RecallTask(32, 4, seed=3, facts=facts) for facts in (0, 32))
    assert all((a == b).all() for a, b in zip(plain.draw(0, 50), same.draw(0, 50), strict=True))
    problem = Problem(vocab=32, samples=1, dim=8, length=4)
    assert problem.replace(facts=0).key == problem.key
    assert problem.replace(learner="adam", facts=5).key != problem.replace(learner="adam").key


def test_every_fact_is_asked_for_in_turn():
    task = RecallTask(32, 4, seed=1, facts=12)
    found = examples_of(task, 0, 24, "each")
    assert found.fact.tolist() == [*range(12), *range(12)]
    assert (found.answer == task.answers[found.fact]).all()


@pytest.mark.parametrize("problem", [FEW, MANY])
def test_a_model_learns_more_or_fewer_facts_than_tokens(problem):
    record = run(problem.replace(metrics=("recall-per-fact",)), seed=1)
    assert record.recall_accuracy > 0.95
    assert record.metric("recall-per-fact") > 0.95
    least = run(problem.replace(learner="converged", samples="inf"), seed=1)
    assert least.recall_accuracy == 1


def test_runs_of_many_facts_trained_at_once_are_as_alone():
    from recallscope.experiment.experiment import run_together

    problem = MANY.replace(samples=40, steps=20)
    together = run_together(problem, [4, 5, 6])
    assert [each.result() for each in together] == [
        run(problem, seed).result() for seed in (4, 5, 6)
    ]


@pytest.mark.parametrize("learner", ["three-step", "adam", "converged"])
def test_no_law_answers_for_other_numbers_of_facts(learner):
    if learner == "three-step":
        with pytest.raises(
            ProblemError, match="not for 12 facts of 32 tokens; give regime=literal"
        ):
            FEW.replace(learner=learner)
        return
    found = predict(
        FEW.replace(learner=learner, steps=1000)
        if learner == "adam"
        else FEW.replace(learner=learner)
    )
    assert found.reason is not None
    assert "facts 12" in found.reason


def test_tables_without_a_row_for_each_fact_are_refused():
    with pytest.raises(ProblemError, match="have 8 tokens, but the facts need 40"):
        run(MANY.replace(embedding="orthogonal"))


# Tasks without a trigger.


class Sums:
    """Two numbers, to be added modulo the vocabulary."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.vocab = problem.vocab

    def examples(self, start: int, stop: int, split: str = "train") -> Examples:
        fact = np.arange(start, stop) % self.vocab**2
        ids = np.stack([fact // self.vocab, fact % self.vocab], axis=1)
        answer, classes = ids.sum(axis=1) % 3, np.zeros_like(fact)
        return Examples(input_ids=ids, answer=answer, fact=fact, frequency_class=classes)


def test_a_task_of_ids_alone_is_learnt_by_a_model_that_reads_ids():
    import torch
    from torch import nn

    class Pairs(nn.Module):
        def __init__(self, setup: Setup) -> None:
            super().__init__()
            vocab = setup.problem.vocab
            self.table = nn.Embedding(vocab**2, 3)
            self.vocab = vocab

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            return self.table(input_ids[:, 0] * self.vocab + input_ids[:, 1])

    problem = Problem(
        vocab=5,
        samples=25,
        dim=4,
        length=2,
        task=made(Task, name="sums", make=Sums, has_mark=False, number_of_labels=lambda problem: 3),
        model=made(Model, name="pairs", build=Pairs, reads_ids=True),
        learner="adam",
        steps=200,
        learning_rate=0.1,
    )
    assert run(problem).recall_accuracy == 1
    labels = Setup(problem=problem, seed=0).examples(0, 4).labels
    assert labels.tolist() == [[-100, 0], [-100, 1], [-100, 2], [-100, 0]]


def test_a_model_that_reads_the_trigger_needs_a_task_with_one():
    with pytest.raises(ProblemError, match="marked position"):
        Problem(
            vocab=5,
            samples=25,
            dim=4,
            length=2,
            learner="adam",
            task=made(Task, name="sums", make=Sums, has_mark=False),
        )


def test_the_fields_of_facts_have_a_help():
    assert {"facts", "frequencies"} <= fields_of(find_part("task", "memory")).keys()
    assert all(field.help for field in fields_of(find_part("task", "recall")).values())
