"""Tasks of published settings: relations of subjects, random pairs, biographies; and their bits."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import torch
from made_parts import made
from torch import nn
from torch.utils.data import DataLoader

from recallscope import ExampleDataset, Model, Problem, ProblemError, predict, run
from recallscope.model.learner import LearnedModel, Outcome
from recallscope.model.setup import Setup
from recallscope.problem.facts import facts_of, inputs_of
from recallscope.problem.naming import find_part
from recallscope.task.examples import Examples, examples_of
from recallscope.task.kind import samples_of


class Pooled(nn.Module):
    """The sum of the embeddings of all ids, and an MLP."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        problem = setup.problem
        task = problem.part("task")
        self.table = nn.Embedding(task.number_of_ids(problem), problem.dim)
        self.answer = nn.Sequential(
            nn.Linear(problem.dim, 128), nn.ReLU(), nn.Linear(128, task.number_of_labels(problem))
        )

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.answer(self.table(input_ids).sum(dim=1))


COMMON = {
    "samples": 400,
    "dim": 32,
    "learner": "adam",
    "learning_rate": 0.01,
    "steps": 150,
    "model": made(Model, name="pooled", build=Pooled, reads_ids=True),
}
RELATIONS = Problem(
    vocab=8, length=3, task="relations", relations=3, answers=5, noise_tokens=4, **COMMON
)
PAIRS = Problem(vocab=12, length=4, task="pairs", facts=30, **COMMON)
BIOGRAPHIES = Problem(vocab=10, length=4, task="biographies", **COMMON)
EVERY = pytest.mark.parametrize(
    "problem", [RELATIONS, PAIRS, BIOGRAPHIES], ids=lambda problem: problem.task
)


def drawn(problem: Problem, start: int, stop: int, split: str = "train", seed: int = 3) -> Examples:
    return examples_of(samples_of(problem, seed), start, stop, split)


# Common to all tasks.


@EVERY
@pytest.mark.parametrize("split", ["train", "test", "each"])
def test_any_range_is_a_part_of_the_whole(problem, split):
    whole = drawn(problem, 0, 250, split)
    for start, stop in ((0, 1), (7, 7), (17, 40), (25, 35), (29, 131), (200, 250)):
        part = drawn(problem, start, stop, split)
        for name in ("input_ids", "answer", "fact", "frequency_class"):
            found, expected = getattr(part, name), getattr(whole, name)[start:stop]
            assert found.dtype == np.int64
            assert np.array_equal(found, expected)
    assert whole.marked is None


@EVERY
def test_ids_and_labels_are_inside_of_their_ranges(problem):
    task, found = problem.part("task"), drawn(problem, 0, 5000)
    assert found.input_ids.min() >= 0
    assert found.input_ids.max() < task.number_of_ids(problem)
    assert 0 <= found.answer.min() <= found.answer.max() < task.number_of_labels(problem)
    assert set(found.fact.tolist()) == set(range(facts_of(problem)))
    assert inputs_of(problem) == problem.vocab


@EVERY
def test_each_asks_for_every_fact_once_and_answers_agree_between_splits(problem):
    facts = facts_of(problem)
    each = drawn(problem, 0, facts, "each")
    assert each.fact.tolist() == list(range(facts))
    for split in ("train", "test"):
        found = drawn(problem, 0, 2000, split)
        assert (found.answer == each.answer[found.fact]).all()
    assert (drawn(problem, 0, facts, "each", seed=4).answer != each.answer).any()


@EVERY
def test_impossible_ranges_and_splits_are_refused(problem):
    for start, stop, split in ((-1, 3, "train"), (4, 3, "test"), (0, 3, "validation")):
        with pytest.raises(ProblemError):
            drawn(problem, start, stop, split)


@EVERY
def test_a_model_that_reads_ids_learns_it(problem):
    metrics = ("recall-per-fact", "bits-per-parameter")
    record = run(problem.replace(metrics=metrics), test_samples=500)
    assert record.recall_accuracy > 0.9
    assert record.metric("recall-per-fact") > 0.9
    task, module = problem.part("task"), Pooled(Setup(problem=problem, seed=0))
    most = facts_of(problem) * task.bits_of_answer(problem)
    most /= sum(each.numel() for each in module.parameters())
    assert 0.5 * most < record.metric("bits-per-parameter") < most


