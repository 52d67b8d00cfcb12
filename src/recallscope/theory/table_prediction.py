"""The prediction of three steps on a given embedding matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_bytes
from recallscope.common.machine import machine_memory
from recallscope.common.progress_bar import ProgressCallback
from recallscope.common.shapes import Float
from recallscope.problem.problem import Problem
from recallscope.theory.law import Answer
from recallscope.theory.problem_arrays import no_form_for_parts
from recallscope.theory.table_attention import attention_draws, attention_law
from recallscope.theory.table_moments import TableMoments, effective_dim, table_moments
from recallscope.theory.table_noise import attention_terms, recall_terms
from recallscope.theory.table_read import attention_shares, read_gradient, read_memory

if TYPE_CHECKING:
    from recallscope.problem.given_embeddings import Embeddings

_DRAWS, _READS = 128, 16  # of batches over all tables, and of reads of each memory
_COPIES = 8  # of a table that there are at once, at most
_MULTIPLY_ADDS = 4e9  # in a second, roughly
_ACCURACIES = ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy")


def drawn_as_tables(problem: Problem) -> bool:
    """Whether a problem's family of embeddings is known by the tables that it draws."""
    if problem.embedding.startswith("arrays:"):
        return False
    return bool(problem.part("embedding").closed_form == "table")


def tables_of(
    problem: Problem, arrays: Embeddings | None, count: int
) -> list[Callable[[], Embeddings]]:
    """How to make the arrays of a problem, or each of so many that its family draws."""
    if arrays is not None:
        return [lambda: arrays]
    draw = problem.part("embedding").draw
    return [partial(draw, problem, seed, np.float64) for seed in range(count)]


def no_table_form(problem: Problem) -> str | None:
    """Why theory says nothing of a problem on an embedding matrix; None if it does."""
    if problem.regime != "limit":
        return "no closed form for finite steps on an embedding matrix; leave regime out"
    if reason := no_form_for_parts(problem):
        return reason
    if problem.width is not None:
        return "no closed form for an MLP on an embedding matrix; leave width out"
    if problem.trigger_in_values:
        return "no closed form for a trigger in the values on an embedding matrix"
    return None


def table_bytes(problem: Problem, draws: int = _DRAWS) -> float:
    """Bytes that a prediction takes at its peak, with one table at a time.

    >>> table_bytes(Problem(vocab=20_000, samples=1, dim=4096, length=8)) > 5e9
    True
    """
    V, d = problem.vocab, problem.dim
    return 8.0 * (V * (_COPIES * d + 8 * draws + 12 * _READS) + 6 * d * d)


def table_seconds(problem: Problem, tables: int) -> float:
    """About how long a prediction takes; reading memories costs as much for any number of tables.

    >>> round(table_seconds(Problem(vocab=4096, samples=1, dim=64, length=8), 16))
    7
    """
    V, d = problem.vocab, problem.dim
    products = 7.0 * tables * V * d * d
    reads = _DRAWS * _READS * V * (2500.0 + 8 * d)
    return (products + reads) / _MULTIPLY_ADDS


def table_memory() -> float:
    """Bytes that a prediction may take: half of what there is, as other things need some too."""
    return machine_memory() / 2


def check_memory(problem: Problem, draws: int = 1) -> None:
    """Raise if a prediction takes more memory than there is for it."""
    needed, memory = table_bytes(problem, draws), table_memory()
    if needed > memory:
        raise ProblemError(
            f"a prediction for tables of vocab={problem.vocab}, dim={problem.dim} needs about "
            f"{format_bytes(needed)} of memory, more than {format_bytes(memory)}, half of what "
            "this machine has; make vocab or dim smaller"
        )


def predict_table(
    problem: Problem,
    tables: Sequence[Callable[[], Embeddings]],
    progress: ProgressCallback = lambda done, total: None,
) -> Answer:
    """Attention, recall and first-gradient accuracy on an embedding matrix; the mean of several.

    They are made in turn: one is in memory at a time.

    >>> rng = np.random.default_rng(0)
    >>> rows = lambda count: rng.standard_normal((count, 48)) / 48**0.5
    >>> from recallscope import Embeddings
    >>> table = Embeddings(rows(256), rows(256), rows(1)[0], rows(1)[0])
    >>> problem = Problem(vocab=256, samples=1024, dim=48, length=8, embedding="gaussian")
    >>> predict_table(problem, [lambda: table]).accuracies
    {'attention_accuracy': 1.0, 'recall_accuracy': 0.3..., 'first_gradient_accuracy': 0.1...}
    """
    draws = max(_DRAWS // len(tables), 1)
    check_memory(problem, draws)
    accuracies: dict[str, list[float]] = {name: [] for name in _ACCURACIES}
    budgets, dims = [], []
    for number, make in enumerate(tables):
        done = number / len(tables)
        table = make()
        progress(done, 1.0)
        random = np.random.default_rng(number)
        moments = table_moments(table.tokens, table.outputs)
        law = attention_law(moments, problem.samples, problem.length)
        gained, pulled = attention_draws(law, moments, problem.length, draws, random)
        vectors = gained[:, None] * table.trigger + pulled
        attended, read = attention_shares(moments, vectors, table.trigger, problem.length)
        per_fact = problem.samples / problem.vocab
        accuracies["attention_accuracy"] += attended.mean(axis=1).tolist()
        for batch, (mine, others) in enumerate(zip(attended, read, strict=True)):
            progress(done + batch / draws / len(tables), 1.0)
            accuracies["recall_accuracy"].append(
                read_memory(moments, per_fact, mine, others, _READS, random)
            )
            accuracies["first_gradient_accuracy"].append(
                read_gradient(moments, per_fact, problem.length, _READS, random)
            )
        budgets.append(_budget(moments, problem, np.asarray(table.trigger, dtype=float)))
        dims.append(
            {
                f"{name}_effective_dim_{how}": effective_dim(rows, centred=how == "centred")
                for name, rows in (("tokens", table.tokens), ("outputs", table.outputs))
                for how in ("raw", "centred")
            }
        )
        del table, moments  # before the next one is drawn
    return Answer(
        accuracies={name: float(np.mean(values)) for name, values in accuracies.items()},
        errors={name: standard_error(values, len(tables)) for name, values in accuracies.items()},
        noise={
            stage: {
                term: float(np.mean([budget[stage][term] for budget in budgets])) for term in terms
            }
            for stage, terms in budgets[0].items()
        },
        quantities={name: float(np.mean([dim[name] for dim in dims])) for name in dims[0]},
    )


def standard_error(values: list[float], tables: int) -> float:
    """The standard error of the mean: over tables if there are some, which differ, or batches."""
    means = np.mean(np.reshape(values, (tables, -1)), axis=1) if tables > 1 else np.array(values)
    return float(np.std(means, ddof=1) / math.sqrt(len(means)))


def _budget(
    table: TableMoments, problem: Problem, trigger: Float[np.ndarray, " d"]
) -> dict[str, dict[str, float]]:
    """Variances of both stages in units of their squared signals."""
    stages = {
        "attention": attention_terms(table, problem.samples, problem.length, trigger),
        "recall": recall_terms(table, problem.samples),
    }
    return {
        stage: {name: variance / (signal**2 or 1.0) for name, variance in terms.items()}
        for stage, (signal, terms) in stages.items()
    }
