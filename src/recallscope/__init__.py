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
    from recallscope.api.critical import critical as critical
    from recallscope.api.fit import fit as fit
    from recallscope.api.phase import phase as phase
    from recallscope.experiment.run import run as run
    from recallscope.learning.cost import predict_cost as predict_cost
    from recallscope.learning.threads import Threads as Threads
    from recallscope.learning.three_step import Learned as Learned
    from recallscope.learning.three_step import learn as learn
    from recallscope.measurement.critical import CriticalSearch as CriticalSearch
    from recallscope.measurement.summary import summarise as summarise
    from recallscope.models.embeddings import Embeddings as Embeddings
    from recallscope.models.instance import Instance as Instance
    from recallscope.models.transformer import Transformer as Transformer
    from recallscope.problem import Problem as Problem
    from recallscope.problem import ProblemError as ProblemError
    from recallscope.record import Record as Record
    from recallscope.record import Status as Status
    from recallscope.store.store import Store as Store
    from recallscope.sweeps.sweep import sweep as sweep
    from recallscope.tasks.datasets import RecallDataset as RecallDataset
    from recallscope.tasks.datasets import RecallStream as RecallStream
    from recallscope.tasks.recall import Samples as Samples
    from recallscope.tasks.recall import Task as Task
    from recallscope.theory.capacity import phase_map as phase_map
    from recallscope.theory.capacity import predict as predict
    from recallscope.theory.capacity import solve as solve
    from recallscope.theory.lower_bound import bound as bound
    from recallscope.validation.check import check as check

# Loaded when first used, so that a problem or a task does not wait for torch.
_HOME = {
    "CriticalSearch": "measurement.critical",
    "Embeddings": "models.embeddings",
    "Learned": "learning.three_step",
    "Problem": "problem",
    "ProblemError": "problem",
    "RecallDataset": "tasks.datasets",
    "RecallStream": "tasks.datasets",
    "Record": "record",
    "Samples": "tasks.recall",
    "Status": "record",
    "Store": "store.store",
    "Task": "tasks.recall",
    "Transformer": "models.transformer",
    "Threads": "learning.threads",
    "Instance": "models.instance",
    "bound": "theory.lower_bound",
    "check": "validation.check",
    "critical": "api.critical",
    "fit": "api.fit",
    "learn": "learning.three_step",
    "phase": "api.phase",
    "phase_map": "theory.capacity",
    "predict": "theory.capacity",
    "predict_cost": "learning.cost",
    "run": "experiment.run",
    "solve": "theory.capacity",
    "summarise": "measurement.summary",
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
