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
    from recallscope.api.ablate import ablate as ablate
    from recallscope.api.bench import bench as bench
    from recallscope.api.check import check as check
    from recallscope.api.critical import critical as critical
    from recallscope.api.fit import fit as fit
    from recallscope.api.phase import phase as phase
    from recallscope.api.predict import predict as predict
    from recallscope.api.run import run as run
    from recallscope.api.sweep import sweep as sweep
    from recallscope.api.theory import bound as bound
    from recallscope.api.theory import solve as solve
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
    from recallscope.tasks.datasets import RecallDataset as RecallDataset
    from recallscope.tasks.datasets import RecallStream as RecallStream
    from recallscope.tasks.recall import Samples as Samples
    from recallscope.tasks.recall import Task as Task
    from recallscope.theory.phase_map import phase_map as phase_map

# Loaded when first used, so that a problem or a task does not wait for torch.
_HOME = {
    "ablate": "api.ablate",
    "bench": "api.bench",
    "bound": "api.theory",
    "check": "api.check",
    "predict": "api.predict",
    "run": "api.run",
    "solve": "api.theory",
    "sweep": "api.sweep",
    "phase_map": "theory.phase_map",
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
    "critical": "api.critical",
    "fit": "api.fit",
    "learn": "learning.three_step",
    "phase": "api.phase",
    "predict_cost": "learning.cost",
    "summarise": "measurement.summary",
}

__all__ = list(_HOME)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recallscope' has no attribute {name!r}")
    return getattr(importlib.import_module(f"recallscope.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
