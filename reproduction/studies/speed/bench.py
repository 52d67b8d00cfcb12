"""Speed, as ratios of things measured side by side in one run.

    speed/bench [--vocab V --samples N --dim D --length L] [--json]

Three yardsticks: autograd over the literal loss; the torch operations that an engine cannot do
without, bare, on samples already in memory; and for the literal engine its matrix products alone,
dense and sparse, without the softmax between them. Drawing the samples counts against the engines.

Everything runs on one thread. Given several, the engines share out tiles and torch cuts single
operations, and on a machine with other work the one starves where the other does not: the ratio
would be one of ways to use threads.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from recallscope import Instance, Problem, ProblemError, Threads, learn, predict_cost
from recallscope.cli.output import print_table
from recallscope.common.checks import whole_number
from recallscope.common.csv_files import number_or_text
from recallscope.common.formatting import format_bytes
from recallscope.common.machine import available_cores, machine_memory
from recallscope.common.progress_bar import shown_progress
from recallscope.experiment.experiment import check_memory, check_run
from recallscope.model.transformer import Transformer
from recallscope.three_step.batch import Tile, tile_size
from recallscope.three_step.cost import choose_engine
from recallscope.three_step.large_table import large_zeros
from recallscope.three_step.ops import sparse_rows
from recallscope.three_step.three_step import Learned
from reproduction.studies.speed.turns import FEWEST_TURNS, Ratio, load_average, take_turns

if TYPE_CHECKING:
    from jaxtyping import Float

SIZES = {"vocab": 4096, "samples": 65536, "dim": 128, "length": 64}
STEP_SIZES = {"eta": 1e-3, "gamma": 1e9}
"""Of the literal steps that are timed; speed does not depend on them."""

AUTOGRAD_SAMPLES = 4096
"""Autograd is timed on this part of the batch, and its time scaled: each sample costs the same."""

# How much at once: each the fastest of several on one thread of the machine this was written on.
_AUTOGRAD_ROWS = 128
_AUTOGRAD_NUMBERS = 2**21  # where samples are large, fewer of them
_PRODUCT_ROWS = 512
_PRODUCT_LABELS = 1024
_LABELS_AT_ONCE = 256

_RATIOS = {
    "speedup_over_autograd": ("autograd", "engine"),
    "fraction_of_bare": ("bare", "engine"),
    "literal_speedup_over_autograd": ("autograd", "literal"),
    "literal_fraction_of_bare": ("literal_bare", "literal"),
}


def bench(
    problem: Problem,
    *,
    dtype: str = "float32",
    device: str = "cpu",
    repeats: int = FEWEST_TURNS,
    progress: Callable[[float, float], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Time three-step learning of one problem, every way there is, on one thread and in turns."""
    turns = whole_number("repeats", repeats, FEWEST_TURNS, 1000)
    if problem.samples == float("inf"):
        raise ProblemError("bench times attention alone, in the limit regime, on a finite batch")
    steps = problem.replace(regime="literal", **STEP_SIZES)
    for each in (problem, steps):
        check_run(each, dtype=dtype, device=device)
        check_memory(each, dtype=dtype)
    _check_yardsticks(problem)
    load = load_average()
    engine = choose_engine(problem)
    clock = "CPU time" if torch.device(device).type == "cpu" else "wall time"
    with _one_thread():
        instance = Instance.make(problem, seed=0, dtype=dtype, device=device)
        literal_instance = Instance.make(steps, seed=0, dtype=dtype, device=device)
        tile = Tile.of(instance.task.draw(0, int(problem.samples)), instance.tokens.device)
        part = Tile(*(tensor[:AUTOGRAD_SAMPLES] for tensor in tile))
        ways: dict[str, Callable[[], object]] = {
            "engine": lambda: _learn(instance, engine),
            "bare": lambda: BARE[engine](instance, tile),
            "literal": lambda: _learn(literal_instance, "auto"),
            "literal_bare": lambda: _bare_literal(literal_instance, tile),
            "autograd": lambda: three_steps_by_autograd(literal_instance, part),
        }
        seconds = take_turns(ways, turns, _CLOCKS[clock], progress)
    scale = len(tile.label) / len(part.label)
    seconds["autograd"] = [scale * each for each in seconds["autograd"]]
    return {
        "problem": problem.to_dict() | {"key": problem.key},
        "engine": engine,
        "dtype": dtype,
        "device": device,
        "threads": 1,
        "clock": clock,
        "cores": available_cores(),
        "load_at_start": load,
        "turns": turns,
        "autograd_samples": len(part.label),
        "seconds": {name: statistics.median(each) for name, each in seconds.items()},
        "predicted_seconds_on_one_thread": predict_cost(
            problem, dtype=dtype, test_samples=1
        ).seconds,
        "ratios": {
            name: asdict(Ratio.of_turns(seconds[over], seconds[under]))
            for name, (over, under) in _RATIOS.items()
        },
    }


