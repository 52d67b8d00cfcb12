from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from made_parts import made

from recallscope import Embeddings, Instance, Problem, ProblemError, run
from recallscope.model.embeddings import draw_embeddings
from recallscope.model.family import Family, draw_hidden_weights


def drawn(family, vocab=2000, dim=50, seed=0):
    problem = Problem(vocab=vocab, samples=1, dim=dim, length=1, embedding=family)
    return draw_embeddings(problem, seed)


@pytest.mark.parametrize("family", ["sphere", "gaussian", "rademacher"])
def test_families_are_isotropic_and_independent(family):
    e = drawn(family)
    for array in (e.tokens, e.outputs):
        covariance = array.T @ array / len(array)
        # 2000 rows: the spectrum of such a matrix lies within (1 ± √(50/2000))² of the mean.
        spectrum = np.linalg.eigvalsh(covariance) * 50
        assert spectrum.min() > 0.65
        assert spectrum.max() < 1.4
        assert np.linalg.norm(array.mean(axis=0)) < 3 / np.sqrt(2000)
    assert abs(np.mean(e.tokens * e.outputs) * 50) < 4 / np.sqrt(2000 * 50)
    assert abs(e.trigger @ e.end) < 0.6


def test_norms_are_those_of_the_family():
    norms = {f: np.linalg.norm(drawn(f).tokens, axis=1) for f in ("sphere", "rademacher")}
    for norm in norms.values():
        np.testing.assert_allclose(norm, 1, rtol=1e-12)
    gaussian = np.linalg.norm(drawn("gaussian").tokens, axis=1)
    assert gaussian.std() == pytest.approx(1 / np.sqrt(2 * 50), rel=0.1)


def test_orthogonal_embeddings_are_orthonormal_with_the_trigger():
    e = drawn("orthogonal", vocab=49, dim=50)
    keys = np.vstack([e.tokens, e.trigger])
    np.testing.assert_array_equal(keys @ keys.T, np.eye(50))
    np.testing.assert_array_equal(e.outputs @ e.outputs.T, np.eye(49))


def test_embeddings_depend_on_seed_and_sizes_and_nothing_else():
    e = drawn("sphere", vocab=9000)  # more than one block of rows
    np.testing.assert_array_equal(e.tokens, drawn("sphere", vocab=9000).tokens)
    assert not np.array_equal(e.tokens, drawn("sphere", vocab=9000, seed=1).tokens)
    assert not np.array_equal(e.tokens[:100], drawn("sphere", vocab=100).tokens)
    assert not np.array_equal(e.tokens, e.outputs)


def test_independent_rows_are_drawn_in_the_number_that_is_needed():
    """A family may scale its rows by all that it draws, so one row too many changes the others."""
    asked = []

    def rows(random, count, dim):
        asked.append(count)
        return random.standard_normal((count, dim))

    made(Family, name="counted", rows=rows).draw(
        Problem(vocab=20, samples=1, dim=8, length=1), 0, np.float64
    )
    assert asked == [20, 20, 1, 1]  # tokens, outputs, the trigger and the end


def test_float32_embeddings_are_the_float64_ones_rounded():
    problem = Problem(vocab=100, samples=1, dim=8, length=1)
    single, double = (draw_embeddings(problem, 0, dtype) for dtype in (np.float32, np.float64))
    np.testing.assert_array_equal(single.tokens, double.tokens.astype(np.float32))


def test_hidden_weights_are_standard_normal():
    weights = draw_hidden_weights(400, 50, seed=0)
    assert weights.mean() == pytest.approx(0, abs=4 / np.sqrt(weights.size))
    assert weights.var() == pytest.approx(1, abs=0.05)


def arrays_of(embeddings):
    return {name: getattr(embeddings, name) for name in ("tokens", "outputs", "trigger", "end")}


@pytest.fixture
def own():
    rng = np.random.default_rng(0)
    return Embeddings(
        tokens=rng.standard_normal((64, 16)) / 4,
        outputs=rng.standard_normal((64, 16)) / 4,
        trigger=rng.standard_normal(16) / 4,
        end=np.eye(16)[0],
    )


