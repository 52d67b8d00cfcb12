"""A plan next to a scaled-down model that is trained here, and its run as a sweep file."""

from __future__ import annotations

import json
import math
import sys
import tempfile

import pytest
from typer.testing import CliRunner

from recallscope import Problem, ProblemError, plan
from recallscope.cli.main import app
from recallscope.measure.sweep_file import read_sweep
from recallscope.model.parameters import parameters_of
from recallscope.planning import verify
from recallscope.planning.experiments import fields_of, full_size, smaller
from recallscope.planning.inputs import Inputs
from recallscope.planning.plan_in_words import verified as said_of
from recallscope.planning.shape import shape_from_config

SMOL = {"model_type": "llama", "hidden_size": 576, "intermediate_size": 1536, "vocab_size": 49152}
SMOL |= {"num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3}
SMOL |= {"tie_word_embeddings": True}
NARROW = SMOL | {"num_hidden_layers": 2, "hidden_size": 96, "intermediate_size": 256}
NARROW |= {"num_attention_heads": 6, "vocab_size": 64}
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024}
GPT2 |= {"vocab_size": 50257}
TINY = {"d_model": 16, "layers": 1, "heads": 2, "vocab": 64, "answers": 64, "progress": False}
MEMORY = {"method": "memory", "d_model": 24, "facts": 90, "exposures": 1000, "progress": False}


@pytest.fixture
def quick(monkeypatch):
    """Two seeds, and a short training on other facts."""
    monkeypatch.setattr(verify, "_SEEDS", 2)
    monkeypatch.setattr(verify, "_BASE_STEPS", 60)


def test_an_adapter_is_trained_on_a_model_that_knows_other_facts(quick):
    asked = {"method": "lora", "rank": 2, "target_modules": "all-linear"}
    found = plan(**TINY, **asked, facts=64, exposures=30, verify=True)
    seen = found.verification
    assert (seen.seeds, len(seen.recalls)) == ([0, 1], 2)
    assert all(0 < each < 1 for each in seen.recalls)
    assert seen.recall.low < sum(seen.recalls) / 2 == seen.recall.value < seen.recall.high
    assert seen.base_recall > 5 / 64
    assert found.laws[0].law in seen.planned
    for law, (_, low, high) in seen.planned.items():
        assert seen.inside[law] == (low <= seen.recall.value <= high)
    said = " ".join(said_of(found))
    assert f"Measured recall {seen.recall.value:.2f} (" in said
    assert "over tests and seeds 0, 1, in" in said
    assert "does not show" in said
    assert json.loads(json.dumps(found.to_dict()))["verification"]["seeds"] == [0, 1]


def test_a_memory_is_trained_by_its_own_learner(quick, tmp_path):
    page = tmp_path / "plan.html"
    asked = ["plan", "--method", "memory", "--d-model", "24", "--facts", "90", "--exposures", "9"]
    done = CliRunner().invoke(app, [*asked, "--verify", "--page", str(page)])
    assert done.exit_code == 0
    assert "recallscope trains a memory of dimension 24 (planned: 24)" in done.stderr
    assert "2 seeds, about" in done.stderr
    said = done.stdout.replace("\n", " ")
    assert "by the law converged, inside." in said
    assert "The size is that of your plan, but its facts are random" in said
    assert "by the law converged, inside." in page.read_text()


@pytest.mark.parametrize(("content", "kind"), [(SMOL, "llama"), (GPT2, "gpt2")])
@pytest.mark.parametrize("rank", [8, None])
def test_scaled_down_models_have_the_load_and_the_parameters_they_are_said_to(
    config, content, kind, rank
):
    shape = shape_from_config(config(content))
    method = "pretrain" if rank is None else "lora"
    modules = shape.usual_modules() if rank else ()
    whole = Inputs(
        method=method, shape=shape, facts=10**6, exposures=100, rank=rank, modules=modules
    )
    load = whole.facts * whole.question().bits / whole.trained
    few = [*smaller(whole)][:4]
    assert [each.shape.dim for each in few] == sorted({each.shape.dim for each in few})
    for small in few:
        assert (small.shape.kind, small.shape.layers) == (kind, 4)
        assert small.facts * math.log2(small.answers) / small.trained == pytest.approx(
            load, rel=0.01
        )
        problem = Problem.from_dict(fields_of(small))
        assert parameters_of(problem).trained == small.trained
        seen = problem["batch"] * problem["steps"] / small.facts
        assert seen == pytest.approx(100, rel=0.01)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (
            {"method": "pretrain", "facts": 50, "exposures": 1, "precision": "int4"},
            "no law answers",
        ),
        ({"method": "pretrain", "facts": 500, "exposures": 1}, "too few for 20 steps"),
        ({"method": "pretrain", "facts": 10**6, "exposures": 10**6}, "even the smallest"),
    ],
)
def test_what_cannot_be_scaled_down_is_said_in_a_sentence(config, how, said):
    found = plan(model=config(SMOL), verify=True, progress=False, **how)
    assert found.verification is None
    assert said in found.unverified
    assert said_of(found) == [f"Not verified: {found.unverified}."]


