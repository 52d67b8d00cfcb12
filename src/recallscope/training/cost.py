"""The cost of a training, and which ones are so small that several run at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.training.options import rows_of_step

if TYPE_CHECKING:
    from recallscope.model.cost import Cost
    from recallscope.problem.problem import Problem

RUNS_AT_ONCE = 16
_TINY = 2**14  # logits of one step: up to here, starting an operation costs more than doing it
_TINY_READ = 2**15  # and numbers read of the table

# Seconds in float64, of one core of a server of 2023.
_STEP = 1.2e-3
_MULTIPLY_ADD = 7e-11
_LOGIT = 6e-9
_POSITION = 1e-7
_POSITION_NUMBER = 1e-9
_LOOKS = 40  # at loss and gradient, of the search for a minimum


def runs_at_once(problem: Problem) -> int:
    """How many runs of a problem are trained in one operation: it depends on the problem alone.

    That is for optimisers that treat each weight by itself: others see one matrix for each run.

    >>> from recallscope.problem.problem import Problem
    >>> tiny = Problem(vocab=64, samples=256, dim=16, length=4, learner="adam")
    >>> runs_at_once(tiny), runs_at_once(tiny.replace(vocab=512))
    (16, 1)
    """
    rows = rows_of_step(problem)
    tiny = rows * problem.vocab <= _TINY and rows * problem.length * problem.dim <= _TINY_READ
    # A gradient is cut by its length, which several runs in one tensor do not have each.
    plain = problem.width is None and not problem["clip"]
    plain = plain and problem.part("model").batched
    return RUNS_AT_ONCE if tiny and plain else 1


def training_cost(
    problem: Problem, engine: str, dtype: str, test_samples: int, *, at_once: int = 1
) -> Cost:
    """The cost of all steps that a problem allows, and of evaluations along the way."""
    from recallscope.model.cost import Cost

    V, d, L, m = problem.vocab, problem.dim, problem.length, problem.hidden
    number = 4 if dtype == "float32" else 8
    rows = rows_of_step(problem)
    looks = 3 * max(problem["steps"], 1).bit_length()
    work = problem["steps"] * rows + 0.4 * (1024 * looks + test_samples)
    products = 2.0 * V * d + 3.0 * d * m * (1 + (problem.width is not None))
    seconds = _MULTIPLY_ADD * products + _LOGIT * V + L * (_POSITION + _POSITION_NUMBER * d)
    seconds = work * seconds * (0.5 if dtype == "float32" else 1)
    seconds += problem["steps"] * _STEP / (4 if at_once > 1 else 1)
    held = 8 * problem.samples * (L + 2) if not getattr(problem, "fresh", False) else 0.0
    graph = number * min(rows, 2048) * (8 * L + 8 * d + 4 * m + min(V, 2048))
    weights = 8 * number * d * (m + d) + number * 4 * V * d * (1 + 4 * problem["learn_embeddings"])
    tests = number * 2048 * V + 8 * 1024 * (L + 2)
    return Cost(
        engine=problem.learner,
        multiply_adds=work * products,
        memory_bytes=350 * 2**20 + held + graph + at_once * weights + tests,
        seconds=0.01 + seconds,
    )


def convex_cost(problem: Problem, dtype: str, test_samples: int) -> Cost:
    """The cost of the minimum over the value matrix; the highest possible one if uncertain."""
    from recallscope.model.cost import Cost

    V, d, L, m = problem.vocab, problem.dim, problem.length, problem.hidden
    number = 4 if dtype == "float32" else 8
    stored = float(min(problem.samples, V)) if problem["attention"] == "mark" else problem.samples
    drawn = 0.0 if problem.samples == float("inf") else problem.samples
    products = _LOOKS * stored * (2.0 * V * d + 2.0 * d * m) + test_samples * V * d
    seconds = _MULTIPLY_ADD * products + _LOOKS * stored * V * _LOGIT + 1e-8 * drawn * (L + 2)
    if problem["attention"] == "adam":
        seconds += training_cost(problem.replace(learner="adam"), "adam", dtype, 0).seconds
    memory = number * (3 * V * d + stored * (3 * m + 3 * d) + 60 * d * m) + 8 * 2**16 * (L + 2)
    return Cost(
        engine="converged",
        multiply_adds=products,
        memory_bytes=350 * 2**20 + memory + number * 2048 * V,
        seconds=0.01 + seconds * (0.5 if dtype == "float32" else 1),
    )
