"""The figures of an audit: facts, spectrum and overlaps of one checkpoint; of several, a curve."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recallscope.audits.facts import MEMORIES, Counts
from recallscope.audits.sentences import SAID
from recallscope.audits.summary_tables import SHARE_NAMES
from recallscope.results.panels import Kind, Panel, Picture, Series, theory_line
from recallscope.theory.table_facts import SHARES

if TYPE_CHECKING:
    from recallscope.audits.audit import Audit, CheckpointAudit


def audit_picture(found: Audit) -> Picture:
    """What there is to see."""
    if len(found.checkpoints) == 1:
        return checkpoint_picture(found.checkpoints[0])
    return _of_several(found)


def checkpoint_picture(found: CheckpointAudit) -> Picture:
    return Picture(
        caption=SAID["one_checkpoint"],
        panels=[_facts(found), _spectrum(found), _cosines(found)],
    )


def _facts(found: CheckpointAudit) -> Panel:
    def known(counts: Counts) -> list[float]:
        return [_known(counts[share]) for share in SHARES]

    series = []
    for place, (memory, called) in enumerate(MEMORIES.items()):
        values = known(getattr(found.facts, memory))
        series.append(
            Series(f"{called}, predicted", Kind.THEORY, SHARE_NAMES, values, colour=place)
        )
    if seen := found.measured.get("one_step"):
        label, values = f"{MEMORIES['one_step']}, measured", known(seen.measured)
        ends = {"low": known(seen.low), "high": known(seen.high)}
        series.append(Series(label, Kind.MEASURED, SHARE_NAMES, values, **ends, colour=0))
    return Panel(
        title="facts", x="fraction of facts recalled", y="facts", series=series, log_y=True
    )


def _known(count: float) -> float:
    """A count above the number of rows taken is not drawn."""
    return count if math.isfinite(count) else math.nan


def _spectrum(found: CheckpointAudit) -> Panel:
    dim = found.tables[0].dim
    series = [
        theory_line(table.role, [each for each in table.statistics.spectrum if each[1] > 0], number)
        for number, table in enumerate(found.tables)
    ]
    flat = Series("random rows", Kind.REFERENCE, [1, dim], [1 / dim] * 2)
    return Panel(
        title="spectrum of centred rows",
        x="principal direction",
        y="fraction of the variance",
        series=[*series, flat],
        log_x=dim > 1,
        log_y=True,
    )


def _cosines(found: CheckpointAudit) -> Panel:
    statistics = found.tables[0].statistics
    kinds = {"raw": "as they are", "centred": "centred", "random": "random rows"}
    series = []
    for number, (how, called) in enumerate(kinds.items()):
        shares = np.array(statistics.cosines[how])
        middle = (np.arange(len(shares)) + 0.5) * 2 / len(shares) - 1
        seen = np.flatnonzero(shares)
        kept = slice(max(seen[0] - 1, 0), seen[-1] + 2) if len(seen) else slice(0, 0)
        kind = Kind.REFERENCE if how == "random" else Kind.THEORY
        x, y = middle[kept].tolist(), (shares[kept] * len(shares) / 2).tolist()
        series.append(Series(called, kind, x, y, colour=number))
    role = found.tables[0].role
    return Panel(title=f"overlap of pairs of rows ({role})", x="cosine", y="density", series=series)


def _of_several(found: Audit) -> Picture:
    steps = found.steps
    names: list[float] | list[str] = steps or [
        f"{number}: {Path(each.name).stem[:16]}" for number, each in enumerate(found.checkpoints, 1)
    ]
    where = "training step" if steps else ""
    dims, facts = [], []
    for how, called in (("raw", "as they are"), ("centred", "centred")):
        values = [each.tables[0].statistics.effective_dim[how] for each in found.checkpoints]
        dims.append(Series(f"{called} ({how})", Kind.MEASURED, names, values))
    for memory, called in MEMORIES.items():
        values = [_known(getattr(each.facts, memory)[0.5]) for each in found.checkpoints]
        facts.append(Series(called, Kind.MEASURED, names, values))
    return Picture(
        caption=SAID["several_checkpoints"],
        panels=[
            Panel(title="effective dimension", x=where, y="dimensions", series=dims, log_y=True),
            Panel(title="facts at 50 %", x=where, y="facts", series=facts, log_y=True),
        ],
    )
