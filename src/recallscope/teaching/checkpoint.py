"""A checkpoint and its tokenizer from a folder, safetensors or GGUF, and LoRA adapters for it.

Code that comes with a checkpoint is never run, nothing is downloaded, and no pickle is read.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch

from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing_explained
from recallscope.model.kinds.huggingface import quiet


def load_checkpoint(folder: str | Path, dtype: torch.dtype) -> tuple[Any, Any]:
    """The model and the tokenizer of a folder, or of a file of GGUF.

    Args:
        folder: as `save_pretrained` of transformers writes it, or with one .gguf in it.
        dtype: of the weights.
    """
    with missing_explained():
        from transformers import AutoModelForCausalLM, AutoTokenizer
    path = Path(folder)
    called = f"the model {str(folder)!r:.200}"
    gguf = [path] if path.suffix == ".gguf" else sorted(path.glob("*.gguf"))
    where = path.parent if path.suffix == ".gguf" else path
    if not where.is_dir():
        raise ProblemError(f"{called} must be a folder with a checkpoint; there is no such folder")
    more: dict[str, Any] = {}
    if not (where / "config.json").exists():
        if len(gguf) != 1:
            raise ProblemError(
                f"{called} must be a folder with a config.json or one .gguf; it has neither"
                if not gguf
                else f"{called} has {len(gguf)} files of GGUF; name one of them"
            )
        with missing_explained():
            import gguf as _  # noqa: F401  # transformers would say so in several lines
        more["gguf_file"] = gguf[0].name
    else:
        more["use_safetensors"] = True
    # On processors the backward of torch's fused attention takes as long as all products.
    attention = {} if torch.accelerator.is_available() else {"attn_implementation": "eager"}
    known = {"local_files_only": True, "trust_remote_code": False}
    try:
        with quiet():
            tokenizer_file = {name: more[name] for name in more if name == "gguf_file"}
            tokenizer = AutoTokenizer.from_pretrained(where, **known, **tokenizer_file)
            model = AutoModelForCausalLM.from_pretrained(
                where, dtype=dtype, **known, **attention, **more
            )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        why = " ".join(str(error).split())[:200]
        raise ProblemError(f"{called} cannot be loaded: {why}") from None
    if "gguf_file" in more:
        # Weights are whole numbers in the file only. What is quantized is not trained or saved.
        model.is_quantized, model.hf_quantizer = False, None
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
    return model, tokenizer


def with_adapters(model: Any, rank: int) -> Any:
    """The model, frozen, with LoRA adapters on all its matrices, scaled by 2."""
    with missing_explained():
        from peft import LoraConfig, get_peft_model
    transposed = any(type(layer).__name__ == "Conv1D" for layer in model.modules())  # of GPT-2
    config: Any = LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        target_modules="all-linear",
        fan_in_fan_out=transposed,
        task_type="CAUSAL_LM",
    )
    with warnings.catch_warnings():  # of one library that the other calls by an old name
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(model, config)
