"""The lower bound: its steps are checked by enumeration or simulation, and decoders respect it."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recallscope import Instance, Problem, ProblemError, Threads
from recallscope.theory.lower_bound import (
    bound,
    counting_samples,
    coverage_samples,
    feature_information,
    feature_samples,
    gradient_information,
    gradient_rank,
    gradient_samples,
    information_needed,
    largest_vocab,
    signal_to_noise,
    smallest_samples,
)
from reproduction.decoders import (
    DECODERS,
    decode,
    decoder_accuracy,
    feature_signals,
    first_gradient,
)

PERMUTATIONS = {
    vocab: np.array(list(itertools.permutations(range(vocab)))) for vocab in (3, 4, 5, 6)
}


# From accuracy to information


@pytest.mark.parametrize("guess", [[0, 1, 2, 3, 4], [0, 0, 0, 0, 0], [1, 1, 3, 3, 0]], ids=str)
def test_agreements_with_a_blind_guess_have_the_moments_claimed(guess):
    agreements = (PERMUTATIONS[5] == np.array(guess)).sum(axis=1)
    for order in range(1, 6):
        falling = np.prod([agreements - step for step in range(order)], axis=0)
        assert falling.mean() <= 1 + 1e-12
    for slope in (0.1, 1.0, 2.0, 4.0):
        assert np.exp(slope * agreements).mean() <= math.exp(math.expm1(slope))


def test_knowing_some_labels_is_no_less_information_than_they_need():
    vocab = 400
    for known in (0, 1, 2, 10, 100, 398, 400):
        informed = math.lgamma(vocab + 1) - math.lgamma(vocab - known + 1)
        right = min(known + 1, vocab)  # one of the others is right by luck, on average
        assert float(information_needed(vocab, right / vocab)) <= informed + 1e-9
    assert float(information_needed(vocab, 1.0)) > 0.99 * math.lgamma(vocab + 1)


def posterior_facts(vocab, length, samples, marked):
    """The exact information and best accuracy of all data of so small a problem."""
    perms = PERMUTATIONS[vocab]
    each = list(itertools.product(range(vocab), repeat=length))
    likelihoods = []  # of one sample, for every permutation
    for tokens in each:
        views = [[place] for place in range(length)] if marked else [range(length)]
        for view, label in itertools.product(views, range(vocab)):
            hits = sum(perms[:, tokens[place]] == label for place in view)
            likelihoods.append(hits / (length * len(each)))
    information = accuracy = 0.0
    for data in itertools.product(likelihoods, repeat=samples):
        joint = np.prod(data, axis=0) / len(perms)
        if not joint.any():
            continue
        seen = joint[joint > 0]
        information += (seen * np.log(seen * len(perms) / joint.sum())).sum()
        pairs = np.zeros((vocab, vocab))
        for weight, perm in zip(joint, perms, strict=True):
            pairs[np.arange(vocab), perm] += weight
        accuracy += pairs.max(axis=1).sum() / vocab
    return information, accuracy


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize(
    ("vocab", "length", "samples"), [(3, 1, 3), (3, 2, 2), (4, 1, 2), (4, 2, 1)]
)
def test_the_best_of_all_decoders_respects_counting_and_coverage(vocab, length, samples, marked):
    information, accuracy = posterior_facts(vocab, length, samples, marked)
    assert float(information_needed(vocab, accuracy)) <= information
    assert float(coverage_samples(vocab, accuracy)) <= samples + 1e-9
    if not marked:
        assert information <= samples * math.log1p((vocab - 1) / length) + 1e-12
        assert float(counting_samples(vocab, length, accuracy)) <= samples


def test_without_distractors_the_best_decoder_reaches_the_coverage():
    """All labels seen are known, and one of the others is guessed; with N = 3 some are unseen."""
    _, accuracy = posterior_facts(4, 1, 3, marked=True)
    assert float(coverage_samples(4, accuracy)) == pytest.approx(3)


# From the gradient to its information


def whitened_parts(instance, threads):
    """Signal and noise of a gradient, given its label counts, in whitened coordinates."""
    problem = instance.problem
    count = int(problem.samples)
    tokens = instance.tokens.numpy()
    outputs = instance.centred_outputs.numpy()
    times = np.bincount(instance.task.draw(0, count).label, minlength=problem.vocab)
    centred = tokens - tokens.mean(axis=0)
    spread = centred.T @ centred / problem.vocab * (problem.length - 1) / problem.length**2
    left = inverse_root(outputs.T @ (outputs * times[:, None]))
    right = inverse_root(spread)
    by_label = np.empty_like(centred)
    by_label[instance.task.permutation] = centred / problem.length
    signal = outputs.T @ (by_label * times[:, None])
    mean = signal + np.outer(outputs.T @ times, tokens.mean(axis=0))
    noise = count * first_gradient(instance, threads).numpy() - mean
    return left @ signal @ right, left @ noise @ right


def inverse_root(matrix):
    sizes, axes = np.linalg.eigh(matrix)
    kept = sizes > 1e-9 * sizes.max()
    return axes[:, kept] / np.sqrt(sizes[kept]) @ axes[:, kept].T


@pytest.mark.parametrize(
    ("vocab", "dim", "length", "samples", "tightness"),
    [(60, 8, 4, 60, 0.95), (60, 8, 4, 1000, 0.97), (40, 20, 3, 80, 0.8), (20, 30, 5, 200, 0.95)],
)
def test_signal_to_noise_is_that_of_simulated_gradients(vocab, dim, length, samples, tightness):
    problem = Problem(vocab=vocab, samples=samples, dim=dim, length=length)
    with Threads() as threads:
        parts = [whitened_parts(Instance.make(problem, seed), threads) for seed in range(150)]
    rank = float(gradient_rank(vocab, dim))
    signal = np.array([(part**2).sum() for part, _ in parts]) / rank
    noise = np.array([(part**2).sum() for _, part in parts]) / rank
    assert noise.mean() == pytest.approx(1, abs=4 * noise.std() / math.sqrt(len(noise)) + 1e-3)
    limit = float(signal_to_noise(samples, vocab, dim, length))
    error = 4 * signal.std() / math.sqrt(len(signal))
    assert tightness * limit - error <= signal.mean() <= limit + error


def test_noise_is_independent_from_dimension_to_dimension():
    problem = Problem(vocab=12, samples=100, dim=3, length=4)
    with Threads() as threads:
        noise = [whitened_parts(Instance.make(problem, seed), threads)[1] for seed in range(1500)]
    flat = np.array(noise).reshape(len(noise), -1)
    covariance = flat.T @ flat / len(flat)
    assert np.abs(covariance - np.eye(flat.shape[1])).max() < 6 / math.sqrt(len(flat))


@pytest.mark.parametrize("samples", [3, 20, 200])
@pytest.mark.parametrize("dim", [2, 10, 25])
def test_leverages_of_outputs_of_any_kind_stay_below_their_bound(samples, dim):
    """Outputs of very different lengths: only the counts must be exchangeable."""
    random = np.random.default_rng(0)
    vocab = 20
    outputs = random.normal(size=(vocab, dim)) * np.geomspace(1, 100, vocab)[:, None]
    outputs -= outputs.mean(axis=0)
    totals = []
    for _ in range(400):
        times = random.multinomial(samples, np.full(vocab, 1 / vocab))
        weighted = outputs * np.sqrt(times)[:, None]
        leverage = (weighted @ np.linalg.pinv(weighted)).diagonal()
        totals.append((times * leverage).sum())
    rank = min(dim, vocab - 1)
    limit = min(rank * ((samples - 1) / vocab + 1), samples)
    assert np.mean(totals) <= limit + 4 * np.std(totals) / math.sqrt(len(totals))


@pytest.mark.parametrize("kind", ["identity", "relu", "tanh", "any"])
def test_one_token_of_many_explains_one_part_of_many_of_any_feature(kind):
    """By enumeration of all sequences: E[f | x] has at most 1/L of the covariance of f."""
    random = np.random.default_rng(1)
    vocab, length, width = 5, 4, 6
    sequences = np.array(list(itertools.product(range(vocab), repeat=length)))
    tokens = random.normal(size=(vocab, 3))
    mean = tokens[sequences].mean(axis=1)
    received = mean @ random.normal(size=(3, width))
    if kind == "any":  # a table of random numbers, one row for each bag of tokens
        bags = np.unique(np.sort(sequences, axis=1), axis=0, return_inverse=True)[1]
        features = random.normal(size=(bags.max() + 1, width))[bags.reshape(-1)]
    else:
        features = {"identity": mean, "relu": np.maximum(received, 0), "tanh": np.tanh(received)}[
            kind
        ]
    features = features - features.mean(axis=0)
    given_first = np.array([features[sequences[:, 0] == v].mean(axis=0) for v in range(vocab)])
    root = inverse_root(features.T @ features / len(features))
    shares = np.linalg.eigvalsh(root @ given_first.T @ given_first @ root / vocab)
    assert shares.max() <= 1 / length + 1e-9
    if kind == "identity":
        assert shares == pytest.approx(1 / length)


@pytest.mark.parametrize("activation", ["relu", "tanh", "quadratic"])
def test_an_mlp_carries_less_signal_than_the_bound_allows(activation):
    problem = Problem(vocab=128, samples=1, dim=16, length=8, width=64, activation=activation)
    with Threads() as threads, torch.no_grad():
        signals = feature_signals(Instance.make(problem, 0), threads).numpy()
    assert signals.max() <= 1 / 7 + 1e-9
    assert signals.sum() < 0.7 * 64 / 7
    own = feature_samples(signals, 128, 16)
    assert own > float(gradient_samples(128, 16, 8, width=64))
    needed = float(information_needed(128))
    assert feature_information(own, signals, 128, 16) == pytest.approx(needed)


def test_mean_features_are_those_of_sequences_with_the_token():
    """`feature_signals` compared with a simulation of the variance that a token explains."""
    problem = Problem(vocab=16, samples=1, dim=6, length=3, width=5, activation="tanh")
    instance = Instance.make(problem, 4)
    tokens = instance.task.draw(0, 200_000).tokens
    assert instance.hidden_weights is not None
    features = np.tanh(
        instance.tokens.numpy()[tokens].mean(axis=1) @ instance.hidden_weights.numpy().T
    )
    features -= features.mean(axis=0)
    given_first = np.array([features[tokens[:, 0] == v].mean(axis=0) for v in range(16)])
    root = inverse_root(features.T @ features / len(features))
    shares = np.linalg.eigvalsh(root @ given_first.T @ given_first @ root / 16)[::-1]
    with Threads() as threads, torch.no_grad():
        signals = feature_signals(instance, threads).numpy()
    assert signals == pytest.approx(shares / (1 - shares), rel=0.05)


def test_the_rank_is_that_of_mean_gradients():
    problem = Problem(vocab=6, samples=math.inf, dim=3, length=2)
    with Threads() as threads:
        means = [first_gradient(Instance.make(problem, 0), threads)]
        instance = Instance.make(problem, 0)
        for perm in PERMUTATIONS[6][::17]:
            # Labels are cached, so any others can be put in their place.
            instance.__dict__["labels"] = torch.from_numpy(perm)
            means.append(first_gradient(instance, threads))
    stacked = torch.stack([(mean - means[0]).reshape(-1) for mean in means])
    assert int(torch.linalg.matrix_rank(stacked)) == float(gradient_rank(6, 3)) == 9
    assert gradient_rank([6, 100], [50, 50], [7, 200]).tolist() == [25, 4950]


def test_unlimited_precision_is_beyond_the_assumption():
    """One number identifies a label and its bag of tokens: more information than (B8) allows.

    Real noise is not Gaussian but a sum of known numbers; the documentation says what that means.
    """
    instance = Instance.make(Problem(vocab=4, samples=1, dim=1, length=2, embedding="gaussian"), 0)
    outputs, tokens = instance.centred_outputs.numpy()[:, 0], instance.tokens.numpy()[:, 0]
    bags = list(itertools.combinations_with_replacement(range(4), 2))
    gradients = [output * tokens[list(bag)].mean() for output in outputs for bag in bags]
    assert np.diff(np.sort(gradients)).min() > 1e-6
    information, accuracy = posterior_facts(4, 2, 1, marked=False)
    assert information > float(gradient_information(1, 4, 1, 2))
    assert float(counting_samples(4, 2, accuracy)) <= 1
    assert float(coverage_samples(4, accuracy)) <= 1 + 1e-9


# The bound as a whole


sizes = st.integers(0, 40).map(lambda power: round(2 ** (power / 2)))
settings_of_a_bound = {
    "dim": sizes,
    "length": sizes,
    "width": st.none() | sizes,
    "accuracy": st.floats(0.01, 1.0),
}


@given(vocab=sizes, **settings_of_a_bound)
def test_more_tokens_need_more_samples(vocab, dim, length, width, accuracy):
    fewer, more = smallest_samples([vocab + 1, vocab + 2], dim, length, width, accuracy)
    assert fewer <= more * (1 + 1e-12)


@given(vocab=sizes, **settings_of_a_bound)
def test_more_accuracy_needs_more_samples(vocab, dim, length, width, accuracy):
    vocab = vocab + 1
    some, more = smallest_samples(vocab, dim, length, width, [accuracy / 2, accuracy])
    assert 0 <= some <= more


@given(samples=sizes, **settings_of_a_bound)
def test_the_largest_vocab_is_the_last_that_is_allowed(samples, dim, length, width, accuracy):
    vocab = largest_vocab(samples, dim, length, width, accuracy)
    if math.isfinite(vocab):
        assert smallest_samples(vocab + 1, dim, length, width, accuracy) > samples
        assert vocab == 1 or smallest_samples(vocab, dim, length, width, accuracy) <= samples


@given(vocab=sizes, dim=sizes, length=st.integers(2, 1000), width=st.none() | sizes)
def test_the_inversion_gives_back_the_information_needed(vocab, dim, length, width):
    vocab = vocab + 2
    samples = float(gradient_samples(vocab, dim, length, width))
    if 1 <= samples < 1e12:
        given_back = float(gradient_information(samples, vocab, dim, length, width))
        assert given_back == pytest.approx(float(information_needed(vocab)), rel=1e-6)
        signals = np.full(int(min(width or dim, vocab - 1)), 1 / (length - 1))
        assert feature_samples(signals, vocab, dim) == pytest.approx(samples, rel=1e-6)


def test_extremes_are_numbers():
    assert smallest_samples(10**9, 16, 64) == math.inf
    assert smallest_samples(2**53, 2**53, 2**53, 2**53) > 1e15
    assert feature_samples([1e-3], 10**9, 16) == math.inf
    assert feature_samples([0.0], 10, 16) == math.inf
    assert smallest_samples(2, 1, 1) == 0
    assert largest_vocab(1, 1, 1) >= 2
    assert gradient_information(math.inf, 512, 64, 32) == math.inf


def test_a_bound_is_fit_for_json():
    population = bound(Problem(vocab=512, samples=math.inf, dim=64, length=32, width=128), 0.9)
    plain = json.loads(json.dumps(population.to_dict(), allow_nan=False))["bound"]
    assert plain["vocab"] == "inf"
    assert plain["samples"] == max(
        plain["gradient_samples"], plain["counting_samples"], plain["coverage_samples"]
    )
    assert "Gaussian" in plain["assumption"]
    assert "Three-step" in plain["not_covered"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: information_needed(1), "vocab must be at least 2, not 1"),
        (lambda: information_needed(8, 0), "accuracy must be above 0 and at most 1, not 0"),
        (
            lambda: information_needed(8, math.nan),
            "accuracy must be above 0 and at most 1, not nan",
        ),
        (lambda: information_needed(8, "half"), "accuracy must be a number, not 'half'"),
        (lambda: gradient_samples(8, 0, 4), "dim must be at least 1, not 0"),
        (lambda: gradient_samples(8, 4, math.inf), "length must be at most 2^53, not inf"),
        (lambda: signal_to_noise(0, 8, 4, 4), "samples must be at least 1, not 0"),
        (lambda: largest_vocab(math.nan, 4, 4), "samples must be at least 1, not nan"),
        (lambda: feature_samples([-1.0], 8, 4), "signals must be at least 0, not [-1.0]"),
        (
            lambda: decoder_accuracy(Problem(vocab=8, samples=9, dim=4, length=2), 0, ["guess"]),
            f"decoder must be one of {', '.join(DECODERS)}, not 'guess'",
        ),
    ],
)
def test_errors_say_what_was_expected(call, message):
    with pytest.raises(ProblemError) as raised:
        call()
    assert str(raised.value) == message


# Decoders


@pytest.mark.parametrize(
    "fields",
    [
        {"vocab": 96, "samples": 400, "dim": 32, "length": 8},
        {"vocab": 96, "samples": 60, "dim": 90, "length": 2},
        {"vocab": 96, "samples": 1500, "dim": 32, "length": 8, "width": 96},
    ],
    ids=str,
)
def test_no_decoder_knows_more_than_the_gradient_says(fields):
    problem = Problem(**fields)
    found = [decoder_accuracy(problem, seed) for seed in range(12)]
    mean = {name: float(np.mean([row[name] for row in found])) for name in DECODERS}
    with Threads() as threads, torch.no_grad():
        signals = feature_signals(Instance.make(problem, 0), threads).numpy()
    information = feature_information(problem.samples, signals, problem.vocab, problem.dim)
    for accuracy in mean.values():
        assert float(information_needed(problem.vocab, accuracy)) <= information
        assert bound(problem, accuracy).samples <= problem.samples
    assert mean["hebbian argmax"] < mean["whitened assignment"]
    assert mean["message passing"] > 0.2  # high enough to test the bound


def test_message_passing_undoes_the_interference_that_stops_the_others():
    found = decoder_accuracy(Problem(vocab=128, samples=math.inf, dim=28, length=8), 0)
    assert found["hebbian assignment"] < found["whitened assignment"] < 0.8
    assert found["message passing"] > 0.95


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"trigger_in_values": True},
        {"length": 1},
        {"dim": 40, "embedding": "orthogonal"},
        {"width": 40},
        {"width": 40, "activation": "quadratic", "trigger_in_values": True},
        {"regime": "literal", "eta": 0.1, "gamma": 1.0},
    ],
    ids=str,
)
def test_matched_filters_find_every_label_once_the_noise_is_gone(change):
    problem = Problem(**{"vocab": 24, "samples": 200_000, "dim": 20, "length": 3} | change)
    found = decoder_accuracy(problem, 0)
    assert found["whitened assignment"] == found["message passing"] == 1


def test_a_decoder_gives_the_same_guesses_alone_and_in_a_batch():
    instance = Instance.make(Problem(vocab=32, samples=100, dim=16, length=3), 0)
    with Threads() as threads:
        gradient = first_gradient(instance, threads)
        together = decode(instance, gradient, threads)
        for name in DECODERS:
            assert decode(instance, gradient, threads, [name])[name].equal(together[name])
