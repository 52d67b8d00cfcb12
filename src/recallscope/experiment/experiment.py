"""One experiment from beginning to end: draw the instance, learn, test, and record the results."""

from __future__ import annotations

import math
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from recallscope.common.checks import LARGEST_SEED, whole_number
from recallscope.common.errors import ProblemError
from recallscope.common.extras import installed_version
from recallscope.common.formatting import format_bytes
from recallscope.common.machine import machine_memory
from recallscope.common.status import Status
from recallscope.experiment.cell import device_name
from recallscope.experiment.metric import measured
from recallscope.experiment.record import Provenance, Record, check_new_metrics
from recallscope.model.learner import LearnedModel, Outcome, tested
from recallscope.model.setup import Setup
from recallscope.problem.given_embeddings import Embeddings, check_arrays
from recallscope.problem.metrics import metric_names, metric_value, with_shapes
from recallscope.problem.problem import Problem, check_dtype
from recallscope.problem.registry import files_of
from recallscope.three_step.cost import choose_engine, predict_cost


class InfeasibleError(ProblemError):
    """A sound problem that needs more memory than this machine has."""


def run(problem: Problem, seed: int = 0, **how: Any) -> Record:
    """Run one experiment and return its record.

    The record is a pure function of the problem and the seed. It is the same to the bit for the
    same engine, dtype and number of tests on a CPU. A run that needs more memory than this machine
    has is `infeasible`, and one that breaks is `failed`, each with its reason. A request that makes
    no sense raises `ProblemError`.

    Args:
        problem: what to learn, by what, from how much.
        seed: which instance; the same seed gives the same samples at every batch size.
        engine: 'stream', 'counts', 'reference', or 'auto' for the one that costs less.
        test_samples: fresh samples to test on.
        dtype: 'float32', or 'float64' for twice the time and memory.
        device: where torch computes.
        embeddings: your own arrays, if the problem names them.
        progress: called with (work done, work in all) as learning proceeds; what it raises, `run`
            raises.
        watch: called with what a training sees along the way, by name.
        checkpoint: a file from which a training resumes, and to which it is saved as it goes.
        batch_of: makes the training batch, given what to call as its samples are done with.

    >>> record = run(Problem(vocab=256, samples=1024, dim=128, length=8), seed=1)
    >>> record.status, record.attention_accuracy > 0.99, 0.7 < record.recall_accuracy < 0.95
    (<Status.OK: 'ok'>, True, True)
    """
    (record,) = run_together(problem, [seed], **how)
    return record


def run_together(
    problem: Problem,
    seeds: Sequence[int],
    *,
    engine: str = "auto",
    test_samples: int = 4096,
    dtype: str = "float32",
    device: str = "cpu",
    embeddings: Embeddings | None = None,
    progress: Callable[[int, int], None] | None = None,
    **more: Any,
) -> list[Record]:
    """The records of some seeds of a problem, as `run` makes them, at once if its learner can.

    >>> tiny = Problem(vocab=16, samples=32, dim=8, length=2, learner="gd", steps=3)
    >>> [record.seed for record in run_together(tiny, [4, 5])]
    [4, 5]
    """
    how: dict[str, Any] = {"engine": engine, "dtype": dtype, "device": device_name(device)}
    how |= {"test_samples": whole_number("test_samples", test_samples, 1), "embeddings": embeddings}
    how["engine"] = check_run(problem, **how)
    broken: list[Exception] = []
    setups = [
        Setup(
            problem=problem,
            seed=whole_number("seed", seed, 0, LARGEST_SEED),
            progress=None if progress is None else _watched(progress, broken),
            **how,
            **more,
        )
        for seed in seeds
    ]
    learner = problem.part("learner")
    started = time.perf_counter()
    outcomes: list[Outcome | Exception]
    try:
        check_memory(problem, engine=how["engine"], test_samples=test_samples, dtype=dtype)
        if len(setups) == 1:
            outcomes = [learner.learn(setups[0])]
        else:
            outcomes = learner.learn_together(setups)
    except Exception as error:  # of all of them; it is interpreted below
        outcomes = [error] * len(setups)
    if broken:
        raise broken[0]
    learnt = [_learnt(setup, outcome) for setup, outcome in zip(setups, outcomes, strict=True)]
    elapsed = (time.perf_counter() - started) / len(setups)
    return [
        _record(problem, setup.seed, how["engine"], dtype, how["device"], elapsed, **fields)
        for setup, fields in zip(setups, learnt, strict=True)
    ]


