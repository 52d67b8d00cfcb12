"""How many facts can a transformer learn to recall, from how much data, and why?

>>> import recallscope
>>> problem = recallscope.Problem(vocab=256, samples=1024, dim=128, length=8)
>>> recallscope.run(problem, seed=0).status
<Status.OK: 'ok'>
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recallscope.checks import check as check
    from recallscope.experiment import run as run
    from recallscope.intervals import summarise as summarise
    from recallscope.learning.cost import predict_cost as predict_cost
    from recallscope.learning.three_step import Learned as Learned
    from recallscope.learning.three_step import learn as learn
    from recallscope.learning.workers import Workers as Workers
    from recallscope.measurement.critical import CriticalSearch as CriticalSearch
    from recallscope.network.transformer import Transformer as Transformer
    from recallscope.problem import Problem as Problem
    from recallscope.problem import ProblemError as ProblemError
    from recallscope.record import Record as Record
    from recallscope.record import Status as Status
    from recallscope.sweeps.store import Store as Store
    from recallscope.sweeps.sweep import sweep as sweep
    from recallscope.theory.capacity import phase_map as phase_map
    from recallscope.theory.capacity import predict as predict
    from recallscope.theory.capacity import solve as solve
    from recallscope.theory.lower_bound import bound as bound
    from recallscope.world.datasets import RecallDataset as RecallDataset
    from recallscope.world.datasets import RecallStream as RecallStream
    from recallscope.world.embeddings import Embeddings as Embeddings
    from recallscope.world.task import Samples as Samples
    from recallscope.world.task import Task as Task
    from recallscope.world.world import World as World

# Loaded when first used, so that a problem or a task does not wait for torch.
_HOME = {
    "CriticalSearch": "measurement.critical",
    "Embeddings": "world.embeddings",
    "Learned": "learning.three_step",
    "Problem": "problem",
    "ProblemError": "problem",
    "RecallDataset": "world.datasets",
    "RecallStream": "world.datasets",
    "Record": "record",
    "Samples": "world.task",
    "Status": "record",
    "Store": "sweeps.store",
    "Task": "world.task",
    "Transformer": "network.transformer",
    "Workers": "learning.workers",
    "World": "world.world",
    "bound": "theory.lower_bound",
    "check": "checks",
    "learn": "learning.three_step",
    "phase_map": "theory.capacity",
    "predict": "theory.capacity",
    "predict_cost": "learning.cost",
    "run": "experiment",
    "solve": "theory.capacity",
    "summarise": "intervals",
    "sweep": "sweeps.sweep",
}

__all__ = list(_HOME)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recallscope' has no attribute {name!r}")
    return getattr(importlib.import_module(f"recallscope.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