@EVERY
def test_no_law_answers(problem, command):
    for steps in (150, 1000):
        found = predict(problem.replace(steps=steps))
        assert found.law is None
        assert found.reason
    sizes = f"--vocab 100 --samples 800 --dim 16 --length 4 --task {problem.task}".split()
    answer = command("predict", *sizes, "--model", "two-layers", "--learner", "adam")
    assert answer.returncode == 1
    assert f"There is no law of training at task {problem.task}" in answer.stdout


@EVERY
@pytest.mark.parametrize("learner", ["adam", "converged", "three-step"])
def test_the_model_of_the_paper_is_refused(problem, learner):
    with pytest.raises(ProblemError, match=r"marked position|for the task recall"):
        Problem(vocab=100, samples=800, dim=16, length=4, task=problem.task, learner=learner)


# Single tasks.


def test_a_sequence_has_a_subject_and_a_relation_at_any_two_places():
    found = drawn(RELATIONS, 0, 4000)
    ids, rows = found.input_ids, np.arange(4000)
    subject, relation = ((ids >= low) & (ids < high) for low, high in ((15, 23), (23, 26)))
    noise = (ids >= 26) & (ids < 30)
    assert (subject.sum(axis=1) == 1).all()
    assert (relation.sum(axis=1) == 1).all()
    assert (noise.sum(axis=1) == 1).all()
    assert (ids[:, -1] == 30).all()
    assert RELATIONS.part("task").number_of_ids(RELATIONS) == 31
    at, other = subject.argmax(axis=1), relation.argmax(axis=1)
    assert (found.fact == (ids[rows, at] - 15) * 3 + ids[rows, other] - 23).all()
    assert (found.answer // 5 == found.fact % 3).all()
    places = np.bincount(3 * at + other, minlength=9).reshape(3, 3)
    assert (places.diagonal() == 0).all()
    assert abs(places[~np.eye(3, dtype=bool)] - 4000 / 6).max() < 6 * math.sqrt(4000 / 6)
    facts = np.bincount(found.fact)
    assert abs(facts - 4000 / 24).max() < 6 * math.sqrt(4000 / 24)


def test_answers_of_relations_are_uniform_and_tests_are_other_sequences():
    many = RELATIONS.replace(vocab=2000)
    answers = np.bincount(drawn(many, 0, 6000, "each").answer)
    assert len(answers) == 15
    assert abs(answers - 400).max() < 6 * math.sqrt(400)
    long = RELATIONS.replace(length=40)
    train, test = (drawn(long, 0, 500, split).input_ids.tolist() for split in ("train", "test"))
    assert not {tuple(row) for row in train} & {tuple(row) for row in test}


def test_pairs_are_uniform_and_do_not_depend_on_how_many_there_are():
    few, many = PAIRS, PAIRS.replace(facts=200)
    one, other = drawn(few, 0, 30), drawn(many, 0, 200)
    assert np.array_equal(one.input_ids, other.input_ids[:30])
    assert np.array_equal(one.answer, other.answer[:30])
    big = drawn(PAIRS.replace(length=6, facts=10_000), 0, 10_000)
    for column in (*big.input_ids.T, big.answer):
        counts = np.bincount(column, minlength=12)
        assert abs(counts - 10_000 / 12).max() < 6 * math.sqrt(10_000 / 12)
    assert facts_of(PAIRS.replace(facts=0)) == 12


def test_pairs_in_turn_need_no_table_of_all_facts():
    huge = PAIRS.replace(vocab=10**6, length=8, facts=10**12)
    last = drawn(huge, 10**12 - 2, 10**12 + 1)
    assert last.fact.tolist() == [10**12 - 2, 10**12 - 1, 0]
    assert np.array_equal(last.input_ids[2], drawn(huge, 0, 1, "test").input_ids[0])


@pytest.mark.parametrize(("changes", "refused"), [({"facts": 207}, False), ({"facts": 208}, True)])
def test_pairs_that_would_often_coincide_are_refused(changes, refused):
    if refused:
        with pytest.raises(ProblemError, match="would often coincide; raise length"):
            PAIRS.replace(**changes)
    else:
        assert facts_of(PAIRS.replace(**changes)) == 207


def test_people_have_distinct_names_and_values_of_47_6_bits():
    people = 20_000
    many = BIOGRAPHIES.replace(vocab=people)
    found = drawn(many, 0, 8 * people, "each")
    names = found.input_ids.reshape(people, 8, 4)
    assert (names[:, :1, :3] == names[:, :, :3]).all()
    assert len(np.unique(names[:, 0, :3], axis=0)) == people
    for place, (low, high) in enumerate(((1105, 1505), (1505, 1905), (1905, 2905), (2905, 2913))):
        column = found.input_ids[:, place]
        assert (column.min(), column.max()) == (low, high - 1)
    sizes = [len(np.unique(values)) for values in found.answer.reshape(people, 8).T]
    assert sizes == [12, 28, 200, 200, 300, 100, 263, 2]
    assert len(np.unique(found.answer)) == sum(sizes)
    bits = 8 * find_part("task", "biographies").bits_of_answer(BIOGRAPHIES)
    assert bits == pytest.approx(sum(map(math.log2, sizes)))
    assert round(bits, 1) == 47.6


@pytest.mark.parametrize(
    ("problem", "changes", "said"),
    [
        (RELATIONS, {"length": 1}, "give length=2 or more"),
        (RELATIONS, {"vocab": 10**7}, "at most 10,000,000 of them, not 30,000,000"),
        (BIOGRAPHIES, {"length": 5}, "give length=4"),
        (BIOGRAPHIES, {"vocab": 10**8}, "at most 10,000,000 of them, not 800,000,000"),
        (PAIRS, {"length": 2**53, "facts": 0}, None),
    ],
)
def test_sizes_are_checked_before_anything_is_drawn(problem, changes, said):
    if said is None:
        assert problem.replace(**changes).length == 2**53
        return
    with pytest.raises(ProblemError, match=said):
        problem.replace(**changes)


# Bits for each parameter.


def test_a_perfect_memory_has_all_bits_and_a_blank_one_none():
    problem = Problem(vocab=16, samples=16, dim=8, length=1, task="memory", learner="adam")
    setup = Setup(problem=problem, seed=0)
    measure = find_part("metric", "bits-per-parameter").measure
    table = nn.Embedding(16, 16)
    for scale, expected in ((1e3, 16 * 4 / 256), (0.0, 0.0)):
        answers = torch.from_numpy(samples_of(problem, 0).permutation)
        table.weight.data = scale * nn.functional.one_hot(answers, 16).float()
        learnt = LearnedModel(Outcome(logits=lambda tokens, _: table(tokens[:, 0]), module=table))
        assert measure(setup, learnt) == pytest.approx(expected)
    # Without a module, the numbers that the model says are trained: d² twice.
    alone = LearnedModel(
        Outcome(logits=lambda tokens, _: 1e3 * nn.functional.one_hot(answers)[tokens[:, 0]])
    )
    assert measure(setup, alone) == pytest.approx(16 * 4 / 128)


def test_three_steps_have_bits_too():
    problem = Problem(vocab=32, samples=2048, dim=64, length=4, metrics="bits-per-parameter")
    bits = run(problem).metric("bits-per-parameter")
    assert 0 <= bits <= 32 * 5 / (2 * 64**2)


# Examples for trainers of other packages.


@EVERY
def test_a_data_set_of_examples_ends_in_answers(problem):
    data = ExampleDataset(problem, seed=3, samples=1500, split="test")
    found = drawn(problem, 0, 1500, "test")
    assert len(data) == 1500
    batches = list(DataLoader(data, batch_size=700))
    ids, labels = (torch.cat([batch[name] for batch in batches]) for name in batches[0])
    assert ids.dtype == labels.dtype == torch.int64
    assert np.array_equal(ids[:, :-1], found.input_ids)
    assert np.array_equal(ids[:, -1], found.answer)
    assert np.array_equal(labels[:, -1], found.answer)
    assert (labels[:, :-1] == -100).all()
    iterated = torch.stack([item["input_ids"] for item in data])
    assert torch.equal(iterated, ids)
    again = pickle.loads(pickle.dumps(data))
    assert torch.equal(again[-1]["input_ids"], ids[-1])
    with pytest.raises(IndexError, match="outside a data set of 1500"):
        data[1500]


def test_a_data_set_of_a_task_with_a_trigger_has_a_trigger_and_an_end():
    problem = Problem(vocab=16, samples=20, dim=8, length=4)
    data = ExampleDataset(problem)
    tokens, position, label = samples_of(problem, 0).draw(0, 20)
    assert len(data) == 20
    for place, item in enumerate(data):
        ids = item["input_ids"].tolist()
        assert ids.index(16) == position[place]
        assert ids[-2:] == [17, label[place]]
        assert [each for each in ids[:-2] if each != 16] == tokens[place].tolist()
        assert item["labels"].tolist() == [-100] * 6 + [label[place]]
    with pytest.raises(ProblemError, match="samples"):
        ExampleDataset(problem.replace(samples="inf"))
    with pytest.raises(ProblemError, match="split"):
        ExampleDataset(problem, split="validation")
