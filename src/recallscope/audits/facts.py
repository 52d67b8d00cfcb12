"""How many facts a memory on these rows stores, as they are and after simple treatments of them.

A fact is a pair of tokens: asked for one, the memory is to answer with the other. The memory is one
matrix between the two tables, filled by one step of learning or by training to the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from recallscope.audits.table_statistics import Moments
from recallscope.audits.used_rows import Rows, UsedRows
from recallscope.common.plain import Plain
from recallscope.parts.data_files import data_next_to
from recallscope.theory.choosing import facts_held
from recallscope.theory.output_lengths import unanswered, whitened

MEMORIES = {"one_step": "one step", "trained": "training to the end"}
_MOST_ROWS = 8192
MATTERS = 1.25  # times as many facts: less is not worth a sentence
FIRST = 0.9  # the recalled fraction of facts that sentences report
TREATMENTS: dict[str, str] = data_next_to(__file__, "words.toml")["treatments"]
CAUSES = {"mean": "centred", "lengths": "normalised", "spectrum": "whitened"}
"""What limits one step, and the treatment that takes it away; each takes those before it too."""

Counts = dict[float, float]
"""Facts by the recalled fraction; infinite where more facts fit than rows were looked at."""


@dataclass(frozen=True, kw_only=True)
class TableFacts(Plain):
    """How many facts a memory on a model's tables stores.

    Attributes:
        one_step: after one step of learning, by the recalled fraction.
        trained: at the end of training.
        treated: after one step, with rows that were treated before.
        looked_at: the number of rows that were taken for one step, and so the most facts.
        bottleneck: what limits one step, one of mean, lengths, spectrum and dimension.
        unanswered: of some rows, how many no matrix that was found answers; and of how many.
    """

    one_step: Counts
    trained: Counts
    treated: dict[str, Counts]
    looked_at: int
    bottleneck: str
    unanswered: tuple[int, int] = (0, 0)


def paired_rows(inputs: UsedRows, outputs: UsedRows | None) -> tuple[Rows, Rows]:
    """Some rows of tokens in use, as inputs and as outputs."""
    if outputs is None:
        rows = inputs.take(inputs.sample(_MOST_ROWS, seed=5)).astype(np.float64)
        return rows, rows
    _, first, second = np.intersect1d(inputs.numbers, outputs.numbers, return_indices=True)
    rng = np.random.default_rng(5)
    size = min(len(first), _MOST_ROWS)
    at = np.sort(rng.choice(len(first), size=size, replace=False))
    return (inputs.take(first[at]).astype(np.float64), outputs.take(second[at]).astype(np.float64))


def facts_of(
    pair: tuple[Rows, Rows],
    moments: tuple[Moments, Moments],
    ranks: tuple[int, int],
    progress: Callable[[float, float], None] = lambda done, total: None,
) -> TableFacts:
    """How many facts memories on these rows store, by theory; ranks are of centred rows."""
    parts = len(TREATMENTS) + 2
    dim = pair[0].shape[1]
    answers = whitened(pair[1])
    one_step = dict(facts_held("one_step", *pair))
    treated = {}
    for done, name in enumerate(TREATMENTS, start=1):
        progress(done, parts)
        rows = [treat(each, how, name) for each, how in zip(pair, moments, strict=True)]
        treated[name] = dict(facts_held("one_step", rows[0], rows[1]))
    progress(parts - 1, parts)
    return TableFacts(
        one_step=one_step,
        trained=trained_by_rank([min(each + 1, dim) for each in ranks], answers),
        treated=treated,
        looked_at=len(pair[0]),
        bottleneck=_bottleneck(one_step, treated, len(pair[0])),
        unanswered=unanswered(answers),
    )


def trained_by_rank(ranks: Iterable[int], answers: Rows) -> Counts:
    """Facts at the end of training: ranks of rows count, and lengths of whitened answers."""
    lengths = np.linalg.norm(answers, axis=1)
    return dict(facts_held("trained", *ranks, lengths))


def treat(rows: Rows, moments: Moments, how: str) -> Rows:
    """Rows centred, of one length, or whitened too."""
    from scipy.linalg import cholesky, solve_triangular  # type: ignore[import-untyped]

    rows = rows - moments.mean
    if how == "whitened":
        # By a triangular matrix: whitened rows differ by a rotation, which no memory depends on.
        dim = len(moments.mean)
        ridge = 1e-6 * moments.covariance.trace() / dim or 1.0
        root = cholesky(moments.covariance + ridge * np.eye(dim), lower=True)
        rows = solve_triangular(root, rows.T, lower=True).T
    if how != "centred":
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(lengths > 0, lengths, 1.0)
    return rows


def _bottleneck(one_step: Counts, treated: Mapping[str, Counts], looked_at: int) -> str:
    """What costs most: each treatment takes away one cause more than the one before it."""
    held = [one_step[FIRST], *(treated[name][FIRST] for name in TREATMENTS)]
    known = [max(min(each, 2 * looked_at), 1.0) for each in held]
    gains = [after / before for before, after in itertools.pairwise(known)]
    best = int(np.argmax(gains))
    return list(CAUSES)[best] if gains[best] > MATTERS else "dimension"
