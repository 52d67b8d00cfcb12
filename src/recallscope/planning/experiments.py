"""The training that a plan is about, as fields of a problem: at full size, or scaled down.

Facts of a model are the task `pairs`: sequences of tokens, each with one token as its answer. There
are as many of them as give the same load, the bits of all facts for each trained parameter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.common.errors import ProblemError
from recallscope.common.new_files import write_whole
from recallscope.planning.in_words import interval, question_in_words
from recallscope.planning.inputs import Inputs
from recallscope.planning.shape import ModelShape

if TYPE_CHECKING:
    from recallscope.planning.plan_result import Plan

_DIMS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_TOKENS, _LAYERS, _HEAD = 64, 4, 8  # of what is scaled down: at most, and the narrowest head
_MOST_TOKENS = 2**16
_BATCH, _MOST_STEPS = 256, 10**7
_FEWEST_STEPS, _FEWEST_FACTS = 20, 32
"""As few as the planned models of the study planner had."""
_LENGTH, _PER_FACT = 4, 100  # tokens of a sequence, and sequences that there are for each fact
_POSITIONS = 32
_RATE, _RATE_OF_LORA, _WIDTH = 0.003, 0.01, 64
"""Learning rates as in the study planner; above this dimension they fall as 1 / dimension."""


def adapts(inputs: Inputs) -> bool:
    """Whether a model is trained that knows other facts already."""
    return inputs.method in ("lora", "full")


def smaller(inputs: Inputs) -> Iterator[Inputs]:
    """Scaled-down models at the same load, the smallest first; those too small to learn left out.

    Raises:
        ProblemError: all of them are too small.
    """
    whole, any_yet = inputs.shape.dim, False
    for dim in sorted({min(smaller_dim, whole) for smaller_dim in _DIMS}):
        small = _memory(inputs, dim) if inputs.method == "memory" else _model(inputs, dim)
        steps = fields_of(small).get("steps", _FEWEST_STEPS)
        if (small.facts or 0) >= _FEWEST_FACTS and steps >= _FEWEST_STEPS:
            any_yet = True
            yield small
    if not any_yet:
        seen = inputs.exposures
        why = f", each seen {seen:g} times, are too few for {_FEWEST_STEPS} steps" if seen else ""
        raise ProblemError(
            f"scaled down, its {small.facts or 0:,} facts{why or ' are too few'}; "
            "--export FILE writes the run at full size"
        )


def _memory(inputs: Inputs, dim: int) -> Inputs:
    facts = max(round((inputs.facts or 1) * (dim / inputs.shape.dim) ** 2), 2)
    return replace(inputs.changed("d_model", dim), facts=facts)


def _model(inputs: Inputs, dim: int) -> Inputs:
    """Of its kind, with fewer layers, heads and tokens; a rank of at most an eighth of it."""
    shape = inputs.shape.scaled(dim)
    fit = min(shape.heads, dim // _HEAD)  # of a head's coordinates, positions rotate pairs
    heads = max((count for count in range(1, fit + 1) if not dim % (2 * count)), default=1)
    wanted = heads * (shape.key_heads or shape.heads) / shape.heads
    keys = max(
        count for count in range(1, heads + 1) if not heads % count and count <= max(wanted, 1)
    )
    tokens = min(inputs.question().answers, _TOKENS, shape.vocab or _TOKENS)
    narrow = replace(shape, layers=min(shape.layers, _LAYERS), heads=heads, key_heads=keys)
    narrow = replace(narrow, head_dim=None, positions=_POSITIONS if shape.positions else 0)
    rank = inputs.rank and max(min(inputs.rank, dim // 8), 1)
    return _at_load(replace(inputs, rank=rank), narrow, tokens, inputs)


def full_size(inputs: Inputs) -> Inputs:
    """The model itself, with its vocabulary if that is trained; a fact's answer is one token."""
    if inputs.method == "memory":
        return inputs
    shape, answers = inputs.shape, min(inputs.question().answers, _MOST_TOKENS)
    vocab = min(answers, shape.vocab or answers) if inputs.method == "lora" else shape.vocab
    return _at_load(inputs, shape, vocab or answers, inputs)


def _at_load(changed: Inputs, shape: ModelShape, tokens: int, whole: Inputs) -> Inputs:
    load = (whole.facts or 1) * whole.question().bits / whole.trained
    # A model without a name has the matrices of this one, so far as they are adapted.
    shape = replace(shape, vocab=tokens, kind=shape.kind or "llama")
    narrow = replace(changed, shape=shape, answers=tokens)
    return replace(narrow, facts=max(round(load * narrow.trained / math.log2(tokens)), 2))


