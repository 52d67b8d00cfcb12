"""Stock transformers: their triggers and options, LoRA, checkpoints and bit-equal results."""

from __future__ import annotations

import json

import pytest
import torch
from trainings import stopped_and_resumed

import recallscope
from recallscope import Problem, ProblemError, Status, Store, run
from recallscope.model.parameters import parameters_of
from recallscope.model.setup import Setup

GPT = Problem(
    vocab=16, samples=256, dim=16, length=4, model="gpt", learner="adamw", steps=300, batch=64,
    layers=1, learning_rate=0.01,
)  # fmt: skip
GPT2 = {"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_positions": 16}
LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2}
LLAMA |= {"intermediate_size": 32, "max_position_embeddings": 16}
NEOX = LLAMA | {"model_type": "gpt_neox"}
STOCK = Problem(
    vocab=8, samples=32, dim=8, length=3, model="huggingface", config=GPT2, learner="adamw",
    steps=4, batch=16, trigger="marked-id",
)  # fmt: skip
BARE = {
    **{"positions": False, "layer_norm": False, "residual": False, "mlp_ratio": 0.0},
    "freeze_embeddings": True,
}


@pytest.mark.parametrize("trigger", ["vector", "marked-id"])
def test_one_layer_finds_a_vector_and_a_second_id(trigger):
    assert run(GPT.replace(trigger=trigger)).recall_accuracy > 0.9


def test_one_layer_learns_samples_with_a_token_but_not_to_find_it():
    record = run(GPT.replace(trigger="token", steps=600))
    assert record.metric("final_loss") < 0.1
    assert record.recall_accuracy < 0.6


def test_a_trigger_is_what_the_model_can_read():
    with pytest.raises(ProblemError, match="adds no vector"):
        STOCK.replace(trigger="vector")
    with pytest.raises(ProblemError, match="reads a marked position"):
        GPT.replace(model="transformer", trigger="token")
    assert GPT["trigger"] == "auto"
    same = run(GPT.replace(steps=3)).recall_accuracy
    assert run(GPT.replace(steps=3, trigger="vector")).recall_accuracy == same


def test_without_its_features_one_layer_is_the_model_of_the_paper():
    """Its read is a mixture of values by softmax scores; only its matrices learn."""
    problem = GPT.replace(**BARE)
    setup = Setup(problem=problem, seed=0)
    module = setup.model()
    learnt = {name for name, each in module.named_parameters() if each.requires_grad}
    assert {name.split(".")[-2] for name in learnt} == {"qkv", "out"}
    instance, model = setup.instance, module.model
    tokens, position, _ = setup.samples(0, 5)
    q, k, v = (w.T for w in model.layers[0].qkv.weight.chunk(3))
    rows = instance.tokens[tokens] + 0
    rows[torch.arange(5), position] += instance.trigger
    rows = torch.cat([rows, instance.end.expand(5, 1, -1)], dim=1)
    weights = torch.softmax((rows @ k) @ (instance.end @ q) / problem.dim**0.5, dim=1)
    read = (weights[:, :, None] * (rows @ v)).sum(dim=1) @ model.layers[0].out.weight.T
    torch.testing.assert_close(module(tokens, position), read @ instance.outputs.T)


@pytest.mark.parametrize(
    "off",
    [{"positions": False}, {"layer_norm": False}, {"residual": False}, {"mlp_ratio": 0.0}],
)
def test_each_feature_can_be_switched_off(off):
    less = GPT.replace(**off)
    assert run(less.replace(steps=2)).status is Status.OK
    fewer = parameters_of(GPT).total - parameters_of(less).total
    assert fewer > 0 or off == {"residual": False}


def test_a_vector_is_learnt_only_where_it_marks_a_token():
    ids = {name: parameters_of(GPT.replace(trigger=name)) for name in ("vector", "token")}
    assert ids["vector"].trained - ids["token"].trained == GPT.dim


def test_tied_embeddings_are_counted_once():
    untied, tied = parameters_of(GPT), parameters_of(GPT.replace(tied=True))
    assert untied.total - tied.total == GPT.vocab * GPT.dim
    assert run(GPT.replace(tied=True)).recall_accuracy > 0.9


def test_impossible_sizes_are_refused():
    with pytest.raises(ProblemError, match="heads=3 does not divide dim=16"):
        GPT.replace(heads=3)
    with pytest.raises(ProblemError, match="give mlp_ratio"):
        GPT.replace(width=64)
    with pytest.raises(ProblemError, match="give a rank too"):
        GPT.replace(target_modules="qkv")


@pytest.mark.parametrize("config", [GPT2, LLAMA, NEOX], ids=["gpt2", "llama", "gpt-neox"])
def test_stock_models_are_built_from_their_configuration(config):
    record = run(STOCK.replace(config=config, steps=40, learning_rate=0.01))
    assert record.status is Status.OK, record.reason
    assert record.metric("final_loss") < 1.5  # ln 8 is 2.1
    assert parameters_of(STOCK.replace(config=config)).embedding >= 17 * 8


