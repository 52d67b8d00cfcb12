"""Speed, as ratios of things measured side by side in one run.

Three yardsticks: autograd over the literal loss; the torch operations that an engine cannot do
without, bare, on samples already in memory; and for the literal engine its matrix products alone,
dense and sparse, without the softmax between them. Drawing the samples counts against the engines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from recallscope.common.formatting import format_bytes
from recallscope.common.machine import machine_memory
from recallscope.experiment.run import check_memory, check_run
from recallscope.learning.batch import Tile, tile_size
from recallscope.learning.cost import choose_engine, predict_cost
from recallscope.learning.ops import incidence
from recallscope.learning.threads import Threads
from recallscope.learning.three_step import Learned, learn
from recallscope.models.instance import Instance
from recallscope.models.transformer import Transformer
from recallscope.problem import Problem, ProblemError

if TYPE_CHECKING:
    from jaxtyping import Float

STEP_SIZES = {"eta": 1e-3, "gamma": 1e9}
"""Of the literal steps that are timed; speed does not depend on them."""

# Samples at once: for each the fastest of 64 … 4096 on the machine this was written on.
_AUTOGRAD_CHUNK = 128
_PRODUCTS_CHUNK = 512


def bench(
    problem: Problem,
    *,
    dtype: str = "float64",
    device: str = "cpu",
    repeats: int = 3,
    announce: Callable[[str], None] = lambda stage: None,
) -> dict[str, Any]:
    """Time three-step learning of one problem, every way there is.

    Times are the best of `repeats` (autograd, being long, runs once), and they take turns.

    >>> problem = Problem(vocab=64, samples=512, dim=16, length=4)
    >>> ratios = bench(problem, repeats=1)
    >>> ratios["speedup_over_autograd"] > 0, ratios["fraction_of_bare"] > 0
    (True, True)
    """
    if problem.width is not None or problem.regime != "limit" or problem.samples == float("inf"):
        raise ProblemError("bench times attention alone, in the limit regime, on a finite batch")
    steps = problem.replace(regime="literal", **STEP_SIZES)
    for each in (problem, steps):
        check_run(each, dtype=dtype, device=device)
        check_memory(each, dtype=dtype)
    # The yardsticks are given the whole batch in memory, which no engine ever is.
    whole_batch = 8.0 * problem.samples * (2 * problem.length + 4)
    if whole_batch > machine_memory() / 2:
        raise ProblemError(
            f"bench holds a batch of {format_bytes(whole_batch)} in memory, and this machine has "
            f"{format_bytes(machine_memory())}; make samples or length smaller"
        )
    instance = Instance.make(problem, seed=0, dtype=dtype, device=device)
    literal_world = Instance.make(steps, seed=0, dtype=dtype, device=device)
    engine = choose_engine(problem)
    tile = _whole_batch(instance)

    ways: dict[str, Callable[[], object]] = {
        "engine": lambda: _learn(instance, engine),
        "bare": lambda: BARE[engine](instance, tile),
        "literal": lambda: _learn(literal_world, "auto"),
        "literal_bare": lambda: _bare_literal(literal_world, tile),
    }
    seconds = dict.fromkeys(ways, float("inf"))
    for turn in range(repeats + 1):  # the first turn warms up
        for name, way in ways.items():
            announce(f"{name}, turn {turn + 1} of {repeats + 1}")
            started = time.perf_counter()
            way()
            if turn:
                seconds[name] = min(seconds[name], time.perf_counter() - started)
    announce("autograd, once")
    started = time.perf_counter()
    three_steps_by_autograd(literal_world, tile)
    seconds["autograd"] = time.perf_counter() - started

    return {
        "problem": problem.to_dict() | {"key": problem.key},
        "engine": engine,
        "dtype": dtype,
        "device": device,
        "threads": torch.get_num_threads(),
        "seconds": seconds,
        "predicted_seconds_on_one_thread": predict_cost(
            problem, dtype=dtype, test_samples=1
        ).seconds,
        "speedup_over_autograd": seconds["autograd"] / seconds["engine"],
        "fraction_of_bare": seconds["bare"] / seconds["engine"],
        "literal_speedup_over_autograd": seconds["autograd"] / seconds["literal"],
        "literal_fraction_of_bare": seconds["literal_bare"] / seconds["literal"],
    }


def three_steps_by_autograd(instance: Instance, tile: Tile) -> Learned:
    """The algorithm as one would write it with the module and its loss, gradients accumulated."""
    problem = instance.problem
    assert problem.eta is not None
    assert problem.gamma is not None
    model = Transformer(instance)

    def gradient(weight: Tensor) -> Tensor:
        total = torch.zeros_like(weight)
        for chunk in _chunks(tile, _AUTOGRAD_CHUNK):
            loss = model.loss(*chunk) * len(chunk.label) / len(tile.label)
            total += torch.autograd.grad(loss, weight)[0]
        return total

    def step(weight: Tensor, size: float) -> None:
        change = gradient(weight)
        with torch.no_grad():
            weight -= size * change

    step(model.V, problem.eta)
    V1 = model.V.detach().clone()
    step(model.W, problem.gamma)
    step(model.V, problem.gamma)
    alpha = model.W.detach() @ instance.end / (problem.gamma * (instance.end @ instance.end))
    return Learned(V1, alpha, model.V.detach())


def _learn(instance: Instance, engine: str) -> Learned:
    with Threads() as threads:
        return learn(instance, threads, engine=engine)


def _whole_batch(instance: Instance) -> Tile:
    return Tile.of(instance.task.draw(0, int(instance.problem.samples)), instance.tokens.device)


def _chunks(tile: Tile, size: int) -> Iterator[Tile]:
    for parts in zip(*(torch.split(tensor, size) for tensor in tile), strict=True):
        yield Tile(*parts)


def _bare_counts(instance: Instance, tile: Tile) -> None:
    """The table's counts, products and look-ups, with torch's own threads."""
    V, Q, Z = instance.problem.vocab, instance.centred_outputs, instance.tokens
    size = tile_size(instance.problem)
    table = torch.zeros(V * V, dtype=torch.int32, device=Z.device)
    for part in _chunks(tile, size):
        cells = (part.label[:, None] * V + part.tokens).view(-1)
        table.scatter_add_(0, cells, table.new_ones(()).expand(len(cells)))
    V1 = Q.T @ (table.view(V, V).to(Z.dtype) @ Z)
    looked_up = ((Q @ V1) @ Z.T).view(-1)
    weights = torch.zeros(V, dtype=torch.float64, device=Z.device)
    for part in _chunks(tile, size):
        cells = (part.label[:, None] * V + part.tokens).view(-1)
        products = looked_up.index_select(0, cells).view(part.tokens.shape)
        products -= products.mean(dim=1, keepdim=True)
        weights.scatter_add_(0, part.tokens.view(-1), products.double().view(-1))
    _bare_third_step(instance, tile, weights)


def _bare_stream(instance: Instance, tile: Tile) -> None:
    """The sparse and dense products, with torch's own threads."""
    V, d, Q, Z = (
        instance.problem.vocab,
        instance.problem.dim,
        instance.centred_outputs,
        instance.tokens,
    )
    size = tile_size(instance.problem)
    V1 = Z.new_zeros(d, d)
    for part in _chunks(tile, size):
        ones = Z.new_ones(part.tokens.shape)
        V1 += Q[part.label].T @ (incidence(part, ones, V) @ Z)
    weights = torch.zeros(V, dtype=torch.float64, device=Z.device)
    for part in _chunks(tile, size):
        pattern = incidence(part, Z.new_zeros(part.tokens.shape), V)
        products = torch.sparse.sampled_addmm(pattern, Q[part.label] @ V1, Z.T).values()
        products = products.view(part.tokens.shape)
        products -= products.mean(dim=1, keepdim=True)
        weights.scatter_add_(0, part.tokens.view(-1), products.double().view(-1))
    _bare_third_step(instance, tile, weights)


