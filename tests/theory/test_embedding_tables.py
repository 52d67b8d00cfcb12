"""Theory for given embedding matrices; for random ones it agrees with the closed forms."""

from __future__ import annotations

import math
import tracemalloc
from functools import partial

import numpy as np
import pytest

from recallscope import Problem, predict, run, solve
from recallscope.common.errors import ProblemError
from recallscope.model.embeddings import draw_embeddings
from recallscope.problem.given_embeddings import Embeddings
from recallscope.theory import table_prediction
from recallscope.theory.choosing import NoLawError
from recallscope.theory.prediction import Prediction
from recallscope.theory.required_size import Solution
from recallscope.theory.table_attention import attention_draws, attention_law
from recallscope.theory.table_moments import effective_dim, table_moments
from recallscope.theory.table_prediction import predict_table, table_bytes

SIZES = {"vocab": 256, "samples": 1024, "dim": 48, "length": 8}


@pytest.mark.parametrize(
    "sizes",
    [
        SIZES,
        SIZES | {"samples": 4096, "length": 64},
        SIZES | {"vocab": 512, "samples": 1024, "length": 128},
        SIZES | {"samples": math.inf, "dim": 32},
        SIZES | {"embedding": "gaussian"},
    ],
)
def test_tables_of_random_embeddings_are_predicted_as_such(sizes):
    problem = Problem(**sizes)
    tables = [partial(draw_embeddings, problem, seed) for seed in range(4)]
    found, known = predict_table(problem, tables), predict(problem)
    for name in ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy"):
        off = found.accuracies[name] - known.accuracies[name]
        assert abs(off) < 0.015 + 4 * found.errors[name], name


@pytest.mark.parametrize(
    "structure",
    [
        {"common_mean": 0.7},
        {"spectrum": 0.8},
        {"clusters": 12, "cluster_share": 0.4},
        {"length_spread": 0.3, "tied": 1.0},
        {"rank": 24},
        {"spectrum": 1.5, "rank": 12},  # most labels are shorter than what they overlap with
        {"length_spread": 0.5, "clusters": 16},
    ],
    ids=str,
)
def test_structured_tables_are_predicted(structure):
    problem = Problem(**SIZES, embedding="structured", **structure)
    found = predict(problem)
    runs = [run(problem, seed) for seed in range(100, 116)]
    for name in ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy"):
        values = [getattr(each, name) for each in runs]
        error = math.hypot(np.std(values) / math.sqrt(len(values)), found.errors[name])
        assert abs(np.mean(values) - getattr(found, name)) < 0.015 + 4 * error, name


# Every term of the attention vector, compared with batches that were drawn.


def measured_vectors(table, samples, length, batches, rng):
    """τ and β of (T1), batch by batch, with a random permutation each."""
    z, q, vocab = table.tokens + table.mean, table.outputs, table.vocab
    signals, vectors = [], []
    for _ in range(batches):
        tokens = rng.integers(vocab, size=(samples, length))
        # The trigger marks the first token: positions do not matter.
        labels = q[rng.permutation(vocab)[tokens[:, 0]]]
        rows = z[tokens]
        total = rows.sum(axis=1)
        back = labels @ (labels.T @ total)  # Σ_n' (q_n · q_n') S_n'
        scores = np.einsum("nld,nd->nl", rows, back)
        scores -= scores.mean(axis=1, keepdims=True)
        unit = vocab / samples**2
        signals.append(unit * scores[:, 0].sum())
        vectors.append(unit * np.einsum("nl,nld->d", scores, rows))
    return np.array(signals), np.array(vectors)


