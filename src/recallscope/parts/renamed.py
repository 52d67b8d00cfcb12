"""Names that changed: the old ones work for one release, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

FORMER_NAMES = {
    "recallscope.tasks.kind.Task": "recallscope.tasks.kind.TaskKind",
    "recallscope.models.kind.Model": "recallscope.models.kind.ModelKind",
    "recallscope.tasks.recall.RecallTask": "recallscope.tasks.recall.Task",
    **{
        f"recallscope.learning.training.optimisers.{name}": (
            f"recallscope.learning.learners.{name}.optimiser"
        )
        for name in ("adam", "adamw", "gd", "sgd", "muon", "polar")
    },
}
"""What ours were called when records of parts passed as objects were first stored."""


_FORMER_PARTS = {("learner", "trained"): "adam"}


def current_name(kind: str, name: str) -> str:
    """What a part is called now; a name that goes is said to.

    >>> current_name("learner", "adam")
    'adam'
    """
    current = _FORMER_PARTS.get((kind, name), name)
    if current != name:
        warnings.warn(
            f"the {kind} {name} is {current} now, and its old name goes in 0.4",
            FutureWarning,
            stacklevel=3,
        )
    return current


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module with renamed names.

    >>> old = renamed("recallscope.parts.renamed", {"OLD_NAMES": "FORMER_NAMES"})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     old("OLD_NAMES") is FORMER_NAMES
    True
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_of(f"{module}.{name}", f"{module}.{names[name]}")
        return getattr(sys.modules[module], names[name])

    return find


def warn_of(old: str, new: str) -> None:
    """Say that a name is another now."""
    warnings.warn(f"{old} is {new} now, and goes in 0.4", DeprecationWarning, stacklevel=3)
