"""Where the sizes of *orthogonal-capacity*, and those added to *lower-bound*, come from.

    python studies/claim_sizes.py

Closed forms say where random embeddings recall most facts. The sizes in equal-size.toml were taken
on a coarser grid of V than here; the last column says how many of the facts that costs. The rows
of decoders.toml come out as they are there.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files

import numpy as np

from recallscope import Problem
from recallscope.theory.accuracy import accuracies
from recallscope.theory.lower_bound import bound
from recallscope.theory.problem_arrays import arrays_of

DIMS = (65, 129, 257)  # orthogonal embeddings hold d − 1 tokens and the trigger
LENGTH, SAMPLES_PER_FACT = 8, 16
MOST = 0.9  # recall that counts as most facts
DECODERS = [(256, 75), (256, 133), (256, 180), (512, 113), (512, 200)]
FACTORS = 0.5 * 32 ** (np.arange(8) / 7)  # of the lower bound


def recall(sizes: list[tuple[int, int]]) -> np.ndarray:
    """Of random embeddings, by closed forms, at pairs of V and d."""
    problems = [
        Problem(vocab=vocab, dim=dim, length=LENGTH, samples=SAMPLES_PER_FACT * vocab)
        for vocab, dim in sizes
    ]
    return accuracies(arrays_of(problems)).recall_accuracy


def parameters(vocab: int, dim: int) -> int:
    """Of both embeddings with the trigger, and of the key and value matrices."""
    return 2 * (vocab + 1) * dim + 2 * dim**2


def equal_size() -> list[dict[str, object]]:
    """For each dimension four problems, as equal-size.toml has them."""
    rows: list[dict[str, object]] = []
    for dim in DIMS:
        vocabs = np.arange(dim, 20 * dim)
        found = recall([(int(vocab), dim) for vocab in vocabs])
        best, most = vocabs[np.argmax(vocabs * found)], vocabs[found >= MOST].max()
        budget = parameters(dim - 1, dim)
        # Fewer dimensions leave parameters for more tokens.
        equal = [(budget // (2 * each) - each - 1, each) for each in range(16, dim)]
        facts = np.array([vocab for vocab, _ in equal]) * recall(equal)
        sizes = [(dim - 1, dim), (best, dim), (most, dim), equal[int(np.argmax(facts))]]
        for (vocab, each), embedding in zip(sizes, ("orthogonal", *["sphere"] * 3), strict=True):
            rows.append({"embedding": embedding, "vocab": int(vocab), "dim": each})
            rows[-1]["samples"] = SAMPLES_PER_FACT * int(vocab)
    return rows


def decoders() -> list[dict[str, object]]:
    """From half the lower bound on samples to 16 times it, at ratios of d² to V ln V in between."""
    rows: list[dict[str, object]] = []
    for vocab, dim in DECODERS:
        for length in (24, 96):
            least = bound(Problem(vocab=vocab, samples=1, dim=dim, length=length)).samples
            rows += [
                {"vocab": vocab, "dim": dim, "length": length, "samples": round(least * each)}
                for each in FACTORS
            ]
    return rows


def committed(name: str) -> list[dict[str, object]]:
    """The problems of a sweep of full size, one for each place of its lists."""
    text = files("recallscope.paper").joinpath("sweeps", "full", f"{name}.toml").read_text()
    lists = tomllib.loads(text)["zip"]
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def main() -> None:
    print("equal-size.toml: V and d here, there, and the predicted facts there over here")
    for found, there in zip(equal_size(), committed("equal-size"), strict=True):
        sizes = [(each["vocab"], each["dim"]) for each in (found, there)]
        facts = recall(sizes) * [vocab for vocab, _ in sizes]
        print(f"{found['embedding']:>10} {sizes[0]} {sizes[1]} {facts[1] / facts[0]:.3f}")
    there = committed("decoders")
    print("decoders.toml ends with the rows made here:", there[-len(decoders()) :] == decoders())


if __name__ == "__main__":
    main()