def test_a_configuration_is_checked(tmp_path):
    with pytest.raises(ProblemError, match="n_embd=768, but dim is 8; give --dim 768"):
        STOCK.replace(config=GPT2 | {"n_embd": 768})
    with pytest.raises(ProblemError, match="model_type"):
        STOCK.replace(config={"n_layer": 2})
    with pytest.raises(ProblemError, match="needs a config"):
        STOCK.replace(config="")
    assert "5 positions" in _reason(STOCK.replace(length=4, config=GPT2 | {"n_positions": 5}))
    assert "no model_type" in _reason(STOCK.replace(config={"model_type": "gtp2"}))
    assert "divisible" in _reason(STOCK.replace(config=GPT2 | {"n_head": 3}))
    (tmp_path / "gpt2.json").write_text(json.dumps(GPT2 | {"vocab_size": 50257, "n_embd": 8}))
    assert run(STOCK.replace(config=str(tmp_path / "gpt2.json"))).status is Status.OK


def _reason(problem: Problem) -> str:
    try:
        return str(run(problem).reason)
    except ProblemError as error:
        return str(error)


@pytest.mark.parametrize("problem", [GPT.replace(trigger="marked-id"), STOCK], ids=["gpt", "gpt2"])
def test_a_low_rank_update_trains_its_two_factors_alone(problem):
    low = problem.replace(rank=2)
    trained = parameters_of(low).trained
    assert 0 < trained < parameters_of(problem).trained / 2
    assert parameters_of(low.replace(rank=4)).trained == 2 * trained
    assert run(low.replace(steps=2)).status is Status.OK
    one = "out" if problem.model == "gpt" else "c_fc"
    assert 0 < parameters_of(low.replace(target_modules=one)).trained < trained
    assert "target_modules=nothing" in _reason(low.replace(target_modules="nothing"))


def test_a_training_resumes_from_a_folder(tmp_path):
    for problem in (GPT.replace(trigger="marked-id"), STOCK):
        folder = tmp_path / problem.model
        outcome = problem.part("learner").learn(Setup(problem=problem, seed=1, dtype="float32"))
        outcome.module.model.save_pretrained(folder)
        whole = {"config": ""} if problem.model == "huggingface" else {}
        from_folder = problem.replace(checkpoint=str(folder), **whole)
        assert parameters_of(from_folder) == parameters_of(problem)
        again = Setup(problem=from_folder, seed=1, dtype="float32")
        tokens, position, _ = again.samples(0, 20, "test")
        with torch.no_grad():
            before = outcome.module.eval()(tokens, position)
            after = again.model().eval()(tokens, position)
        assert torch.equal(before, after)
        record = run(from_folder.replace(rank=2, steps=2), seed=1)
        assert record.problem["checkpoint"].startswith("folder:")


def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path):
    Setup(problem=GPT, seed=0).model().model.save_pretrained(tmp_path)
    wider = GPT.replace(dim=32, checkpoint=str(tmp_path))
    assert "does not fit" in _reason(wider)
    Setup(problem=STOCK, seed=0).model().model.save_pretrained(tmp_path)
    with pytest.raises(ProblemError, match="n_embd=8, but dim is 16"):
        STOCK.replace(dim=16, config="", checkpoint=str(tmp_path))
    with pytest.raises(ProblemError, match="or a checkpoint, which has one"):
        STOCK.replace(checkpoint=str(tmp_path))


HARD = {"rank": 2, "bf16": True, "learning_rate": 0.01}
CELLS = [
    (GPT.replace(**HARD, steps=6, dropout=0.1, tied=True, trigger="marked-id"), 1),
    (STOCK.replace(**HARD), 1),  # GPT-2 has dropout and tied weights by itself
]


def test_records_are_the_same_on_two_executors(tmp_path):
    recallscope.sweep(CELLS, tmp_path / "one", executor="serial", progress=False)
    recallscope.sweep(CELLS, tmp_path / "two", executor="processes", workers=2, progress=False)
    one, two = (
        {record.problem.model: record.result() for record in Store(tmp_path / name).records()}
        for name in ("one", "two")
    )
    assert one == two
    assert len(one) == 2


@pytest.mark.parametrize("problem", [each for each, _ in CELLS], ids=["gpt", "gpt2"])
def test_a_low_rank_training_resumes_to_the_bit(problem, tmp_path, monkeypatch):
    whole = run(problem, seed=2).result()
    assert stopped_and_resumed(problem, 3, tmp_path / "half", monkeypatch, seed=2) == whole


def test_bfloat16_is_for_products_and_not_for_weights():
    setup = Setup(problem=GPT.replace(bf16=True), seed=0, dtype="float32")
    module = setup.model()
    tokens, position, _ = setup.samples(0, 4)
    assert {each.dtype for each in module.parameters()} == {torch.float32}
    rounded = module(tokens, position)
    assert rounded.dtype == torch.float32
    exact = Setup(problem=GPT, seed=0, dtype="float32").model()(tokens, position)
    assert 0 < float((rounded - exact).detach().abs().max()) < 0.1
