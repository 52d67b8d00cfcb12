"""A checkpoint and its tokenizer from a folder, safetensors or GGUF, and LoRA adapters for it.

Code that comes with a checkpoint is never run, nothing is downloaded, and no pickle is read.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing_explained
from recallscope.common.given_files import opened
from recallscope.model.kinds.huggingface import quiet

_READ = ("*.safetensors", "*.gguf", "*.json", "*.model", "*.txt")
"""Files of a checkpoint that decide what it is: weights, configuration and tokenizer."""


def load_checkpoint(folder: str | Path, dtype: torch.dtype) -> tuple[Any, Any]:
    """The model and the tokenizer of a folder, or of a file of GGUF.

    Args:
        folder: as `save_pretrained` of transformers writes it, or with one .gguf in it.
        dtype: of the weights.
    """
    with missing_explained("teach"):
        from transformers import AutoModelForCausalLM, AutoTokenizer
    where, file = _place(folder)
    weights = {"use_safetensors": True} if file is None else {"gguf_file": file}
    # On processors the backward of torch's fused attention takes as long as all products.
    attention = {} if torch.accelerator.is_available() else {"attn_implementation": "eager"}
    with _explained(folder):
        tokenizer = AutoTokenizer.from_pretrained(where, **_KNOWN, **_of_file(file))
        model = AutoModelForCausalLM.from_pretrained(
            where, dtype=dtype, **_KNOWN, **attention, **weights
        )
    if file is not None:
        # Weights are whole numbers in the file only. What is quantized is not trained or saved.
        model.is_quantized, model.hf_quantizer = False, None
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
    return model, tokenizer


def checkpoint_config(folder: str | Path) -> Any:
    """The configuration of a checkpoint, without its weights."""
    with missing_explained("teach"):
        from transformers import AutoConfig
    where, file = _place(folder)
    with _explained(folder):
        return AutoConfig.from_pretrained(where, **_KNOWN, **_of_file(file))


def weights_key(folder: str | Path) -> str:
    """A hash of the files of a checkpoint: the same wherever it lies."""
    where, file = _place(folder)
    patterns = _READ if file is None else [file]
    hasher = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in where.glob(pattern)}):
        hasher.update(f"{path.name} {path.stat().st_size} ".encode())
        with opened(path, f"the file {path.name!r:.100}") as content:
            while block := content.read(2**20):
                hasher.update(block)
    return hasher.hexdigest()[:32]


_KNOWN = {"local_files_only": True, "trust_remote_code": False}


def _of_file(file: str | None) -> dict[str, str]:
    return {} if file is None else {"gguf_file": file}


def _place(folder: str | Path) -> tuple[Path, str | None]:
    """The folder of a checkpoint, and the name of its file if it is one of GGUF."""
    path = Path(folder)
    called = f"the model {str(folder)!r:.200}"
    gguf = [path] if path.suffix == ".gguf" else sorted(path.glob("*.gguf"))
    where = path.parent if path.suffix == ".gguf" else path
    if not where.is_dir():
        raise ProblemError(f"{called} must be a folder with a checkpoint; there is no such folder")
    if path.suffix != ".gguf" and (where / "config.json").exists():
        return where, None
    if len(gguf) != 1:
        raise ProblemError(
            f"{called} must be a folder with a config.json or one .gguf; it has neither"
            if not gguf
            else f"{called} has {len(gguf)} files of GGUF; name one of them"
        )
    with missing_explained("teach"):
        import gguf as _  # noqa: F401  # transformers would say so in several lines
    return where, gguf[0].name


@contextmanager
def _explained(folder: str | Path) -> Iterator[None]:
    """Within, errors of transformers are errors about this checkpoint, and nothing is printed."""
    try:
        with quiet():
            yield
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        why = " ".join(str(error).split())[:200]
        raise ProblemError(f"the model {str(folder)!r:.200} cannot be loaded: {why}") from None


def with_adapters(model: Any, rank: int) -> Any:
    """The model, frozen, with LoRA adapters on all its matrices, scaled by 2."""
    with missing_explained("teach"):
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
