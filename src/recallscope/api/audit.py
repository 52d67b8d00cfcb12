"""How many facts an embedding matrix can store, from a checkpoint or an array."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np

from recallscope.audits.audit import Audit, CheckpointAudit, TableAudit
from recallscope.audits.facts import facts_of, paired_rows
from recallscope.audits.measured import measure_facts
from recallscope.audits.table_statistics import gram_memory, table_statistics, work
from recallscope.audits.used_rows import used_rows
from recallscope.checkpoints.find_tables import Tables
from recallscope.checkpoints.open_checkpoint import Checkpoint, checkpoints_in, open_checkpoint
from recallscope.checkpoints.stored_table import StoredTable, table_of
from recallscope.checkpoints.token_strings import shown_token
from recallscope.common.extras import missing_explained
from recallscope.common.formatting import format_bytes
from recallscope.common.machine import memory_left
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.common.shapes import Float
from recallscope.problem import ProblemError

_MOST_CHECKPOINTS = 1000
_WORTH_SAYING = 2**31  # bytes of matrices
_CALLED_UNUSED = re.compile(r"[<\[|]*\W*(?:unused|reserved|extra_id|padding|dummy)", re.IGNORECASE)
_FACTS, _EXPERIMENTS = 2.0, 2.0  # time relative to one pass over all rows


def audit(
    *what: str | Path | Float[np.ndarray, "V d"],
    inputs: str | None = None,
    outputs: str | None = None,
    tokens: str | Path | None = None,
    measure: bool = False,
    progress: ProgressCallback | bool = True,
) -> Audit:
    """How many facts an embedding matrix can store, from checkpoints or arrays.

    A folder stands for all checkpoints in it, in the order of the numbers in their names. No code
    of a file is run, and rows are read in tiles.

    Args:
        what: safetensors, GGUF, .npy or .npz files, folders, or arrays with a row for each token.
        inputs: the name of the matrix that embeds tokens; detected if not given.
        outputs: the name of the matrix that answers are compared with, if it is another.
        tokens: a tokenizer.json, or a text file with a token in each line, to name rows.
        measure: also run experiments on some of the rows, and compare them with the prediction.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (work done, work in all).

    Returns:
        For each checkpoint its embedding matrices, how many facts fit, and measurements if asked.

    Raises:
        ProblemError: a file that cannot be read or has no embedding matrix, or no rows in use.

    >>> rows = np.random.default_rng(0).standard_normal((2000, 32)) + 0.5
    >>> found = audit(rows)
    >>> table = found.checkpoints[0].tables[0]
    >>> [round(table.statistics.effective_dim[how]) for how in ("raw", "centred")]
    [15, 32]
    >>> found
    One step of learning could store about ... facts in a matrix on these embeddings, ...
    """
    if measure:  # a missing package is reported before the work, not after it
        with missing_explained():
            import_module("recallscope.experiment.run")
    opened = list(_opened(what, inputs, outputs, tokens))
    with shown_progress(progress, "audit") as show:
        found = []
        for place, checkpoint in enumerate(opened):

            def part(done: float, total: float, place: int = place) -> None:
                show(place + done / total, len(opened))

            found.append(_audited(checkpoint, measure, part))
    return Audit(checkpoints=tuple(found))


def _opened(
    what: tuple[str | Path | np.ndarray, ...],
    inputs: str | None,
    outputs: str | None,
    tokens: str | Path | None,
) -> list[Checkpoint]:
    if not what:
        raise ProblemError("give a checkpoint: a file, a folder or an array")
    names = None if tokens is None else Path(tokens)
    found: list[Checkpoint] = []
    for number, each in enumerate(what, start=1):
        if isinstance(each, np.ndarray):
            called = "array" if len(what) == 1 else f"array {number}"
            tables = Tables(table_of(each, called), None, "given")
            found.append(Checkpoint(name=called, tables=tables, tokens=None))
        elif isinstance(each, (str, Path)):
            paths = checkpoints_in(Path(each))
            if len(found) + len(paths) > _MOST_CHECKPOINTS:
                raise ProblemError(f"there are more than {_MOST_CHECKPOINTS} checkpoints")
            found += [open_checkpoint(path, inputs, outputs, names) for path in paths]
        else:
            raise ProblemError(f"a checkpoint is a path or an array, not {type(each).__name__}")
    return found


def _audited(
    checkpoint: Checkpoint, measure: bool, progress: Callable[[float, float], None]
) -> CheckpointAudit:
    tables = checkpoint.tables
    stored = [each for each in (tables.inputs, tables.outputs) if each is not None]
    for each in stored:
        _check_memory(each)
    rows = sum(each.rows + work(each.rows, each.dim) for each in stored)
    total = rows * (1 + _FACTS + _EXPERIMENTS * measure)
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        progress(min(done, rows), total)

    known = dict(enumerate(checkpoint.tokens or []))
    used, audited, moments = [], [], []
    for role, each in zip(("inputs", "outputs"), stored, strict=False):
        found = used_rows(each, advance)
        statistics, own_moments = table_statistics(found, advance)
        used.append(found)
        moments.append(own_moments)
        named = {row for listed in statistics.worst.values() for row, _ in listed}
        tokens = (known.get(row, "") for row in found.numbers.tolist())
        called_unused = [each for each in tokens if _CALLED_UNUSED.match(each)]
        audited.append(
            TableAudit(
                role=role if len(stored) > 1 else "inputs and outputs",
                **{name: getattr(each, name) for name in ("name", "kind", "rows", "dim")},
                used_rows=len(found.numbers),
                unused=found.unused,
                statistics=statistics,
                tokens={row: shown_token(known[row]) for row in sorted(named) if known.get(row)},
                called_unused=len(called_unused),
            )
        )
    pair = paired_rows(used[0], used[-1] if len(used) > 1 else None)
    ranks = [each.statistics.rank for each in audited]

    def after(times: float, mine: float) -> Callable[[float, float], None]:
        return lambda part, of: progress(rows * (times + mine * part / of), total)

    facts = facts_of(pair, (moments[0], moments[-1]), (ranks[0], ranks[-1]), after(1, _FACTS))
    experimented = after(1 + _FACTS, _EXPERIMENTS)
    return CheckpointAudit(
        name=checkpoint.name,
        found_by=tables.how,
        tables=tuple(audited),
        facts=facts,
        measured=measure_facts(pair, facts.one_step, experimented) if measure else {},
    )


def _check_memory(table: StoredTable) -> None:
    """Warn of large matrices, or refuse them, before they are allocated."""
    needed = gram_memory(table.dim)
    if needed > memory_left():
        raise ProblemError(
            f"matrices of {table.dim}×{table.dim} for the table {table.name!r:.80} would take "
            f"{format_bytes(needed)} of memory; there is {format_bytes(memory_left())}"
        )
    if needed > _WORTH_SAYING:
        warnings.warn(
            f"matrices of {table.dim}×{table.dim} take {format_bytes(needed)} of memory",
            stacklevel=4,
        )
