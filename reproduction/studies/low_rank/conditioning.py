"""How many steps a low-rank memory needs, by the spectrum of its keys and the optimiser.

    low_rank/conditioning run       # conditioning.csv, about 15 core-minutes
    low_rank/conditioning loads     # conditioning-loads.csv: by how full the memory is
    low_rank/conditioning report

Keys of 64 dimensions have variances that fall as k^-s and a common mean of some length, outputs 48,
128 labels, rank 8, and 0.8 of the facts that the law of rank allows. Steps until recall is 0.9,
at the best of three rates; full batch, at most 4,000 steps, three seeds. `whitened` keys have the
identity as second moment, which is what `whiten` of low_rank/lora.py does to a LoRA.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import torch

from recallscope.theory.low_rank import low_rank_facts
from reproduction.studies.frequencies.frequencies import read, write

HERE = Path(__file__).parent
M, D, V, R = 64, 48, 128, 8
MOST, EVERY, SEEDS, LOAD = 4000, 5, 3, 0.8
RATES = {"adam": (0.01, 0.03, 0.1), "adamw": (0.01, 0.03, 0.1), "muon": (0.003, 0.01, 0.03)}
KEYS = ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (0.0, 3.0), (2.0, 3.0))


def keys_of(facts: int, spectrum: float, mean: float, seed: int) -> torch.Tensor:
    drawn = torch.Generator().manual_seed(seed)
    scale = torch.arange(1, M + 1).float() ** (-spectrum / 2)
    keys = torch.randn(facts, M, generator=drawn) * scale / scale.square().mean().sqrt()
    # Adam scales each coordinate, so the directions of a spectrum must not be those.
    keys = keys @ torch.linalg.qr(torch.randn(M, M, generator=drawn))[0]
    keys = keys + mean * torch.randn(M, generator=drawn)
    return keys / keys.square().mean().sqrt()  # a mean squared length of M


def whitened(keys: torch.Tensor) -> torch.Tensor:
    values, vectors = torch.linalg.eigh(keys.T @ keys / len(keys))
    return keys @ (vectors * (values + 1e-3 * values.mean()).rsqrt()) @ vectors.T


def participation(keys: torch.Tensor) -> float:
    values = torch.linalg.eigvalsh(keys.T @ keys)
    return float(values.sum() ** 2 / values.square().sum())


def orthogonal(update: torch.Tensor) -> torch.Tensor:
    """All singular values 1, as Muon approximates it; so many as an Adam step's size."""
    left, _, right = torch.linalg.svd(update, full_matrices=False)
    return left @ right * math.sqrt(max(update.shape))


def steps_needed(keys: torch.Tensor, optimiser: str, rate: float, seed: int) -> int:
    """Steps until recall is 0.9; one more than the most if it never is."""
    facts, drawn = len(keys), torch.Generator().manual_seed(seed + 500)
    outputs = torch.randn(V, D, generator=drawn)
    outputs -= outputs.mean(dim=0)
    labels, rows = torch.randint(V, (facts,), generator=drawn), torch.arange(facts)
    weights = [torch.randn(D, R, generator=drawn) / math.sqrt(R * D), torch.zeros(R, M)]
    first, second = ([torch.zeros_like(each) for each in weights] for _ in range(2))
    for step in range(1, MOST + 1):
        hidden, rows_out = keys @ weights[1].T, outputs @ weights[0]
        logits = hidden @ rows_out.T
        if step % EVERY == 0 and float((logits.argmax(dim=1) == labels).float().mean()) >= 0.9:
            return step
        slopes = logits.softmax(dim=1)
        slopes[rows, labels] -= 1
        gradients = (outputs.T @ (slopes.T @ hidden) / facts, (slopes @ rows_out).T @ keys / facts)
        for weight, gradient, mean, square in zip(weights, gradients, first, second, strict=True):
            mean.mul_(0.9).add_(gradient, alpha=0.1)
            if optimiser == "muon":
                weight.sub_(rate * orthogonal(mean)) if bool(mean.any()) else None
                continue
            square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            size = (square / (1 - 0.999**step)).sqrt_().add_(1e-12)
            weight.mul_(1 - rate * (0.01 if optimiser == "adamw" else 0.0))
            weight.addcdiv_(mean / (1 - 0.9**step), size, value=-rate)
    return MOST + 1


def run() -> None:
    torch.set_num_threads(1)
    facts, rows = round(LOAD * low_rank_facts(M, D, R, V)), []
    for spectrum, mean in KEYS:
        for how in ("plain", "centred", "whitened"):
            for optimiser, rates in RATES.items():
                found = {}
                for rate in rates:
                    steps = []
                    for seed in range(SEEDS):
                        keys = keys_of(facts, spectrum, mean, seed)
                        keys = keys - keys.mean(dim=0) if how == "centred" else keys
                        keys = whitened(keys) if how == "whitened" else keys
                        steps.append(steps_needed(keys, optimiser, rate, seed))
                    found[rate] = steps
                best = min(found, key=lambda rate: np.mean(found[rate]))
                row = {"spectrum": spectrum, "mean": mean, "keys": how, "optimiser": optimiser}
                row |= {"facts": facts, "participation": round(participation(keys), 1)}
                row |= {"rate": best, "steps": round(float(np.mean(found[best])))}
                rows.append(row | {"least": min(found[best]), "most": max(found[best])})
                print(rows[-1], flush=True)
                write(HERE / "conditioning.csv", rows)


def loads() -> None:
    """Random keys; each step shows each fact once, so steps are exposures."""
    torch.set_num_threads(1)
    rows = []
    for load in (0.25, 0.5, 0.8, 0.9, 1.0):
        facts = round(load * low_rank_facts(M, D, R, V))
        for optimiser, rates in RATES.items():
            found = {
                rate: [
                    steps_needed(keys_of(facts, 0.0, 0.0, seed), optimiser, rate, seed)
                    for seed in range(SEEDS)
                ]
                for rate in rates
            }
            best = min(found, key=lambda rate: np.mean(found[rate]))
            row = {"load": load, "facts": facts, "optimiser": optimiser, "rate": best}
            steps = found[best]
            row |= {"steps": round(float(np.mean(steps))), "least": min(steps), "most": max(steps)}
            rows.append(row)
            print(row, flush=True)
            write(HERE / "conditioning-loads.csv", rows)


def report() -> None:
    for name in ("conditioning", "conditioning-loads"):
        for row in read(HERE / f"{name}.csv"):
            print(*row.values(), sep=" | ")


if __name__ == "__main__":
    {"run": run, "loads": loads, "report": report}[sys.argv[1]]()
