"""The audit: files it reads, statistics of rows, files it refuses, and its page in a browser."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFWriter, quantize
from safetensors.torch import save_file

import recallscope
from browser import browser, open_tab
from inline_code import inline_code
from lanes import slow_after_first
from recallscope.audits import used_rows as rows_in_use
from recallscope.audits.audit import Audit
from recallscope.audits.table_statistics import table_statistics
from recallscope.audits.used_rows import used_rows
from recallscope.checkpoints.open_checkpoint import checkpoints_in, open_checkpoint
from recallscope.checkpoints.stored_table import table_of
from recallscope.problem import ProblemError
from recallscope.theory.table_moments import effective_dim

DIM = 16  # of all tables: the capacity after training is computed once for each
RNG = np.random.default_rng(0)
ROWS = (RNG.standard_normal((300, DIM)) + 0.5).astype(np.float32)
HEAD = RNG.standard_normal((300, DIM)).astype(np.float32)
QUIET = {"progress": False}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A folder as libraries write it: two shards, an index, a tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    embed = {"model.embed_tokens.weight": torch.from_numpy(ROWS).bfloat16()}
    save_file(embed | {"model.norm.weight": torch.ones(DIM)}, folder / "a.safetensors")
    save_file({"lm_head.weight": torch.from_numpy(HEAD).half()}, folder / "b.safetensors")
    places = dict.fromkeys((*embed, "model.norm.weight"), "a.safetensors")
    index = {"weight_map": places | {"lm_head.weight": "b.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    vocab = {f"Ġw{number}": number for number in range(299)}
    added = [{"id": 299, "content": "[unused1]"}]
    tokenizer = {"model": {"vocab": vocab}, "added_tokens": added}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder


@pytest.fixture(scope="module")
def found(model) -> Audit:
    return recallscope.audit(model, **QUIET)


def test_a_sharded_folder_is_read(found):
    (checkpoint,) = found.checkpoints
    inputs, outputs = checkpoint.tables
    assert (inputs.name, inputs.kind, inputs.role) == (
        *("model.embed_tokens.weight", "BF16"),
        "inputs",
    )
    assert (outputs.name, outputs.kind, outputs.role) == ("lm_head.weight", "F16", "outputs")
    assert (inputs.rows, inputs.used_rows, inputs.dim) == (300, 300, DIM)
    assert inputs.called_unused == 1
    assert set(inputs.tokens.values()) <= {
        *(f"␣w{number}" for number in range(299)),
        "[unused1]",
    }
    for table, rows in ((inputs, ROWS), (outputs, HEAD)):
        for how in ("raw", "centred"):
            expected = effective_dim(rows, centred=how == "centred")
            assert table.statistics.effective_dim[how] == pytest.approx(expected, rel=0.01)


def test_json_has_what_programs_look_for(found):
    (checkpoint,) = json.loads(json.dumps(found.to_dict(), allow_nan=False))["checkpoints"]
    for table in checkpoint["tables"]:
        assert {"rows", "used_rows", "dim", "effective_dim", "facts"} <= table.keys()
        assert table["effective_dim"].keys() == {"raw", "centred"}
        for memory in ("one_step", "trained"):
            counts = table["facts"][memory]
            assert counts.keys() == {"0.5", "0.9", "0.99"}
            assert counts["0.5"] >= counts["0.9"] >= counts["0.99"]
        assert table["facts"]["one_step"]["0.9"] < table["facts"]["trained"]["0.9"]


def gguf_file(path: Path, kind: GGMLQuantizationType) -> None:
    writer = GGUFWriter(path, "llama")
    writer.add_token_list([f"▁t{number}" for number in range(64)])
    table = np.random.default_rng(1).standard_normal((64, 32)).astype(np.float32)
    writer.add_tensor("token_embd.weight", quantize(table, kind), raw_dtype=kind)
    for write in ("header_to_file", "kv_data_to_file", "tensors_to_file"):
        getattr(writer, f"write_{write}")()
    writer.close()


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0"])
def test_gguf_is_read_row_by_row(kind, tmp_path):
    path = tmp_path / "model.gguf"
    gguf_file(path, GGMLQuantizationType[kind])
    opened = open_checkpoint(path)
    table = np.random.default_rng(1).standard_normal((64, 32))
    assert (opened.tables.inputs.kind, opened.tokens[3]) == (kind, "▁t3")
    close = {"F16": 1e-2, "BF16": 3e-2, "Q8_0": 3e-2, "Q4_0": 0.5}[kind]
    np.testing.assert_allclose(opened.tables.inputs.read(10, 20), table[10:20], atol=close)
    chosen = np.array([0, 3, 4, 63])
    np.testing.assert_allclose(opened.tables.inputs.take(chosen), table[chosen], atol=close)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f2", "<f4", ">f8", "<i4"])
def test_numpy_files_are_read(order, kind, tmp_path):
    table = np.asarray((4 * ROWS).round(), dtype=kind, order=order)
    np.save(tmp_path / "rows.npy", table)
    np.savez_compressed(tmp_path / "rows.npz", tokens=table.astype("f4"), outputs=HEAD)
    single = open_checkpoint(tmp_path / "rows.npy").tables
    np.testing.assert_array_equal(single.inputs.read(5, 300), table[5:])
    several = open_checkpoint(tmp_path / "rows.npz").tables
    assert (several.inputs.name, several.outputs.name) == ("tokens", "outputs")


def test_tiles_change_nothing(monkeypatch):
    whole = table_statistics(used_rows(table_of(ROWS, "rows")))[0]
    monkeypatch.setattr(rows_in_use, "_TILE", 4 * DIM * 7)
    tiled = table_statistics(used_rows(table_of(ROWS, "rows")))[0]
    assert tiled.effective_dim == pytest.approx(whole.effective_dim, rel=1e-5)
    assert tiled.participation_ratio == pytest.approx(whole.participation_ratio, rel=1e-5)
    assert [row for row, _ in tiled.worst["longest"]] == [row for row, _ in whole.worst["longest"]]


def test_a_sample_of_a_large_table_has_a_standard_error(monkeypatch):
    monkeypatch.setattr("recallscope.audits.table_statistics._WORK", 0)
    monkeypatch.setattr("recallscope.audits.table_statistics._LEAST_SAMPLE", 1000)
    rows = np.random.default_rng(2).standard_normal((4000, DIM)) * np.geomspace(1, 0.2, DIM)
    statistics = table_statistics(used_rows(table_of(rows, "rows")))[0]
    assert statistics.sampled == 1000
    for how in ("raw", "centred"):
        error = statistics.effective_dim_error[how]
        assert 0 < error < 0.1 * statistics.effective_dim[how]
        exact = effective_dim(rows, centred=how == "centred")
        assert abs(statistics.effective_dim[how] - exact) < 4 * error


def test_familiar_names_have_their_usual_definitions():
    rows = np.random.default_rng(3).standard_normal((5000, DIM)) * np.geomspace(1, 0.1, DIM)
    statistics = table_statistics(used_rows(table_of(rows, "rows")))[0]
    values = np.linalg.eigvalsh(np.cov(rows.T, bias=True))
    ratio = values.sum() ** 2 / np.square(values).sum()
    assert statistics.participation_ratio == pytest.approx(ratio, rel=1e-4)
    assert statistics.stable_rank == pytest.approx(values.sum() / values.max(), rel=1e-4)
    # IsoScore as it was defined, step by step.
    scaled = np.sqrt(DIM) * values / np.linalg.norm(values)
    defect = np.linalg.norm(scaled - 1) / np.sqrt(2 * (DIM - np.sqrt(DIM)))
    share = (DIM - defect**2 * (DIM - np.sqrt(DIM))) ** 2 / DIM**2
    assert statistics.isoscore == pytest.approx((DIM * share - 1) / (DIM - 1), rel=1e-4)


def test_unused_rows_are_counted_by_kind():
    rows = np.random.default_rng(4).standard_normal((2000, DIM)).astype(np.float32)
    along = np.random.default_rng(5).standard_normal(DIM)
    rows[0], rows[1], rows[2] = np.nan, 0, rows[3]
    spread = np.random.default_rng(6).uniform(0.5, 3, (500, 1))
    noise = 0.01 * np.random.default_rng(7).standard_normal((500, DIM))
    rows[1500:] = spread * along + noise
    found = used_rows(table_of(rows, "rows"))
    assert found.unused == {"not_finite": 1, "zero": 1, "equal": 1, "on_a_line": 500}
    assert found.numbers.tolist() == [2, *range(4, 1500)]


def test_random_rows_are_all_in_use():
    for dim in (8, 16, 64):
        rows = np.random.default_rng(dim).standard_normal((4000, dim)) + 3
        assert used_rows(table_of(rows, "rows")).unused == {}


@pytest.mark.parametrize("name", ["model.pt", "model.bin", "model.ckpt", "model.unknown"])
def test_a_pickle_is_refused_with_how_to_convert_it(name, tmp_path):
    (tmp_path / name).write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ProblemError, match=r"pickled checkpoint.* save_file"):
        open_checkpoint(tmp_path / name)


def test_an_unknown_matrix_is_reported_with_similar_names(model):
    with pytest.raises(ProblemError, match=r"no matrix 'lm_haed.weight'; did you mean lm_head"):
        open_checkpoint(model, inputs="lm_haed.weight")
    assert open_checkpoint(model, inputs="lm_head.weight").tables.inputs.name == "lm_head.weight"


@pytest.mark.slow
def test_a_folder_along_a_training_is_a_curve(tmp_path):
    for step in (100, 20, 3):
        np.save(tmp_path / f"step-{step}.npy", ROWS + step / 50)
    assert [path.stem for path in checkpoints_in(tmp_path)] == ["step-3", "step-20", "step-100"]
    found = recallscope.audit(tmp_path, **QUIET)
    assert found.steps == [3, 20, 100]
    dims = [row["effective_dim_raw"] for row in found.rows()]
    assert dims == sorted(dims, reverse=True)
    assert len(found.plot().axes) >= 2


@pytest.mark.slow
def test_experiments_agree_with_predictions():
    rows = np.random.default_rng(8).standard_normal((600, DIM))
    (checkpoint,) = recallscope.audit(rows, measure=True, **QUIET).checkpoints
    for memory, seen in checkpoint.measured.items():
        assert seen.measured[0.5] == pytest.approx(seen.predicted[0.5], rel=0.2), memory
        assert seen.low[0.5] <= seen.measured[0.5] <= seen.high[0.5]


@pytest.mark.slow
def test_large_matrices_are_announced(monkeypatch):
    monkeypatch.setattr("recallscope.api.audit._WORTH_SAYING", 100)
    with pytest.warns(UserWarning, match="matrices of 16×16 take"):
        recallscope.audit(ROWS, **QUIET)
    monkeypatch.setattr("recallscope.api.audit.memory_left", lambda: 1000.0)
    with pytest.raises(ProblemError, match="would take"):
        recallscope.audit(ROWS, **QUIET)


def test_the_command_says_the_two_numbers_first(model, command, tmp_path):
    done = command("audit", str(model))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("One step of learning could store ")
    assert "What this does not say" in done.stdout
    (tmp_path / "a.pt").write_bytes(b"\x80\x04")
    done = command("audit", str(tmp_path / "a.pt"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_the_page_has_no_code_in_its_attributes(found, tmp_path):
    found.write_page(tmp_path / "audit.html")
    assert inline_code((tmp_path / "audit.html").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(("width", "mobile"), slow_after_first([(390, True), (1280, False)]))
def test_a_browser_shows_the_page_and_asks_for_nothing(found, tmp_path, width, mobile):
    page = tmp_path / "audit.html"
    both = Audit(checkpoints=(found.checkpoints[0], found.checkpoints[0]))
    both.write_page(page)
    with browser() as chromium:
        tab = open_tab(chromium, page.as_uri(), width, mobile)
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        images = "[...document.images].every(each => each.complete && each.naturalWidth > 100)"
        assert tab.page.evaluate(images)
        assert [url for url in tab.requests if not url.startswith("data:")] == [page.as_uri()]
        assert tab.barriers() == []
        assert tab.complaints == []
