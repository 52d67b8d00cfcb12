"""The cost of an experiment, and the engine that takes less.

The choice must be the same everywhere, since engines agree to rounding only. It weighs counted work
by fixed rates, those of one core of a server of 2023 in float64. Another machine differs by about a
common factor, which leaves the choice alone.
"""

from __future__ import annotations

import math

import torch

from recallscope.common.checks import choice, whole_number
from recallscope.common.errors import ProblemError
from recallscope.model.cost import Cost, unknown_cost
from recallscope.problem.problem import Problem, check_dtype
from recallscope.three_step.batch import MOST_KEPT_BYTES, tile_size
from recallscope.three_step.by_engines import by_engines
from recallscope.three_step.population_mlp import UNITS_AT_ONCE, quadrature_points

ENGINES = ("auto", "stream", "counts", "reference")

_LARGEST_TABLE = 2**32  # bytes; above it, the counts engine is not chosen unasked

# Seconds for each unit of work.
_START = 2.5e-3  # of any run, in either kind of numbers, with a test of the usual size
_USUAL_TEST = 4096
_TEST, _TESTED_POSITION = 1e-7, 1.5e-8  # of every further sample that is tested on
_SAMPLE = 2.2e-7
_GATHERED_POSITION = 7.4e-8  # stream: draw, sum and compare one token of one sample, three passes
_COUNTED_POSITION = 4.2e-8  # counts: the same with look-ups
_GATHERED_NUMBER = 2.7e-10  # one coordinate of one gathered embedding
_SAMPLE_NUMBER = 1.35e-8  # one coordinate of one sample's own vectors
_CELL = 6.3e-9  # one cell of the V×V tables
_MULTIPLY_ADD = 4e-11  # dense matrix products
_EXPONENTIAL = 1.5e-9  # one entry of a softmax over labels
_ACTIVATION = 2e-9  # one hidden unit of one sample
_GRID_POINT = 3e-7  # one point of one hidden unit's quadrature
_GRID_TOKEN = 6e-8  # one token at one hidden unit's quadrature


def choose_engine(problem: Problem, engine: str = "auto") -> str:
    """The engine that will run a problem: stream, counts, literal, population, reference, autograd.

    Learners other than three-step have no engines, and their own name stands for one. One that was
    chosen before is chosen again.

    >>> choose_engine(Problem(vocab=512, samples=10**6, dim=64, length=32))
    'counts'
    >>> choose_engine(Problem(vocab=10**6, samples=10**6, dim=64, length=32))
    'stream'
    """
    if not problem.part("learner").has_engines:
        if engine not in ("auto", problem.learner):
            raise ProblemError(
                f"engine {engine!r} is for the learner three-step; {problem.learner} has one way "
                "to be computed: leave the engine out"
            )
        return problem.learner
    only = _only_engine(problem)
    if only is not None and engine == only:  # it was chosen before
        return only
    choice("engine", engine, ENGINES)
    if engine == "reference" and only != "autograd" and math.isfinite(problem.samples):
        return engine
    if only is not None:
        if engine != "auto":
            about = (
                "the paper's task, model and loss; others have one way"
                if only == "autograd"
                else "finite batches in the limit regime; this problem has one way"
            )
            raise ProblemError(
                f"engine {engine!r} is for {about} to be computed, {only}: leave the engine out"
            )
        return only
    if problem.width is not None:
        if engine == "counts":
            raise ProblemError(
                "engine 'counts' is for attention alone: with an MLP a sample is more than its "
                "counts; use stream"
            )
        return "stream"
    if engine != "auto":
        return engine
    if 8 * problem.vocab**2 > _LARGEST_TABLE:
        return "stream"
    return min(("stream", "counts"), key=lambda name: _work(problem, name)[1])


def _only_engine(problem: Problem) -> str | None:
    """The one way to make three steps of a problem; None where there are several."""
    if not by_engines(problem):
        return "autograd"
    if problem.regime == "literal":
        return "literal"
    return "population" if math.isinf(problem.samples) else None


def predict_cost(
    problem: Problem, engine: str = "auto", dtype: str = "float32", test_samples: int = 4096
) -> Cost:
    """Work, memory and time of one run of a problem, testing included.

    Where the learner does not know its cost, no memory and a second are assumed.

    Args:
        problem: what would be run.
        engine: 'stream', 'counts', 'reference', or 'auto' for the one that costs less.
        dtype: 'float32', or 'float64'.
        test_samples: fresh samples to test on.

    Returns:
        The engine, operations, bytes and seconds of one core.

    Raises:
        ProblemError: an unknown engine, one that cannot run this problem, or no number of samples.

    >>> cost = predict_cost(Problem(vocab=4096, samples=65536, dim=128, length=64))
    >>> cost.engine, cost.memory_bytes < 2**30, 0.1 < cost.seconds < 10
    ('counts', True, True)
    """
    check_dtype(dtype)
    whole_number("test_samples", test_samples, 0)
    engine = choose_engine(problem, engine)
    cost: Cost | None = problem.part("learner").cost(problem, engine, dtype, test_samples)
    return unknown_cost(engine) if cost is None else cost


