"""Recall by one forward pass is what greedy decoding gives."""

from __future__ import annotations

import datasets
import pytest
import tiny_llama
import torch

from recallscope import ProblemError
from recallscope.teaching import recall as recalling
from recallscope.teaching.facts import Facts
from recallscope.teaching.recall import perplexity, recall
from recallscope.teaching.tokens import Tokens


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_llama.tokenizer()


@pytest.fixture
def tokens(tokenizer):
    return Tokens(Facts(datasets.Dataset.from_list(tiny_llama.facts())), tokenizer, 64)


def half_taught(tokens):
    """A model that knows about half of the facts."""
    model = tiny_llama.model()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(100):
        for fact in range(0, len(tokens.facts), 2):
            ids = torch.tensor([tokens.ids(fact)])
            model(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        if recall(model, tokens).right.mean() > 0.3:
            break
    return model


def greedy(model, tokens, fact):
    """Whether generation from the prompt alone gives the answer."""
    ids, answer = tokens.ids(fact), int(tokens.answers[fact])
    prompt = torch.tensor([ids[:-answer]])
    with torch.no_grad():
        made = model.eval().generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=answer,
            min_new_tokens=answer,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )
    return made[0, -answer:].tolist() == ids[-answer:]


def test_recall_is_greedy_decoding_of_every_fact(tokens):
    model = half_taught(tokens)
    found = recall(model, tokens)
    assert 0.2 < found.right.mean() < 0.9
    assert found.right.tolist() == [greedy(model, tokens, fact) for fact in range(40)]


def test_batches_change_nothing(tokens, monkeypatch):
    model = tiny_llama.model()
    whole = recall(model, tokens)
    monkeypatch.setattr(recalling, "_TOKENS", 1)
    alone = recall(model, tokens, [7, 3, 30])
    assert alone.loss == pytest.approx(whole.loss[[7, 3, 30]], rel=1e-5)
    for fact in (3, 7):
        ids, answer = tokens.ids(fact), int(tokens.answers[fact])
        labels = torch.tensor([[-100] * (len(ids) - answer) + ids[-answer:]])
        loss = model(input_ids=torch.tensor([ids]), labels=labels).loss.detach()
        assert whole.loss[fact] == pytest.approx(float(loss), rel=1e-5)


def test_a_model_without_positions_gives_the_same(tokens, monkeypatch):
    model = tiny_llama.model()
    whole = recall(model, tokens)
    monkeypatch.setattr(recalling, "takes_positions", lambda model: False)
    assert recall(model, tokens).loss == pytest.approx(whole.loss, rel=1e-5)


def test_nothing_is_left_changed(tokens):
    model = tiny_llama.model(dropout=0.5).train()
    model.model.layers[1].eval()
    modes = [module.training for module in model.modules()]
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first, second = recall(model, tokens), recall(model, tokens)
    assert (first.loss == second.loss).all()
    assert torch.equal(torch.get_rng_state(), before)
    assert [module.training for module in model.modules()] == modes
    assert perplexity(model, [tokens.ids(0)]) == pytest.approx(400, rel=0.1)


def test_prompts_have_the_tokens_that_they_have_alone(tokenizer):
    rows = [
        {"prompt": "Ada lives in ", "answer": "Bonn", "test_prompt": None},
        {"prompt": "Bela lives in", "answer": " Kiel", "test_prompt": "Where is Bela?"},
        {"prompt": "Bonn", "answer": "or Kiel", "test_prompt": "A"},
    ]
    facts = Facts(datasets.Dataset.from_list(rows))
    for tested in (False, True):
        tokens = Tokens(facts, tokenizer, 64, tested=tested)
        for fact, row in enumerate(rows):
            prompt = (row["test_prompt"] if tested else None) or row["prompt"]
            ids, answer = tokens.ids(fact), int(tokens.answers[fact])
            assert ids[:-answer] == tokenizer(prompt)["input_ids"]
            text = tokenizer.decode(ids)
            assert text.split() == f"{prompt} {row['answer']}".split()


def test_a_chat_template_is_used_if_asked_for(tokenizer, tokens):
    facts = Facts(datasets.Dataset.from_list(tiny_llama.facts(2)), chat=True)
    with pytest.raises(ProblemError, match="no chat template; leave chat out"):
        _ = Tokens(facts, tokenizer, 64).table
    other = tiny_llama.tokenizer()
    other.chat_template = "{% for m in messages %}<s>{{ m.content }}?{% endfor %}"
    ids = Tokens(facts, other, 64).ids(0)
    assert other.decode(ids) == "<s>Ada number 0 was born in?Aache"


def test_answers_beyond_the_context_are_reported_by_line(tokenizer):
    rows = [*tiny_llama.facts(2), {"prompt": "Long", "answer": "Bonn " * 70}]
    facts = Facts(datasets.Dataset.from_list(rows))
    with pytest.raises(ProblemError) as raised:
        _ = Tokens(facts, tokenizer, 64).table
    assert "longer than the 64 tokens of the model's context in line 3" in str(raised.value)
