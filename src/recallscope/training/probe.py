"""The cost of training a module, by a short probe: a few steps on few samples, timed.

A step takes some time for each sample and a constant time; two batch sizes separate them. Memory is
counted, not measured: weights with what an optimiser keeps of them, and the tensors that autograd
saves for each sample.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from recallscope.common.machine import machine_memory
from recallscope.model.cost import Cost, unknown_cost
from recallscope.model.parameters import parameters_of
from recallscope.model.setup import Setup
from recallscope.problem.problem import Problem
from recallscope.three_step.threads import Threads
from recallscope.training.grid import grid, look_samples
from recallscope.training.loop import ROWS_AT_ONCE, Training
from recallscope.training.options import rows_of_step

_FEW, _MORE = 16, 128  # samples of the two batches
_REPEATS = 3
_RATE = 1e-6  # how far a step goes costs nothing
_COPIES = 5  # of each weight: itself, its gradient, two means of an optimiser, the copy kept
_INTERPRETER = 350 * 2**20


class _Probe(NamedTuple):
    step: float  # seconds
    sample: float
    look: float  # of a sample that is only evaluated
    saved: float  # bytes for each sample


def module_cost(problem: Problem, dtype: str, test_samples: int) -> Cost:
    """The cost of all steps that a problem allows; unknown if the module cannot be probed."""
    number = 4 if dtype == "float32" else 8
    rows, steps = rows_of_step(problem), problem["steps"]
    held = 0 if getattr(problem, "fresh", False) else 8 * problem.samples * (problem.length + 2)
    memory = _INTERPRETER + held + 3 * number * problem.vocab * problem.dim
    # One probe for all that differ in how much is trained, not in what.
    whole = {"samples": _MORE, "batch": 0, "fresh": False, "steps": 1}
    less = problem.replace(
        **{name: value for name, value in whole.items() if hasattr(problem, name)}
    )
    weights = _weights(less, dtype) if memory < machine_memory() else 0
    memory += number * weights
    if memory > machine_memory():
        return Cost(engine=problem.learner, multiply_adds=0.0, memory_bytes=memory, seconds=0.0)
    probe = _probed(less, dtype)
    if probe is None:
        return unknown_cost(problem.learner)
    looks = len(grid(steps)) * look_samples(problem) + test_samples
    memory += probe.saved * min(rows, ROWS_AT_ONCE)
    seconds = (steps + 1) * (probe.step + probe.sample * rows) + looks * probe.look
    return Cost(engine=problem.learner, multiply_adds=0.0, memory_bytes=memory, seconds=seconds)


@lru_cache(maxsize=256)
def _weights(problem: Problem, dtype: str) -> int:
    """Numbers of the weights with all that training keeps of them; 0 if they cannot be counted."""
    try:
        parameters = parameters_of(problem, dtype)
    except Exception:  # a module that cannot be built without memory, or at all
        return 0
    return parameters.total + _COPIES * parameters.trained


@lru_cache(maxsize=256)
def _probed(problem: Problem, dtype: str) -> _Probe | None:
    optimiser = problem.part("learner").optimiser
    times = []
    try:
        with Threads(problem["threads"]):
            for samples in (_FEW, _MORE):
                setup = Setup(problem=problem.replace(samples=samples), seed=0, dtype=dtype)
                training = Training([setup], optimiser, _RATE)
                saved = training.probe()  # the first is slower, and counts
                times.append(min(_seconds(training.probe) for _ in range(_REPEATS)))
            look = _seconds(training.look) / look_samples(problem)
    except Exception:  # of whatever kind: the run itself will say what is wrong
        return None
    sample = max(times[1] - times[0], 0.0) / (_MORE - _FEW)
    return _Probe(max(times[0] - _FEW * sample, 0.0), sample, look, saved / _MORE)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