def _length(facts: int, tokens: int) -> int:
    return max(_LENGTH, math.ceil(math.log(_PER_FACT * facts) / math.log(tokens) + 0.1))


def fields_of(inputs: Inputs) -> dict[str, Any]:
    """The fields of the problem, exposures as batch and steps."""
    facts, exposures = inputs.facts or 1, inputs.exposures or 1.0
    zipf = {"frequencies": "zipf", "zipf_exponent": inputs.zipf_exponent}
    unequal = zipf if inputs.zipf_exponent else {}
    if inputs.method == "memory":
        return _fields_of_memory(inputs) | unequal
    tokens, seen = inputs.answers or 2, facts * exposures
    batch = max(min(_BATCH, facts), math.ceil(seen / _MOST_STEPS))
    rate = _RATE_OF_LORA if inputs.rank else _RATE
    fields = {
        **{"task": "pairs", "vocab": tokens, "facts": facts, "samples": facts},
        **{"length": _length(facts, tokens), "dim": inputs.shape.dim, "model": "huggingface"},
        "config": json.dumps(_config(inputs.shape)),
        **{"learner": "adamw", "schedule": "cosine", "warmup": 0.05, "weight_decay": 0.0},
        "learning_rate": float(f"{rate * min(1.0, _WIDTH / inputs.shape.dim):.2g}"),
        **{"batch": batch, "steps": max(round(seen / batch), 1), **unequal},
    }
    if unequal:  # else each step takes the next of all facts
        fields["fresh"] = True
    if inputs.rank:
        fields |= {"rank": inputs.rank, "target_modules": " ".join(inputs.modules)}
    return fields


def _fields_of_memory(inputs: Inputs) -> dict[str, Any]:
    if (known := inputs.question().problem) is not None:
        return {name: value for name, value in known.to_dict().items() if value is not None}
    if inputs.rank is not None or inputs.context > 1:
        raise ProblemError("no learner here trains a memory of a rank, or with such a context")
    fields = {"task": "memory", "length": 1, "samples": math.inf, "learner": "converged"}
    fields |= {"facts": inputs.facts, "vocab": inputs.question().answers, "dim": inputs.shape.dim}
    return fields if inputs.shape.mlp is None else {**fields, "width": inputs.shape.mlp}


def _config(shape: ModelShape) -> dict[str, Any]:
    """A configuration of transformers; its vocabulary and dimension come from the problem."""
    config: dict[str, Any] = {"model_type": shape.kind, "tie_word_embeddings": shape.tied}
    if shape.kind == "gpt2":
        config |= {"n_layer": shape.layers, "n_head": shape.heads, "n_inner": shape.width}
        config |= {"n_positions": shape.positions or _POSITIONS}
        return config | dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    config |= {"num_hidden_layers": shape.layers, "num_attention_heads": shape.heads}
    config |= {"num_key_value_heads": shape.key_heads or shape.heads}
    config |= {"intermediate_size": shape.width, "max_position_embeddings": _POSITIONS}
    return config if shape.head_dim is None else {**config, "head_dim": shape.head_dim}


def write_sweep(plan: Plan, path: Path, weights: Path | None = None) -> None:
    """Write the run at full size as a sweep file for a cluster.

    Args:
        plan: the plan.
        path: the file.
        weights: a folder of the model that is adapted, if it is there.
    """
    if plan.recall is None:
        raise ProblemError(f"there is no run to write: {plan.reason}")
    inputs = full_size(plan.inputs)
    fields = fields_of(inputs)
    comments = [f"{question_in_words(plan.inputs)}; planned recall {interval(plan.recall)}."]
    head = ["seeds = 2"]
    if inputs.method != "memory":
        comments.append(
            f"{inputs.facts:,} random facts of {inputs.answers:,} answers have as many bits for "
            f"each of {inputs.trained:,} trained parameters. The learning rate is not tuned."
        )
        head.append('# device = "cuda"')
        fields["bf16"] = inputs.shape.precision == "bfloat16"
    if adapts(inputs) and weights is not None:
        del fields["config"]
        fields["checkpoint"] = str(weights.absolute())
    elif adapts(inputs):
        comments.append(
            'First put checkpoint = "FOLDER", weights as safetensors, in place of config.'
        )
    comments.append(f"recallscope sweep {path.name} --store records --dry-run")
    lines = [*(f"# {comment}" for comment in comments), *head, "", "[problem]"]
    lines += [f"{name} = {_toml(value)}" for name, value in fields.items()]
    write_whole(path, "sweep file", "\n".join(lines) + "\n")


def _toml(value: Any) -> str:
    if value == math.inf:
        return "inf"
    plain = isinstance(value, str) and value.isprintable() and "'" not in value
    return f"'{value}'" if plain else json.dumps(value)
