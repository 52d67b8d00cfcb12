"""What is run, and where its records go: the same of every function here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.cell import Settings
from recallscope.experiment.own import own_experiment
from recallscope.problem import Problem

if TYPE_CHECKING:
    from recallscope.store.store import Store


def settings_for(
    settings: Settings | None,
    run: Callable[[Problem, int], Any] | None,
    name: str | None,
    version: int,
) -> Settings:
    """How cells are run: as the settings say, or by a function of the user's own."""
    settings = settings or Settings()
    return settings if run is None else replace(settings, own=own_experiment(run, name, version))


def store_at(place: str | Path | Store | None) -> Store | None:
    """The store at a place, if one is given."""
    if place is None:
        return None
    from recallscope.store.store import Store

    return place if isinstance(place, Store) else Store(place)