def three_step_cost(problem: Problem, engine: str, dtype: str, test_samples: int) -> Cost:
    """The cost of three steps by an engine that was chosen."""
    multiply_adds, seconds = _work(problem, engine)
    V, d, m = problem.vocab, problem.dim, problem.hidden
    tested = min(test_samples, V)
    testing = V * d * m + 2 * tested * (V * d + d * m)
    drawing = 2e-8 * d * (2 * V + (problem.width or 0))
    seconds += testing * _MULTIPLY_ADD + drawing
    further = max(test_samples - _USUAL_TEST, 0)
    seconds += further * (_TEST + _TESTED_POSITION * problem.length)
    if dtype == "float32":
        seconds /= 2  # nearly all of it is arithmetic or memory traffic
    return Cost(
        engine=engine,
        multiply_adds=multiply_adds + testing,
        memory_bytes=_memory(problem, engine, dtype, test_samples),
        seconds=_START + seconds,
    )


def _work(problem: Problem, engine: str) -> tuple[float, float]:
    """Multiply-adds of dense products and seconds of the three steps."""
    V, d, L, m, N = problem.vocab, problem.dim, problem.length, problem.hidden, problem.samples
    if engine == "population":
        products = V * d * (3.0 * m + d)
        grid = m * (_GRID_POINT * quadrature_points(L) + _GRID_TOKEN * V) if problem.width else 0
        return products, _MULTIPLY_ADD * products + grid
    if engine == "counts":
        products = 2.0 * V * V * d
        other = _COUNTED_POSITION * N * L + _SAMPLE * N + _CELL * V * V
        return products, _MULTIPLY_ADD * products + other
    products = 2.0 * N * d * m
    other = N * (_GATHERED_POSITION * L + _GATHERED_NUMBER * L * d + _SAMPLE_NUMBER * d)
    if problem.width is not None:
        products += 3.0 * N * d * m
        other += 3 * _ACTIVATION * N * m
    if engine == "literal":
        products += 4.0 * N * V * d
        other += 2 * _EXPONENTIAL * N * V
    if engine == "reference":  # forwards and backwards, with logits and embeddings of all samples
        products += 9.0 * N * d * (V + L)
        other += 9 * (_EXPONENTIAL * N * V + _GATHERED_NUMBER * N * L * d)
    return products, _MULTIPLY_ADD * products + other


def _memory(problem: Problem, engine: str, dtype: str, test_samples: int) -> float:
    """Bytes at the peak, with the threads that there are and torch itself."""
    V, d, L, m, N = problem.vocab, problem.dim, problem.length, problem.hidden, problem.samples
    number = 4 if dtype == "float32" else 8
    interpreter = 350 * 2**20
    frozen = number * (3 * V * d + (problem.width or 0) * d) + 16 * V
    passing = number * 2 * V * d  # scaled or shifted copies of the embeddings
    tile = min(tile_size(problem), test_samples if math.isinf(N) else max(N, test_samples))
    threads = torch.get_num_threads()
    tiles = threads * tile * (24 * (L + 1) + number * (4 * L + 4 * d + 4 * m))
    batch = 8 * N * (L + 2)
    tiles += batch if batch <= MOST_KEPT_BYTES else 0
    # A tree of sums over up to 2^40 tiles, and what the threads have ready for it.
    sums = 8 * (40 + 2 * threads) * (d * m + V)
    logits = number * min(tile, 256) * min(V, 2048)
    answers = 16 * threads * logits  # what products pack, and allocators keep, of each block
    table = 0.0
    if engine == "counts":
        table = V * V * max(number, 8 if N * L >= 2**31 else 4)
    if engine == "population":
        passing *= 3
        if problem.width is not None:
            table = threads * 8 * UNITS_AT_ONCE * (12 * V + 12 * quadrature_points(L))
            passing += 2 * 8 * V * d
    if engine == "reference":
        table = number * N * (6.0 * L * d + 6 * V + 4 * m) + 8 * N * L
    return interpreter + frozen + passing + tiles + sums + answers + table
