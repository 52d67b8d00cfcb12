"""The check for embedding matrices: every term of their theory compared with Monte Carlo.

For a family, tables are drawn and each size is halved and doubled. Given arrays have one vocabulary
and one dimension: samples and length are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from recallscope.common.checks import whole_number
from recallscope.common.errors import ProblemError
from recallscope.measure import check_report as check
from recallscope.measure.check_report import Progress
from recallscope.measure.monte_carlo import Term
from recallscope.measure.table_monte_carlo import measure_table
from recallscope.model.embeddings import draw_embeddings
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.problem import Problem
from recallscope.theory.table_moments import table_moments
from recallscope.theory.table_noise import attention_terms, recall_terms
from recallscope.theory.table_prediction import no_table_form


def check_tables(
    problem: Problem, embeddings: Embeddings | None, seeds: int = 16, progress: Progress = None
) -> check.CheckReport:
    """Measure around a problem on tables, and compare with theory; see `recallscope.check`."""
    measured = measure_tables_around(problem, embeddings, seeds, progress)
    return compare_tables(problem, embeddings, measured)


def measure_tables_around(
    problem: Problem, embeddings: Embeddings | None, seeds: int = 16, progress: Progress = None
) -> check.Measured:
    """Monte Carlo of a problem and of those around it, each seed with another table."""
    if reason := no_table_form(problem):
        raise ProblemError(reason)
    check.check_sizes(problem)

    def measure(one: Problem, seed: int) -> dict[Term, float]:
        table = embeddings or draw_embeddings(one, seed)
        return measure_table(table, int(one.samples), one.length, seed)

    problems = check.around(problem, _sizes(problem, embeddings))
    return check.measure_all(problems.values(), whole_number("seeds", seeds, 2), measure, progress)


def compare_tables(
    problem: Problem, embeddings: Embeddings | None, measured: check.Measured
) -> check.CheckReport:
    """Compare what was measured with what theory says of the same tables.

    Tables differ, and theory says how: that part of their spread is taken out of what was measured.
    """
    data: dict[Problem, dict[Term, float]] = {}
    without_spread: check.Measured = {}
    for one, measured_terms in measured.items():
        predicted = [
            predicted_terms(one, embeddings or draw_embeddings(one, seed))
            for seed in range(len(measured_terms))
        ]
        terms = measured_terms[0].keys()
        data[one] = {
            term: float(np.mean([terms_of_seed[term] for terms_of_seed in predicted]))
            for term in terms
        }
        mean = {
            term: float(np.mean([terms_of_seed[term] for terms_of_seed in measured_terms]))
            for term in terms
        }
        without_spread[one] = [
            {
                term: seen[term] - mean[term] * (mine[term] / (data[one][term] or 1.0) - 1)
                for term in terms
            }
            for seen, mine in zip(measured_terms, predicted, strict=True)
        ]
    problems = check.around(problem, _sizes(problem, embeddings))
    return check.compare_terms(problem, problems, without_spread, data)


def predicted_terms(problem: Problem, embeddings: Embeddings) -> dict[Term, float]:
    """Return the prediction of everything that `measure_table` measures."""
    table = table_moments(embeddings.tokens, embeddings.outputs)
    trigger = np.asarray(embeddings.trigger, dtype=np.float64)
    stages = {
        "attention": attention_terms(table, problem.samples, problem.length, trigger),
        "recall": recall_terms(table, problem.samples),
    }
    return {
        (stage, name): value
        for stage, (signal, terms) in stages.items()
        for name, value in {"signal": signal, **terms}.items()
    }


def _sizes(problem: Problem, embeddings: Embeddings | None) -> Sequence[str]:
    """Those that can be halved and doubled: a dimension not below the rank of the rows."""
    possible = []
    for name in ("samples", "length") if embeddings else ("vocab", "samples", "dim", "length"):
        with suppress(ProblemError):
            check.around(problem, [name])
            possible.append(name)
    return possible
