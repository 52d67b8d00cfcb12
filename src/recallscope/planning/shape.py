"""The shape of a language model: from a configuration file, or from its sizes.

Parameters are counted from the shape; nothing is downloaded and no model is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recallscope.common.errors import ProblemError, did_you_mean
from recallscope.common.given_files import read_json

_NAMES = {
    "dim": ("hidden_size", "n_embd", "d_model", "dim"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "num_heads", "n_heads"),
    "mlp": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "vocab": ("vocab_size",),
    "key_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim",),
    "positions": ("n_positions",),
}
"""Names of each size in configurations of model libraries."""

_GATED = (
    *("llama", "mistral", "qwen", "gemma", "smollm", "phi3", "olmo", "granite", "cohere"),
    *("deepseek", "stablelm", "internlm", "baichuan", "exaone"),
)
_FUSED = {
    "gpt2": ("c_attn", "c_proj", "c_fc", "c_proj"),
    "gpt_neox": ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"),
}
"""Models with queries, keys and values in one matrix: its name, then output, up and down."""
_EXPERTS = ("num_local_experts", "n_routed_experts", "num_experts")
_MOST = 10**7  # of any size: more is a mistake
_MOST_BYTES = 2**22
_QUANTISED = {8: "int8", 4: "int4"}


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """The sizes of a transformer.

    >>> ModelShape(dim=768, layers=12, heads=12, vocab=50257, kind="gpt2", positions=1024,
    ...            tied=True).parameters
    124439808
    """

    dim: int
    layers: int = 1
    heads: int = 1
    mlp: int | None = None
    vocab: int = 0
    key_heads: int | None = None
    head_dim: int | None = None
    positions: int = 0
    kind: str = ""
    tied: bool = False
    precision: str = "bfloat16"

    @property
    def width(self) -> int:
        """Hidden units of an MLP: four for each dimension if not said."""
        return self.mlp or 4 * self.dim

    @property
    def gated(self) -> bool:
        """Whether the MLP has a third matrix."""
        return self.kind.startswith(_GATED)

    def matrices(self) -> dict[str, list[tuple[int, int]]]:
        """Inputs and outputs of the matrices of a layer, by the name that they have in the model.

        >>> list(ModelShape(dim=64, kind="gpt2").matrices())
        ['c_attn', 'c_proj', 'c_fc']
        """
        d, m = self.dim, self.width
        head = self.head_dim or max(d // self.heads, 1)
        queries, keys = self.heads * head, (self.key_heads or self.heads) * head
        if self.kind in _FUSED:
            attention, out, up, down = _FUSED[self.kind]
            matrices: dict[str, list[tuple[int, int]]] = {attention: [(d, queries + 2 * keys)]}
            for name, size in ((out, (queries, d)), (up, (d, m)), (down, (m, d))):
                matrices.setdefault(name, []).append(size)
            return matrices
        matrices = {"q_proj": [(d, queries)], "k_proj": [(d, keys)], "v_proj": [(d, keys)]}
        matrices["o_proj"] = [(queries, d)]
        if self.gated:
            matrices["gate_proj"] = [(d, m)]
        return matrices | {"up_proj": [(d, m)], "down_proj": [(m, d)]}

    @property
    def parameters(self) -> int:
        """All of them: matrices, embeddings, norms, and biases where such models have them."""
        sizes = [size for layer_matrices in self.matrices().values() for size in layer_matrices]
        layer = sum(inputs * outputs for inputs, outputs in sizes)
        plain = not self.gated
        biases = sum(outputs for _, outputs in sizes) if plain else 0
        norms = (2 if plain else 1) * self.dim
        tables = (self.vocab if self.tied else 2 * self.vocab) + self.positions
        return self.layers * (layer + biases + 2 * norms) + norms + tables * self.dim

    def adapter(self, rank: int, modules: tuple[str, ...]) -> int:
        """Parameters of two matrices of a rank for each matrix of these names.

        >>> llama = ModelShape(dim=4096, layers=32, heads=32, key_heads=8, mlp=14336, kind="llama")
        >>> llama.adapter(16, ("q_proj", "v_proj"))
        6815744
        """
        known = self.matrices()
        for name in modules:
            if name not in known:
                raise ProblemError(
                    f"this model has no matrices {name!r:.60}{did_you_mean(name, known) or ';'} "
                    f"it has {', '.join(known)}, or all-linear"
                )
        sizes = [sum(size) for name in modules for size in known[name]]
        return self.layers * rank * sum(sizes)

    def usual_modules(self) -> tuple[str, ...]:
        """Return the modules that PEFT adapts in such a model by default."""
        return (_FUSED[self.kind][0],) if self.kind in _FUSED else ("q_proj", "v_proj")

    def scaled(self, dim: int) -> ModelShape:
        """A model of another dimension and the same proportions."""
        ratio = dim / self.dim
        head = None if self.head_dim is None else max(round(self.head_dim * ratio), 1)
        mlp = None if self.mlp is None else max(round(self.mlp * ratio), 1)
        return replace(self, dim=dim, mlp=mlp, head_dim=head)


def shape_from_config(path: str | Path) -> ModelShape:
    """The shape that a config.json has, or that of a folder with one."""
    path = Path(path)
    path = path / "config.json" if path.is_dir() else path
    document = read_json(path, "configuration", _MOST_BYTES)
    config = {**document, **_object(document, "text_config")}
    for name in _EXPERTS:
        if config.get(name):
            raise ProblemError(f"models with experts ({name}) are not planned yet")
    sizes = {name: _size(config, keys) for name, keys in _NAMES.items()}
    missing = [name for name in ("dim", "layers", "heads", "vocab") if not sizes[name]]
    if missing:
        wanted = " or ".join(_NAMES[missing[0]])
        raise ProblemError(f"{path.name} has no {wanted}; give a config.json of a language model")
    kind = str(config.get("model_type", ""))[:40]
    tied = config.get("tie_word_embeddings", not kind.startswith((*_GATED, "gpt_neox")))
    return ModelShape(
        **{name: size for name, size in sizes.items() if size},
        kind=kind,
        tied=bool(tied),
        precision=_precision(config),
    )


def _object(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = config.get(name)
    return value if isinstance(value, Mapping) else {}


def _size(config: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = config.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
            raise ProblemError(f"{key} is a whole number from 1 to {_MOST:,}, not {value!r:.40}")
        return value
    return None


def _precision(config: Mapping[str, Any]) -> str:
    quantised = _object(config, "quantization_config")
    bits = quantised.get("bits", 4 if quantised.get("load_in_4bit") else None)
    bits = 8 if quantised.get("load_in_8bit") else bits
    if quantised:
        return _QUANTISED.get(bits if isinstance(bits, int) else 0, "int4")
    return str(config.get("torch_dtype") or config.get("dtype") or "bfloat16")[:40]