@pytest.mark.parametrize(
    "structure", [{"common_mean": 1.0}, {"spectrum": 1.0}, {"length_spread": 0.5}], ids=str
)
def test_the_law_of_the_attention_vector_is_that_of_batches(structure):
    sizes = {"vocab": 64, "samples": 128, "dim": 12, "length": 12}
    problem = Problem(**sizes, embedding="structured", **structure)
    drawn = draw_embeddings(problem, 0)
    table = table_moments(drawn.tokens, drawn.outputs)
    rng = np.random.default_rng(1)
    signals, vectors = measured_vectors(table, 128, 12, 1500, rng)
    law = attention_law(table, 128, 12)
    assert signals.mean() == pytest.approx(law.signal, abs=4 * signals.std() / math.sqrt(1500))
    gained, predicted = attention_draws(law, table, 12, 1500, rng)
    scores, expected = vectors @ table.tokens.T, predicted @ table.tokens.T
    # The pull of mean and lengths, as scores of tokens: along the expected one and in size.
    mean, expected_mean = scores.mean(axis=0), expected.mean(axis=0)
    noise = scores.std(axis=0).mean() / math.sqrt(1500)
    if np.std(expected_mean) > 4 * noise:
        assert np.corrcoef(mean, expected_mean)[0, 1] > 0.9
        assert np.std(mean) == pytest.approx(np.std(expected_mean), rel=0.25)
    assert scores.std(axis=0).mean() == pytest.approx(expected.std(axis=0).mean(), rel=0.25)
    assert signals.std() == pytest.approx(gained.std(), rel=0.25)


def test_an_effective_dimension_is_that_of_random_rows():
    rows = np.random.default_rng(0).standard_normal((3000, 40))
    assert effective_dim(rows, centred=False) == pytest.approx(40, rel=0.03)
    assert effective_dim(rows + 2.0, centred=False) < 2
    assert effective_dim(rows + 2.0, centred=True) == pytest.approx(40, rel=0.03)
    with_nothing = np.concatenate([rows, np.zeros((500, 40))])
    assert effective_dim(with_nothing, centred=False) == pytest.approx(40, rel=0.03)


# As a user meets it.


def test_own_arrays(tmp_path, command):
    problem = Problem(**SIZES, embedding="structured", common_mean=0.5)
    own = draw_embeddings(problem, 3)
    named = Problem(**SIZES, embedding=own.name)
    found = predict(named, embeddings=own)
    assert isinstance(found, Prediction)
    assert Prediction.from_dict(found.to_dict()) == found
    assert 0.1 < found.recall_accuracy < 0.3
    assert found.noise["recall"]["mean_vector"] > 0.05
    assert predict(named).reason == "no closed form for your arrays"
    own.save(tmp_path / "own.npz")
    sizes = [part for name, size in SIZES.items() for part in (f"--{name}", str(size))]
    done = command("predict", *sizes, "--embedding", str(tmp_path / "own.npz"))
    assert done.returncode == 0, done.stderr
    assert f"{found.recall_accuracy:.4f}" in done.stdout
    assert "mean vector" in done.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"width": 32}, "an MLP"),
        ({"trigger_in_values": True}, "trigger in the values"),
        ({"regime": "literal", "eta": 0.1, "gamma": 1.0}, "finite steps"),
    ],
)
def test_problems_without_a_derivation_are_not_predicted(change, said):
    found = predict(Problem(**SIZES, embedding="structured", **change))
    assert found.recall_accuracy is None
    assert said in found.reason


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"learner": "adam"}, "no law of training at embedding structured"),
        ({"learner": "sgd"}, "no closed form for the learner sgd"),
        (
            {"task": "memory", "length": 1, "learner": "converged"},
            "no law of training at embedding structured",
        ),
    ],
)
def test_no_size_is_solved_for_parts_without_a_law(change, said):
    """A table adds no law for a learner or a task."""
    problem = Problem(**SIZES, embedding="structured").replace(**change)
    with pytest.raises(NoLawError, match=said):
        solve(problem, "samples")


def test_arrays_must_be_those_that_are_named():
    own = draw_embeddings(Problem(**SIZES), 0)
    with pytest.raises(ProblemError, match="the arrays given are"):
        predict(Problem(**SIZES), embeddings=own)
    with pytest.raises(ProblemError, match="embeddings are for one problem"):
        predict([Problem(**SIZES)], embeddings=own)