# On one thread the processor's time is what a machine with nothing else to do would take.
_CLOCKS = {"CPU time": time.process_time, "wall time": time.perf_counter}


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check_yardsticks(problem: Problem) -> None:
    """Raise if the yardsticks, which are given the whole batch, do not fit into memory."""
    batch = 8.0 * problem.samples * (2 * problem.length + 4)
    graph = 8.0 * 8 * _autograd_rows(problem) * _numbers_per_sample(problem)
    if batch + graph > machine_memory() / 2:
        raise ProblemError(
            f"bench holds a batch of {format_bytes(batch)} and a graph of {format_bytes(graph)} in "
            f"memory, and this machine has {format_bytes(machine_memory())}; make samples, length, "
            "vocab or dim smaller"
        )


def _autograd_rows(problem: Problem) -> int:
    """How many samples autograd is given at once."""
    return max(min(_AUTOGRAD_ROWS, _AUTOGRAD_NUMBERS // _numbers_per_sample(problem)), 1)


def _numbers_per_sample(problem: Problem) -> int:
    """Its logits or its embedded tokens, whichever are more."""
    return max(problem.vocab, problem.length * problem.dim)


def three_steps_by_autograd(instance: Instance, tile: Tile) -> Learned:
    """The algorithm as one would write it with the module and its loss, gradients accumulated."""
    problem = instance.problem
    assert problem.eta is not None
    assert problem.gamma is not None
    model = Transformer(instance)

    def gradient(weight: Tensor) -> Tensor:
        total = torch.zeros_like(weight)
        for chunk in _chunks(tile, _autograd_rows(problem)):
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


def _chunks(tile: Tile, size: int) -> Iterator[Tile]:
    for parts in _blocks(size, *tile):
        yield Tile(*parts)


def _bare_counts(instance: Instance, tile: Tile) -> None:
    """The table's counts, products and look-ups; a block of labels at once stays in the cache."""
    V, Q, Z = instance.problem.vocab, instance.centred_outputs, instance.tokens
    size = tile_size(instance.problem)
    table = large_zeros(V * V, dtype=Z.dtype, device=Z.device)
    ones = table.new_ones(size * tile.tokens.shape[1])
    for part in _chunks(tile, size):
        cells = (part.label[:, None] * V + part.tokens).view(-1)
        table.scatter_add_(0, cells, ones[: len(cells)])
    V1 = Z.new_zeros(Z.shape[1], Z.shape[1])
    for counted, outputs in _blocks(_LABELS_AT_ONCE, table.view(V, V), Q):
        V1 += outputs.T @ (counted @ Z)
    # In the place of the counts: new memory costs as much as what is done in it.
    for products, back in _blocks(_PRODUCT_LABELS, table.view(V, V), Q @ V1):
        torch.mm(back, Z.T, out=products)
    weights = torch.zeros(V, dtype=torch.float64, device=Z.device)
    for part in _chunks(tile, size):
        cells = (part.label[:, None] * V + part.tokens).view(-1)
        products = table.index_select(0, cells).view(part.tokens.shape)
        products -= products.mean(dim=1, keepdim=True)
        weights.scatter_add_(0, part.tokens.view(-1), products.double().view(-1))
    _bare_third_step(instance, tile, weights)


def _bare_stream(instance: Instance, tile: Tile) -> None:
    """The sparse and dense products."""
    V, Q, Z = instance.problem.vocab, instance.centred_outputs, instance.tokens
    size = tile_size(instance.problem)
    V1 = Z.new_zeros(Z.shape[1], Z.shape[1])
    for part in _chunks(tile, size):
        ones = Z.new_ones(part.tokens.shape)
        V1 += Q[part.label].T @ (sparse_rows(part.tokens, ones, V) @ Z)
    weights = torch.zeros(V, dtype=torch.float64, device=Z.device)
    for part in _chunks(tile, size):
        pattern = sparse_rows(part.tokens, Z.new_zeros(part.tokens.shape), V)
        products = torch.sparse.sampled_addmm(pattern, Q[part.label] @ V1, Z.T).values()
        products = products.view(part.tokens.shape)
        products -= products.mean(dim=1, keepdim=True)
        weights.scatter_add_(0, part.tokens.view(-1), products.double().view(-1))
    _bare_third_step(instance, tile, weights)


def _bare_third_step(instance: Instance, tile: Tile, weights: Float[Tensor, " V"]) -> None:
    """Attention's scores, then each label stored with its token, by samples or by facts."""
    Q, Z = instance.centred_outputs, instance.tokens
    Z @ (weights.to(Z.dtype) @ Z)
    if len(tile.label) < len(Z):
        stored, read = Q[tile.label], Z[tile.tokens.gather(1, tile.position[:, None])[:, 0]]
    else:
        frequency = torch.bincount(tile.label, minlength=len(Z)).to(Z.dtype)
        stored, read = (Q * frequency[:, None])[instance.labels], Z
    V2 = Z.new_zeros(Z.shape[1], Z.shape[1])
    for outputs, tokens in _blocks(_PRODUCT_LABELS, stored, read):
        V2 += outputs.T @ tokens


def _bare_literal(instance: Instance, tile: Tile) -> None:
    """The matrix products of three literal steps, dense and sparse, and nothing else."""
    V, Q, Z = instance.problem.vocab, instance.centred_outputs, instance.tokens
    V1, V2 = (Z.new_zeros(Z.shape[1], Z.shape[1]) for _ in range(2))
    scratch = Q.new_empty(_PRODUCT_ROWS * _PRODUCT_LABELS)
    for step in (1, 2, 3):
        for part in _chunks(tile, _PRODUCT_ROWS):
            pattern = sparse_rows(part.tokens, Z.new_ones(part.tokens.shape), V)
            read = pattern @ Z
            if step == 1:
                V1 += Q[part.label].T @ read
                continue
            hidden = read @ V1.T
            residual = torch.zeros_like(hidden)
            for (outputs,) in _blocks(_PRODUCT_LABELS, Q):
                logits = scratch[: len(hidden) * len(outputs)].view(len(hidden), len(outputs))
                residual.addmm_(torch.mm(hidden, outputs.T, out=logits), outputs)
            if step == 2:
                torch.sparse.sampled_addmm(pattern, residual @ V1, Z.T)
            else:
                V2 += residual.T @ read


def _blocks(rows: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    yield from zip(*(torch.split(tensor, rows) for tensor in tensors), strict=True)


BARE = {"counts": _bare_counts, "stream": _bare_stream}


def print_bench(found: dict[str, Any]) -> None:
    """Times and ratios, and why a ratio is not reported."""
    problem, seconds, load = found["problem"], found["seconds"], found["load_at_start"]
    print(
        f"V={problem['vocab']} N={problem['samples']} d={problem['dim']} L={problem['length']}, "
        f"{found['dtype']} on {found['device']}; {found['cores']} cores, "
        f"{'unknown load' if load is None else f'load {load:.1f}'} at the start.\n"
        f"Medians of {found['turns']} turns, {found['clock']}, {found['threads']} thread each."
    )
    ways = {
        "speedup_over_autograd": ("engine", f"{found['engine']} engine", "autograd's speed"),
        "fraction_of_bare": ("bare", "its bare torch operations", "reached by the engine"),
        "literal_speedup_over_autograd": ("literal", "literal engine", "autograd's speed"),
        "literal_fraction_of_bare": (
            *("literal_bare", "its bare matrix products", "reached by the engine"),
        ),
    }
    rows = []
    for name, (way, label, of) in ways.items():
        ratio = found["ratios"][name]
        median = "–" if ratio["median"] is None else f"{ratio['median']:.2f}"
        interval = f"{ratio['low']:.2f} to {ratio['high']:.2f}"
        rows.append((label, f"{seconds[way]:.3f}", median, interval, of))
    rows.append(("autograd", f"{seconds['autograd']:.3f}", "", "", ""))
    head = ("three steps by", "seconds", "ratio", "90 % interval", "of")
    print_table(head, rows, right=slice(1, 4))
    if found["autograd_samples"] < problem["samples"]:
        print(
            f"Autograd was timed on {found['autograd_samples']} of {problem['samples']} samples, "
            "and its time scaled."
        )
    for name, ratio in found["ratios"].items():
        if ratio["reason"]:
            print(f"{name.replace('_', ' ')}: {ratio['reason']}.")


def main() -> None:
    """Measure, and print a table or one JSON document."""
    parser = argparse.ArgumentParser(description="Measure how fast this machine learns.")
    for size, default in SIZES.items():
        parser.add_argument(f"--{size}", type=number_or_text, default=default)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=number_or_text, default=FEWEST_TURNS, help="5 to 1000")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    asked = vars(parser.parse_args())
    as_json = asked.pop("json")
    try:
        problem = Problem(**{size: asked.pop(size) for size in SIZES})
        with shown_progress(True, "bench") as progress:
            found = bench(problem, progress=progress, **asked)
    except ProblemError as error:
        parser.error(str(error))
    if as_json:
        print(json.dumps(found, indent=2, allow_nan=False))
    else:
        print_bench(found)


if __name__ == "__main__":
    main()
