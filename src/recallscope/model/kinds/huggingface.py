"""Any causal language model of transformers, from its configuration: the one file that imports it.

Sizes of a problem are not read twice. The vocabulary is what the task needs. A hidden size in the
configuration must be `dim`; without one, `dim` is taken. Code that comes with a checkpoint is never
run, and nothing is downloaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing_explained
from recallscope.common.given_files import read_json
from recallscope.model.language_model import LanguageModel
from recallscope.problem.long_values import is_known, json_of, text_of
from recallscope.problem.part import problem_field
from recallscope.problem.problem import Problem

if TYPE_CHECKING:
    from torch import nn

    from recallscope.model.setup import Setup

_HIDDEN = ("hidden_size", "n_embd", "d_model")
_MOST_CONFIG = 2**20
_MOST_MODULES, _MOST = 1000, 10**7  # layers or experts, and any other number


@dataclass(frozen=True)
class HuggingFace(LanguageModel):
    """A causal language model of transformers."""

    config: str = problem_field(
        "",
        long="json",
        help=(
            "The configuration of the model, a file or JSON: model_type, and values other than "
            "its defaults. Its vocabulary is what the task needs, its hidden size is dim."
        ),
    )

    def build(self, setup: Setup) -> nn.Module:
        """The model of the configuration, or of the checkpoint."""
        import torch

        from recallscope.model.lora import with_low_rank

        problem = setup.problem
        load = bool(self.checkpoint) and torch.get_default_device().type != "meta"
        with quiet():
            model = _stock(problem, getattr(torch, setup.dtype), load)
        reads_last = "logits_to_keep" in inspect.signature(model.forward).parameters
        trained = with_low_rank(model, problem, "all-linear")
        if reads_last:  # others are not used
            trained.register_forward_pre_hook(_last_alone, with_kwargs=True)
        return trained

    def check(self, problem: Problem) -> None:
        """Raise unless there is one configuration, whose sizes are bounded and fit the problem."""
        super().check(problem)
        if problem.width is not None:
            raise ProblemError("the width of an MLP is in the configuration; leave width out")
        if bool(self.config) == bool(self.checkpoint):
            raise ProblemError(
                'the model huggingface needs a config, as in config=\'{"model_type": "gpt2"}\' or '
                "config=gpt2.json, or a checkpoint, which has one"
            )
        config = _configuration(problem)
        if config is None:
            return  # read from a store: what runs it will say so
        if not isinstance(config.get("model_type"), str):
            raise ProblemError("config must have a model_type, such as gpt2")
        waiting = [config]
        for inner in waiting:  # even without memory, a million layers take hours
            waiting += (nested for nested in inner.values() if isinstance(nested, dict))
            for name, value in inner.items():
                most = _MOST_MODULES if "layer" in name or "expert" in name else _MOST
                if type(value) is int and not -most <= value <= most:
                    raise ProblemError(f"config has {name[:60]!r}={value!s:.20}; at most {most:,}")
        for name in _HIDDEN:
            if config.get(name, problem.dim) != problem.dim:
                raise ProblemError(
                    f"config has {name}={config[name]!r:.20}, but dim is {problem.dim}; give "
                    f"--dim {config[name]!r:.20}, or leave {name} out of the configuration"
                )


@contextmanager
def quiet() -> Iterator[None]:
    """Without bars and warnings of transformers, about ids that no task here has."""
    with missing_explained():
        from transformers.utils import logging
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


def _stock(problem: Problem, dtype: Any, load: bool) -> Any:
    """The model of a configuration, or of a folder, with ids for the task."""
    from transformers import AutoModelForCausalLM

    config = _config(problem)
    if not load:
        return AutoModelForCausalLM.from_config(config, dtype=dtype, trust_remote_code=False)
    model: Any = AutoModelForCausalLM.from_pretrained(
        text_of(problem["checkpoint"]),
        dtype=dtype,
        local_files_only=True,
        use_safetensors=True,
        trust_remote_code=False,
    )
    if model.get_input_embeddings().num_embeddings < config.vocab_size:
        model.resize_token_embeddings(config.vocab_size, mean_resizing=False)
    return model


def save_weights(module: Any, folder: str) -> None:
    """Save a model that was trained here, as a checkpoint of others."""
    with quiet():
        module.model.save_pretrained(folder)


def _last_alone(_: nn.Module, inputs: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return inputs, {**options, "logits_to_keep": 1}


def _config(problem: Problem) -> Any:
    """The configuration of transformers that a problem has, its vocabulary as the task needs it."""
    from transformers import CONFIG_MAPPING

    text_of(problem["config"] or problem["checkpoint"])  # or why it is not known here
    fields = _configuration(problem) or {}
    kind = fields.pop("model_type")
    if kind not in CONFIG_MAPPING:
        raise ProblemError(f"transformers has no model_type {kind!r:.60}")
    made: Any = CONFIG_MAPPING[kind]
    rest = {name: value for name, value in fields.items() if not name.endswith("_token_id")}
    for name in ("vocab_size", "use_cache", *_HIDDEN):
        rest.pop(name, None)
    ids = problem.part("task").number_of_ids(problem)
    if problem["checkpoint"]:
        ids = max(ids, fields.get("vocab_size", 0))
    tokens = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
    try:
        config = made(**rest, **tokens, vocab_size=ids, hidden_size=problem.dim, use_cache=False)
    except Exception as error:  # each architecture raises other errors for its values
        why = " ".join(str(error).split())[:200]
        raise ProblemError(f"config: {type(error).__name__}: {why}") from None
    places = getattr(config, "max_position_embeddings", None)
    if places is not None and places < problem.length + 2:
        raise ProblemError(
            f"config has {places} positions; {problem.length} tokens need {problem.length + 2}"
        )
    return config


def _configuration(problem: Problem) -> dict[str, Any] | None:
    """The configuration as it was given, or that of the checkpoint; None if it is unknown."""
    name, folder = problem["config"], problem["checkpoint"]
    if not is_known(name or folder):
        return None
    if not name:
        return read_json(Path(text_of(folder)) / "config.json", "configuration", _MOST_CONFIG)
    config = json_of(name)
    if not isinstance(config, dict):
        raise ProblemError(f"config must be an object of JSON, not {config!r:.60}")
    return dict(config)


PART = HuggingFace()