def test_no_learner_trains_a_memory_of_a_rank():
    found = plan(**MEMORY, rank=4, verify=True)
    assert "no learner here trains a memory of a rank" in found.unverified


def test_without_transformers_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setitem(sys.modules, "transformers.utils", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'recallscope\[models\]'"):
        plan(**TINY, method="pretrain", facts=500, exposures=60, verify=True)


def test_an_interrupt_leaves_no_file(quick, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def interrupt(done, total):
        if total > 1 or list(tmp_path.iterdir()):
            raise KeyboardInterrupt

    found = plan(**MEMORY)
    with pytest.raises(KeyboardInterrupt):
        verify.verified(found, interrupt, lambda said: interrupt(0, 2))
    with pytest.raises(KeyboardInterrupt):
        verify.verified(plan(**TINY, method="full", facts=150, exposures=60), interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"rank": 8}, {"rank": 8, "target_modules": "q_proj v_proj", "vocab": 64}),
        ({"method": "pretrain", "answers": 8}, {"rank": 0, "vocab": 64}),
        ({"method": "full", "frequencies": "zipf"}, {"frequencies": "zipf", "fresh": True}),
    ],
)
def test_the_run_at_full_size_is_read_back(config, tmp_path, how, expected):
    path = tmp_path / "sweep.toml"
    found = plan(
        **{"model": config(NARROW), "facts": 60_000, "exposures": 50, "progress": False, **how},
        export=path,
    )
    sweep = read_sweep(path)
    (problem,) = sweep.problems()
    assert sweep.seeds == 2
    assert {name: problem[name] for name in expected} == expected
    assert (problem.task, problem.model, problem.dim) == ("pairs", "huggingface", 96)
    bits = problem["facts"] * math.log2(problem.vocab)
    assert bits == pytest.approx(60_000 * found.inputs.question().bits, rel=1e-3)
    assert problem["batch"] * problem["steps"] / problem["facts"] == pytest.approx(50, rel=1e-3)
    trained = parameters_of(problem).trained
    assert trained == full_size(found.inputs).trained == found.inputs.trained


def test_weights_in_the_folder_are_what_the_sweep_adapts(config, tmp_path):
    folder = config(NARROW).parent
    (folder / "model.safetensors").write_bytes(b"weights")
    plan(model=folder, rank=8, facts=99, exposures=50, export=tmp_path / "a.toml", progress=False)
    assert f"checkpoint = '{folder}'" in (tmp_path / "a.toml").read_text()


def test_a_written_sweep_is_estimated_by_the_command(tmp_path):
    path, store = str(tmp_path / "sweep.toml"), str(tmp_path / "store")
    plan(**TINY, method="pretrain", facts=500, exposures=20, export=path)
    done = CliRunner().invoke(app, ["sweep", path, "--store", store, "--dry-run"])
    assert done.exit_code == 0
    assert "core-hours" in done.stdout


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"export": "sweep.json"}, "a sweep file is written as .toml"),
        ({"export": "missing/sweep.toml"}, "there is no folder 'missing'"),
        (
            {"method": "full", "precision": "int4", "export": "sweep.toml"},
            "there is no run to write: .* no law of quantised weights",
        ),
    ],
)
def test_mistakes_of_an_export_say_what_was_expected(how, said):
    with pytest.raises(ProblemError, match=said):
        plan(**TINY | {"facts": 50, "exposures": 9} | how)
