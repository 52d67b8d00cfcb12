"""A training on disk: all that its next step depends on, in one safetensors file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from recallscope.common.errors import ProblemError
from recallscope.common.given_files import open_regular
from recallscope.common.new_files import written_next_to
from recallscope.problem.problem import Problem

_FORMAT = "recallscope training 2"
_DAMAGED = (OSError, ValueError, LookupError, TypeError, RuntimeError, ArithmeticError)


class Training(Protocol):
    """What a checkpoint keeps of a training, and sets when it is resumed."""

    problem: Problem
    runs: Any
    trainee: Any
    optimiser: Any
    step: int
    loss: torch.Tensor


def save(training: Training, path: Path) -> None:
    """Write down a training of one run; a file that is there is replaced in one move."""
    model, first = training.trainee.module.state_dict(), _first_names(training)
    tensors = {f"model.{name}": model[name] for name in first.values()}
    for number, state in training.optimiser.state_dict()["state"].items():
        for name, tensor in state.items():
            if tensor is not None:
                tensors[f"optimiser.{number}.{name}"] = torch.as_tensor(tensor)
    (run,) = training.runs
    data = _of(training) | {
        "step": training.step,
        "loss": training.loss.tolist(),
        "lowest": run.lowest,
        "steepest": run.steepest,
        "curve": run.curve,
    }
    with written_next_to(path, "checkpoint") as part:
        # A copy of each: safetensors refuses tensors with common memory, such as two views of one.
        copies = {
            name: tensor.detach().clone(memory_format=torch.contiguous_format)
            for name, tensor in tensors.items()
        }
        save_file(copies, part, metadata={"format": _FORMAT, "training": json.dumps(data)})


def resume(training: Training, path: Path) -> None:
    """Take a training up where a file left it; it must be of this training, and by this program."""
    try:
        open_regular(path).close()  # of a pipe nothing is read
        with safe_open(path, framework="pt", device=str(training.loss.device)) as file:
            described = file.metadata() or {}
            if described.get("format") != _FORMAT:
                raise ValueError("it was not written by a training of this version")
            data = json.loads(described["training"])
            if {name: data[name] for name in _of(training)} != _of(training):
                raise ValueError("it is of another problem, seed, version or kind of numbers")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            _load(training, data, tensors)
    except (*_DAMAGED, SafetensorError) as error:
        why = " ".join(str(error).split())[:200]
        raise ProblemError(
            f"the checkpoint {str(path)!r:.200} cannot be resumed: {why}; name another file"
        ) from None


def _of(training: Training) -> dict[str, Any]:
    """The run that a checkpoint belongs to."""
    setup = training.runs[0].setup
    return {
        "problem": training.problem.key,
        "versions": training.problem.part_versions(),
        "seed": setup.seed,
        "dtype": setup.dtype,
    }


def _first_names(training: Training) -> dict[str, str]:
    """Each name of a tensor of the model, and the first of those that name the same one."""
    first: dict[Any, str] = {}
    return {
        name: first.setdefault((tensor.data_ptr(), tensor.shape, tensor.stride()), name)
        for name, tensor in training.trainee.module.state_dict().items()
    }


def _load(training: Training, data: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    model, states = {}, dict[int, dict[str, torch.Tensor]]()
    for name, tensor in tensors.items():
        part, _, rest = name.partition(".")
        if part == "model":
            model[rest] = tensor
        else:
            number, _, called = rest.partition(".")
            states.setdefault(int(number), {})[called] = tensor
    tied = _first_names(training)
    training.trainee.module.load_state_dict({name: model[tied[name]] for name in tied})
    groups = training.optimiser.state_dict()["param_groups"]
    training.optimiser.load_state_dict({"state": states, "param_groups": groups})
    step, curve = data["step"], data["curve"]
    loss = torch.tensor(data["loss"], dtype=torch.float64)
    # A training beyond its last step would never end.
    known = type(step) is int and 0 <= step <= training.problem["steps"]
    listed = isinstance(curve, dict) and all(isinstance(values, list) for values in curve.values())
    if not known or not listed or loss.shape != training.loss.shape:
        raise ValueError("its step, curve and loss are not those of this training")
    training.step, training.loss = step, loss
    (run,) = training.runs
    run.lowest, run.steepest = float(data["lowest"]), float(data["steepest"])
    run.curve = curve
