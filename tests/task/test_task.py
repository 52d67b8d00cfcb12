from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch.utils.data import DataLoader, Subset

from recallscope import ProblemError, RecallDataset, RecallStream, RecallTask
from recallscope.task.random import Role, below, generator, words

# The second task is too large for half a word per token, and takes the other path.
TASKS = [RecallTask(512, 9, seed=3), RecallTask(2**17, 4, seed=3)]


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("task", TASKS, ids=repr)
@given(st.integers(0, 300), st.integers(0, 300))
def test_any_range_of_samples_can_be_made_alone(task, start, count):
    whole = task.draw(0, 600)
    part = task.draw(start, start + count)
    assert same(part, (array[start : start + count] for array in whole))


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_blocks_of_every_size_hold_the_same_samples(size):
    task = TASKS[0]
    blocks = list(task.blocks(samples=100, size=size))
    joined = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
    assert same(joined, task.draw(0, 100))


def test_far_away_samples_are_as_quick_to_make():
    samples = TASKS[0].draw(10**12, 10**12 + 3)
    assert samples.tokens.shape == (3, 9)


def test_the_stream_never_changes():
    """A change here changes every record: raise SCHEMA_VERSION with it."""
    tokens, position, label = RecallTask(512, 4, seed=0).draw(0, 2)
    assert tokens.tolist() == GOLDEN_TOKENS
    assert position.tolist() == GOLDEN_POSITION
    assert label.tolist() == GOLDEN_LABEL


GOLDEN_TOKENS = [[123, 98, 91, 79], [422, 224, 233, 236]]
GOLDEN_POSITION = [1, 3]
GOLDEN_LABEL = [72, 506]


@pytest.mark.parametrize(("vocab", "halved"), [(2**16, True), (2**16 + 1, False)])
def test_half_a_word_serves_tokens_of_up_to_16_bits(vocab, halved):
    """Half a word has 32 bits, whose bias grows with the vocabulary."""
    random = words(3, Role.TRAIN, vocab, 4, start=0, stop=30)
    rows = random.view(np.uint32).reshape(-1, 6) if halved else random.reshape(-1, 5)
    samples = RecallTask(vocab, 4, seed=3).draw(0, len(rows))
    assert np.array_equal(samples.tokens, below(vocab, rows[:, :4]))
    assert np.array_equal(samples.position, below(4, rows[:, 4]))


@pytest.mark.parametrize("task", TASKS, ids=repr)
def test_labels_are_a_permutation_of_the_marked_tokens(task):
    tokens, position, label = task.draw(0, 2000)
    assert sorted(task.permutation) == list(range(task.vocab))
    assert np.array_equal(label, task.permutation[tokens[np.arange(2000), position]])


@pytest.mark.parametrize(
    "task", [RecallTask(16, 5, seed=1), RecallTask(2**17, 5, seed=1)], ids=repr
)
def test_tokens_and_positions_are_uniform_and_independent(task):
    tokens, position, _ = task.draw(0, 40_000)
    sixteenth = tokens * 16 // task.vocab
    assert chisquare(np.bincount(sixteenth.ravel(), minlength=16)).pvalue > 1e-3
    assert chisquare(np.bincount(position, minlength=5)).pvalue > 1e-3
    pairs = sixteenth[:, 0] * 16 + sixteenth[:, 1]
    assert chisquare(np.bincount(pairs, minlength=256)).pvalue > 1e-3
    assert chisquare(np.bincount(sixteenth[:, 0] * 5 + position, minlength=80)).pvalue > 1e-3


def test_test_samples_never_overlap_the_training_stream():
    """Roles sit in the counter: under one key, equal blocks of words would need equal counters."""
    task = TASKS[0]
    train, test = task.draw(0, 5000), task.draw(0, 5000, "test")
    seen = {row.tobytes() for row in train.tokens}
    assert not any(row.tobytes() in seen for row in test.tokens)
    states = [
        generator(task.seed, role, task.vocab, task.length).bit_generator.state["state"]
        for role in (Role.TRAIN, Role.TEST)
    ]
    assert np.array_equal(states[0]["key"], states[1]["key"])
    assert states[0]["counter"][3] != states[1]["counter"][3]


def test_seeds_and_sizes_give_unrelated_samples():
    tasks = [RecallTask(512, 9, seed=3), RecallTask(512, 9, seed=4), RecallTask(513, 9, seed=3)]
    drawn = [task.draw(0, 1000).tokens for task in tasks]
    for other in drawn[1:]:
        assert np.mean(drawn[0] == other) < 0.01


def test_a_pickled_task_is_small_and_the_same():
    task = RecallTask(100_000, 4, seed=5)
    before = task.draw(0, 10)
    text = pickle.dumps(task)
    assert len(text) < 500
    assert same(pickle.loads(text).draw(0, 10), before)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_stream_data_set_gives_every_sample_once(workers):
    task = TASKS[0]
    loader = DataLoader(RecallStream(task, 1000, block=64), batch_size=None, num_workers=workers)
    rows = np.concatenate([tokens.numpy() for tokens, _, _ in loader])
    assert same([np.sort(rows, axis=0)], [np.sort(task.draw(0, 1000).tokens, axis=0)])


def test_the_indexed_data_set_agrees_with_the_task():
    task = TASKS[0]
    data = RecallDataset(task, 50, split="test")
    tokens, position, label = task.draw(0, 50, "test")
    assert len(data) == 50
    for index in (0, 17, -1):
        item = data[index]
        assert torch.equal(item[0], torch.from_numpy(tokens[index]))
        assert (item[1], item[2]) == (position[index], label[index])
    with pytest.raises(IndexError, match="index 50 is outside a data set of 50 samples"):
        data[50]


def test_indices_of_numpy_will_do():
    task = TASKS[0]
    data = RecallDataset(task, 50)
    assert torch.equal(data[np.int64(3)][0], data[3][0])
    loader = DataLoader(Subset(data, np.arange(10)), batch_size=5)
    assert len(list(loader)) == 2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RecallTask(1, 4), "vocab must be a whole number from 2"),
        (lambda: RecallTask(4, 0), "length must be a whole number from 1"),
        (lambda: RecallTask(4, 4, seed=-1), "seed must be a whole number from 0"),
        (lambda: RecallTask(4, 4, seed=2**63), "seed must be a whole number from 0"),
        (lambda: RecallTask(4, 4).draw(0, 1, "validation"), "split must be one of train, test"),
        (lambda: RecallStream(RecallTask(4, 4), 5, block=0), "block must be a whole number from 1"),
        (lambda: RecallDataset(RecallTask(4, 4), -5), "samples must be a whole number from 0"),
        (lambda: RecallDataset(RecallTask(4, 4), 5, split="x"), "split must be one of train, test"),
        (lambda: RecallTask(4, 4).draw(3, 1), "stop must be a whole number from 3 to"),
        (
            lambda: next(RecallTask(4, 4).blocks(3, size=0)),
            "size must be a whole number from 1 to 2\\^53, not 0",
        ),
    ],
)
def test_errors_name_the_invariant(make, sentence):
    with pytest.raises(ProblemError, match=sentence):
        make()
