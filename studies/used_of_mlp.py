"""Would the spectrum of hidden features say better how much of an MLP 1,500 steps make use of?

    python studies/used_of_mlp.py   # prints; trains nothing, half a minute

The law has one fraction for each optimiser, `USED_OF_MLP`. The other candidate: features of
variance lambda are learnt to the part lambda / (lambda + mu m), m their mean without the largest,
with one mu for each optimiser. Both are fitted to the open problems of an MLP, each left out once.
Those that were preregistered for the law as it is show what either would have been off by.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from finding import LEARNERS, SIZES, TABLE, lines, problem_of

from recallscope import Problem
from recallscope.theory.end_law import EDGE_WIDTH_FACTOR, trigger_snr
from recallscope.theory.finding import attention
from recallscope.theory.memory_edge import edge
from recallscope.theory.memory_recall import Facts, facts_seen, memory_recall

FRACTIONS = np.linspace(0.25, 1.2, 20)  # at which the law is solved; between them by a line
RIDGES = np.geomspace(1e-3, 3, 50)


def recalls(problem: Problem) -> np.ndarray:
    """What the law says if a training finds the trigger, for each fraction of the parameters."""
    facts, per_fact = facts_seen(problem.vocab, problem.samples), problem.samples / problem.vocab
    seen, outputs = float(facts.number.sum()), min(problem.dim, problem.vocab - 1)
    full, snr = edge(problem.vocab, seen, outputs).parameters, trigger_snr(problem)
    found = []
    for fraction in FRACTIONS:
        used = round(fraction * min(problem.hidden, math.ceil(seen)) * outputs)
        lock = attention(problem.learner, snr, per_fact, used / full).lock
        load = lock + (1 - lock) * math.exp(-2 * per_fact)
        stored = Facts(load * facts.number, facts.times)
        memory = memory_recall(problem.vocab, used, stored, outputs, EDGE_WIDTH_FACTOR)
        found.append(lock * seen / problem.vocab * memory)
    return np.array(found)


def spectrum(problem: Problem) -> np.ndarray:
    """Variances of the ReLU features of the facts seen: mean of four draws, the mean is one."""
    seen = math.ceil(float(facts_seen(problem.vocab, problem.samples).number.sum()))
    every = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        tokens = rng.normal(size=(seen, problem.dim))
        tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
        hidden = np.maximum(tokens @ rng.normal(size=(problem.dim, problem.hidden)), 0)
        every.append(np.linalg.svd(hidden, compute_uv=False) ** 2)
    mean = np.mean(every, axis=0)
    return mean / mean[1:].mean()


def main() -> None:
    """Fit both, leave each problem out, and judge those that were preregistered, afterwards."""
    rows = [row for row in lines(TABLE) if int(row["width"])]
    rows = [row for row in rows if float(row["recall_if_found"]) >= 0]  # not NaN: some found it
    problems = [problem_of({name: row[name] for name in SIZES}) for row in rows]
    measured = np.array([float(row["recall_if_found"]) for row in rows])
    before = np.array([row["study"] != "preregistered" for row in rows])
    curves, spectra = [recalls(each) for each in problems], [spectrum(each) for each in problems]

    def constant(place: int, fraction: float) -> float:
        return float(np.interp(fraction, FRACTIONS, curves[place]))

    def of_spectrum(place: int, ridge: float) -> float:
        return constant(place, float(np.mean(spectra[place] / (spectra[place] + ridge))))

    def best(law: Callable[[int, float], float], grid: np.ndarray, places: list[int]) -> float:
        off = [sum(abs(law(i, each) - measured[i]) for i in places) for each in grid]
        return float(grid[int(np.argmin(off))])

    left_out = []
    for name, law, grid in (
        ("one fraction", constant, np.linspace(0.3, 1.1, 41)),
        ("spectrum", of_spectrum, RIDGES),
    ):
        open_errors, later, values = [], [], []
        for learner in LEARNERS:
            mine = [i for i, each in enumerate(problems) if each.learner == learner]
            known = [i for i in mine if before[i]]
            for i in known:
                value = best(law, grid, [j for j in known if j != i])
                open_errors.append(abs(law(i, value) - measured[i]))
            values.append(best(law, grid, known))
            later += [abs(law(i, values[-1]) - measured[i]) for i in mine if not before[i]]
        left_out.append(np.array(open_errors))
        print(f"{name}: left out {np.mean(open_errors):.4f} ({len(open_errors)}), preregistered,")
        print(f"  afterwards {np.mean(later):.4f} ({len(later)}); fitted {np.round(values, 3)}")
    less = left_out[1] - left_out[0]
    drawn = np.random.default_rng(0).choice(less, (4000, len(less))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    print(f"spectrum less one fraction: {less.mean():+.3f} ({low:+.3f} to {high:+.3f})")


if __name__ == "__main__":
    main()