def test_the_family_has_the_structure_asked_for():
    def drawn(**structure) -> Embeddings:
        return draw_embeddings(
            Problem(**SIZES | {"vocab": 2048}, embedding="structured", **structure), 5
        )

    plain = drawn()
    assert np.square(plain.tokens).sum(axis=1).mean() == pytest.approx(1, rel=0.05)
    assert np.linalg.norm(drawn(common_mean=2.0).tokens.mean(axis=0)) == pytest.approx(2, rel=0.05)
    assert np.linalg.matrix_rank(drawn(rank=7).tokens) == 7
    values = np.linalg.eigvalsh(np.cov(drawn(spectrum=1.0).tokens.T))[::-1]
    assert values[0] / values[15] == pytest.approx(16, rel=0.25)
    assert np.array_equal(drawn(tied=1.0).tokens, drawn(tied=1.0).outputs)
    lengths = np.log(np.linalg.norm(drawn(length_spread=0.5).tokens, axis=1))
    assert lengths.std() == pytest.approx(math.hypot(0.5, 0.1), rel=0.1)
    assert effective_dim(drawn(clusters=4, cluster_share=0.8).tokens, centred=False) < 20
    with pytest.raises(ProblemError, match="rank must be at most dim=48, not 49"):
        drawn(rank=49)


def test_a_size_is_solved_for_on_arrays():
    sizes = {"vocab": 32, "samples": 256, "dim": 32, "length": 4}
    own = draw_embeddings(Problem(**sizes, embedding="structured", common_mean=0.5), 0)
    problem = Problem(**sizes, embedding=own.name)
    found = solve(problem, "samples", target=0.6, embeddings=own)
    assert isinstance(found, Solution)
    assert Solution.from_dict(found.to_dict()) == found
    assert found.prediction.recall_accuracy == pytest.approx(0.6, abs=0.04)
    fewer = predict(problem.replace(samples=found.value // 2), embeddings=own)
    assert fewer.recall_accuracy < 0.6
    never = solve(problem, "length", target=0.999, embeddings=own)
    assert never.status == "not_reached"
    assert "length = 2" in never.reason
    with pytest.raises(ProblemError, match="samples or length, not 'vocab'"):
        solve(problem, "vocab", embeddings=own)


# Tables of any size: their memory is known before they are drawn.


def test_tables_that_do_not_fit_are_refused_before_they_are_drawn(monkeypatch):
    monkeypatch.setattr(table_prediction, "machine_memory", lambda: 4 * 2.0**30)
    large = Problem(vocab=20_000, samples=80_000, dim=4096, length=8, embedding="structured")
    tracemalloc.start()
    with pytest.raises(ProblemError, match=r"needs about .* GiB of memory, more than 2 GiB"):
        predict(large)
    with pytest.raises(ProblemError, match="make vocab or dim smaller"):
        predict([large])
    with pytest.raises(ProblemError, match="make vocab or dim smaller"):
        solve(large, "samples")
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_one_table_is_in_memory_at_a_time():
    """Once all sixteen were in memory together, four times as much."""
    problem = Problem(vocab=512, samples=2048, dim=256, length=8, embedding="structured")
    tracemalloc.start()
    predict(problem)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.5 * table_bytes(problem, 8) < peak < table_bytes(problem, 8)


def test_sizes_that_do_not_fit_are_not_tried(monkeypatch):
    problem = Problem(**SIZES | {"samples": 64}, embedding="structured", common_mean=5.0)
    memory = table_bytes(problem.replace(dim=64))
    monkeypatch.setattr(table_prediction, "machine_memory", lambda: 2 * memory)
    found = solve(problem, "dim", target=0.99)
    assert found.status == "not_reached"
    assert "sizes from 4 to 64 were tried" in found.reason
    assert found.problem.dim <= 64


def test_progress_of_tables_is_reported():
    problem = Problem(vocab=32, samples=64, dim=8, length=4, embedding="structured")
    for ask in (predict, lambda one, progress: solve(one, "length", progress=progress)):
        calls = []
        ask(problem, progress=lambda done, total: calls.append(done / total))  # noqa: B023
        assert len(calls) > 100
        assert calls == sorted(calls)
        assert calls[0] >= 0
        assert calls[-1] <= 1