def _bare_third_step(instance: Instance, tile: Tile, weights: Float[Tensor, " V"]) -> None:
    """With attention locked, how often each label occurs is all that is needed."""
    Q, Z = instance.centred_outputs, instance.tokens
    Z @ (weights.to(Z.dtype) @ Z)
    frequency = torch.bincount(tile.label, minlength=instance.problem.vocab).to(Z.dtype)
    (Q * frequency[:, None])[instance.labels].T @ Z


def _bare_literal(instance: Instance, tile: Tile) -> None:
    """The matrix products of three literal steps, dense and sparse, and nothing else."""
    V, d, Q, Z = (
        instance.problem.vocab,
        instance.problem.dim,
        instance.centred_outputs,
        instance.tokens,
    )
    logits = Q.new_empty(_PRODUCTS_CHUNK, V)
    V1, V2 = Z.new_zeros(d, d), Z.new_zeros(d, d)
    for step in (1, 2, 3):
        for part in _chunks(tile, _PRODUCTS_CHUNK):
            pattern = incidence(part, Z.new_ones(part.tokens.shape), V)
            read = pattern @ Z
            if step == 1:
                V1 += Q[part.label].T @ read
                continue
            residual = torch.mm(torch.mm(read @ V1.T, Q.T, out=logits[: len(read)]), Q)
            if step == 2:
                torch.sparse.sampled_addmm(pattern, residual @ V1, Z.T)
            else:
                V2 += residual.T @ read


BARE = {"counts": _bare_counts, "stream": _bare_stream}
