"""Run the sweeps of claims, at one size: every run that is not in the folder yet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from recallscope.common.progress_bar import ProgressCallback
from recallscope.executors.base import Executor
from recallscope.paper.evidence import RECORDS, Evidence
from recallscope.paper.presets import sweep_of
from recallscope.problem import ProblemError
from recallscope.record import Status
from recallscope.store.store import Store
from recallscope.sweeps import scheduler
from recallscope.validation.measures import MEASURES


def run_claim_sweep(
    name: str, size: str, place: Path, executor: Executor, progress: ProgressCallback
) -> None:
    """Run one sweep of the claims. After an interruption, call it again to resume."""
    spec = sweep_of(name, size)
    store, settings = Store(place / RECORDS), spec.settings
    if name in MEASURES:
        settings = replace(settings, measure=name)
    how = (executor, settings, progress)
    if spec.critical is None:
        cells = list(spec.cells())
        records = scheduler.run_all(cells, *how, limits=spec.limits, store=store)
        failed = [record for record in records if record.status is not Status.OK]
        if name in MEASURES and failed:
            raise ProblemError(
                f"{len(failed)} measures of {name} failed: {failed[0].reason}; drop their records "
                "by recallscope records compact --drop failed, and run it again"
            )
    else:
        # Searches that are done are left out, as repeating their requests takes longer.
        before = Evidence.at(place, size).searches_so_far(name)
        searches = [new for new, old in zip(spec.searches(), before, strict=True) if not old.done]
        scheduler.run_searches(searches, *how, limits=spec.limits, store=store)