def _learnt(setup: Setup, outcome: Outcome | Exception) -> dict[str, Any]:
    """How an experiment ended, and if well, its numbers and metrics."""
    if isinstance(outcome, InfeasibleError):
        return {"status": Status.INFEASIBLE, "reason": str(outcome)}
    if isinstance(outcome, ProblemError):
        raise outcome
    try:
        if isinstance(outcome, Exception):
            raise outcome
        logits = LearnedModel(outcome)
        numbers = outcome.numbers or tested(setup, logits)
        of_metrics = measured(setup, logits)
        check_new_metrics(setup.problem, [*outcome.metrics, *of_metrics])
        named = with_shapes({**outcome.metrics, **of_metrics})
        metrics = {name: metric_value(name, value) for name, value in named.items()}
    # A crash has its own status and is never a data point. The same is true of a metric that fails
    # after learning: it costs this record, and not the sweep.
    except Exception as error:
        return {"status": Status.FAILED, "reason": f"{type(error).__name__}: {error}"}
    return {"status": Status.OK, "metrics": metrics, **numbers}


def _watched(
    progress: Callable[[int, int], None], broken: list[Exception]
) -> Callable[[int, int], None]:
    """The same, noting its errors: they are the caller's, and say nothing about the experiment."""

    def watched(done: int, total: int) -> None:
        try:
            progress(done, total)
        except Exception as error:
            broken.append(error)
            raise

    return watched


def failed_record(
    problem: Problem, seed: int, reason: str, status: Status = Status.FAILED, **how: str
) -> Record:
    """The record of a run that something outside of it ended, or kept from beginning.

    `how` has the engine, the dtype and the device.
    """
    engine = choose_engine(problem, how.pop("engine"))
    return _record(problem, seed, engine, **how, seconds=0.0, status=status, reason=reason)


def check_run(
    problem: Problem,
    *,
    engine: str = "auto",
    test_samples: int = 4096,
    dtype: str = "float64",
    device: str = "cpu",
    embeddings: Embeddings | None = None,
) -> str:
    """The engine that will run it; `ProblemError` if it makes no sense, before any allocation."""
    check_new_metrics(problem, metric_names(problem))
    chosen = choose_engine(problem, engine)
    whole_number("test_samples", test_samples, 1)
    check_dtype(dtype)
    for name in ("eta", "gamma"):
        step = getattr(problem, name)
        if dtype == "float32" and step is not None and not 1e-37 < step < 1e38:
            raise ProblemError(f"{name} is {step}, which float32 cannot hold; use float64")
    if str(device).partition(":")[0] == "mps":
        raise ProblemError(
            f"device {device!r} cannot be used: it has no float64, in which samples are summed; "
            "use cpu or cuda"
        )
    try:
        torch.ones(1, device=torch.device(device)).item()
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ProblemError(f"device {device!r} cannot be used: {reason}") from None
    check_arrays(problem, embeddings)
    return chosen


def check_memory(
    problem: Problem,
    *,
    engine: str = "auto",
    test_samples: int = 4096,
    dtype: str = "float64",
    memory: float = math.inf,
) -> None:
    """Raise `InfeasibleError` if the run is predicted to need more memory than there is.

    `memory` are the bytes left for it, if that is less than what the machine has.
    """
    cost = predict_cost(problem, engine, dtype, test_samples)
    memory = min(memory, machine_memory())
    if cost.memory_bytes > memory:
        raise InfeasibleError(
            f"the {cost.engine} engine needs about {format_bytes(cost.memory_bytes)} of memory for "
            f"vocab={problem.vocab}, dim={problem.dim}, length={problem.length}, "
            f"width={problem.width}, but this machine has {format_bytes(memory)} for it; "
            "make these smaller, or use float32"
        )


def _record(
    problem: Problem, seed: int, engine: str, dtype: str, device: str, seconds: float, **fields: Any
) -> Record:
    made = made_by(problem, engine, dtype, device, seconds)
    return Record(problem=problem, seed=seed, provenance=made, **fields)


def made_by(
    problem: Problem, engine: str | None, dtype: str, device: str, elapsed_seconds: float
) -> Provenance:
    """The provenance of what was made here and now."""
    return Provenance(
        engine=engine,
        dtype=dtype,
        device=device,
        versions=_versions(),
        revision=_revision(),
        elapsed_seconds=elapsed_seconds,
        part_versions=problem.part_versions(),
        files=files_of(problem.parts()),
    )


@cache
def _versions() -> dict[str, str]:
    packages = {name: installed_version(name) for name in ("recallscope", "torch", "numpy")}
    return {"python": platform.python_version()} | packages


@cache
def _revision() -> str | None:
    """The revision of the source, when this is run from a checkout of it."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists() or not (root / "src" / "recallscope").is_dir():
        return None
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip()