def test_own_arrays_are_used_and_survive_a_file(own, tmp_path):
    own.save(tmp_path / "own.npz")
    loaded = Embeddings.load(tmp_path / "own.npz")
    assert loaded.name == own.name
    problem = Problem(vocab=64, samples=4096, dim=16, length=4, embedding=own.name)
    record = run(problem, embeddings=loaded)
    assert record.status == "ok"
    assert record.result() == run(problem, embeddings=own).result()
    with pytest.raises(ProblemError, match="give these arrays as `embeddings`"):
        run(problem)
    with pytest.raises(ProblemError, match=r"vocab=64, dim=16, but the problem has vocab=65"):
        run(problem.replace(vocab=65), embeddings=own)
    with pytest.raises(ProblemError, match=r"write Problem\(…, embedding=arrays.name\)"):
        run(problem.replace(embedding="sphere"), embeddings=own)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"trigger": np.zeros(15)}, r"trigger must have shape \(16,\)"),
        ({"outputs": np.zeros((64, 15))}, r"outputs must have shape \(64, 16\)"),
        ({"tokens": np.zeros(16)}, "tokens must be vocab×dim"),
        ({"end": np.full(16, np.nan)}, "end holds values that are not finite"),
        ({"end": np.arange(16)}, "end must hold floating-point numbers, not int64"),
        ({"end": [0.0] * 16}, "end must hold floating-point numbers, not list"),
    ],
)
def test_arrays_of_the_wrong_kind_are_refused(own, change, sentence):
    with pytest.raises(ProblemError, match=sentence):
        Embeddings(**arrays_of(own) | change)


def npz(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(array, **how):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **how)
    return buffer.getvalue()


HUGE = npy(np.zeros(16)).replace(b"(16,), }" + 8 * b" ", b"(9999999999,), }")


def deflated(size):
    """Zeros, which deflate to a thousandth of their size."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("tokens", "outputs", "trigger", "end"):
            archive.writestr(f"{name}.npy", npy(np.zeros(size)))
    return buffer.getvalue()


def test_a_file_that_unfolds_to_more_than_there_is_memory_is_refused(tmp_path, monkeypatch):
    (tmp_path / "own.npz").write_bytes(deflated(100_000))
    monkeypatch.setattr("recallscope.problem.given_embeddings.machine_memory", lambda: 1e6)
    with pytest.raises(ProblemError, match=r"claim 0\.00298 GiB; this machine has"):
        Embeddings.load(tmp_path / "own.npz")


def test_a_damaged_file_is_refused_or_read_unchanged(own, tmp_path):
    own.save(tmp_path / "own.npz")
    sound = (tmp_path / "own.npz").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(sound)
        for place in rng.integers(0, len(sound), 3):
            damaged[place] = rng.integers(256)
        (tmp_path / "own.npz").write_bytes(bytes(damaged))
        try:
            assert Embeddings.load(tmp_path / "own.npz").name == own.name
        except ProblemError:
            continue


def test_own_arrays_are_copied(own):
    problem = Problem(vocab=64, samples=10, dim=16, length=4, embedding=own.name)
    instance = Instance.make(problem, 0, embeddings=own)
    before = instance.tokens.clone()
    own.tokens[:] = 0
    assert instance.tokens.equal(before)


def test_arrays_of_any_layout_and_precision_are_taken(own):
    for change in (own.tokens[::-1], own.tokens.astype(">f8"), own.tokens.astype(np.float32)):
        other = Embeddings(**arrays_of(own) | {"tokens": change})
        problem = Problem(vocab=64, samples=100, dim=16, length=4, embedding=other.name)
        assert run(problem, embeddings=other).status == "ok"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"not a zip", "cannot read embedding arrays"),
        (npz(tokens=npy(np.zeros((2, 2)))), "has no array 'outputs'"),
        (npz(tokens=b"junk"), "cannot read embedding arrays"),
        (npz(tokens=npy(np.array([{}], dtype=object), allow_pickle=True)), "holds Python objects"),
        (npz(tokens=npy(np.zeros(16))[:-200]), "cannot read embedding arrays"),
        (npz(tokens=npy(np.zeros(16))[:16]), "cannot read embedding arrays"),
        (npz(tokens=HUGE), "claims 79999999992 bytes but the file holds fewer"),
    ],
)
def test_malformed_files_are_refused(tmp_path, content, sentence):
    (tmp_path / "own.npz").write_bytes(content)
    with pytest.raises(ProblemError, match=sentence):
        Embeddings.load(tmp_path / "own.npz")
