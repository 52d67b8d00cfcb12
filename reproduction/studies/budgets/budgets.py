"""Is the best allocation of a budget, by closed forms, not below random ones when it is run?

    budgets predict    # budgets-predictions.csv, to be committed
    budgets run        # budgets.csv; seeds from the hash of that file
    budgets report

Ten budgets of parameters and four of compute: V 64 to 512, L 4 to 32, N from V to 32 V, attention
alone, a ReLU or a tanh MLP. A budget is kept if the predicted recall at its best sizes is 0.2 to
0.95. Next to these sizes 20 allocations are drawn, half of them with all of the budget spent. Eight
seeds each, the same ones for all allocations of a budget: 2352 runs, one minute of a core.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import t as student

from recallscope import Problem, predict, run, solve
from recallscope.theory.budgets import cost
from reproduction.studies.kept_runs import seed_from, write_table

PREDICTIONS = Path(__file__).with_name("budgets-predictions.csv")
RESULTS = Path(__file__).with_name("budgets.csv")
SIZES = ("vocab", "samples", "dim", "length", "width", "activation")
KINDS = [("parameters", 10), ("compute", 4)]
RANDOM, ALONE, SEEDS, LEAST = 20, 4, 8, 16
MOST_SAMPLES, MOST_WIDTH = 2**15, 2**12  # what a run of a second has


def drawn() -> list[tuple[str, int, Problem]]:
    """Budgets whose best sizes are neither hopeless nor more than enough."""
    rng = np.random.default_rng(20270301)
    found: list[tuple[str, int, Problem]] = []
    for budget, count in KINDS:
        while sum(name == budget for name, _, _ in found) < count:
            vocab = round(2 ** rng.uniform(6, 9))
            length = round(2 ** rng.uniform(2, 5))
            samples = round(vocab * 2 ** rng.uniform(0, 5))
            limit = round(10 ** rng.uniform(3.3, 5))
            activation = (None, "relu", "tanh")[len(found) % 3]
            if budget == "compute":
                limit *= samples * length
            sizes: dict[str, Any] = {"vocab": vocab, "samples": samples, "length": length}
            mlp = {"width": 64, "activation": activation} if activation else {}
            problem = Problem(**sizes, dim=LEAST, **mlp)
            if cost(budget, problem.replace(samples=vocab)) > limit:
                continue
            best = solve(problem, within=(budget, limit), progress=False).predictions[0]
            if 0.2 <= best.recall_accuracy <= 0.95:
                found.append((budget, limit, problem))
    return found


def random_allocation(
    budget: str, limit: int, problem: Problem, number: int, rng: np.random.Generator
) -> Problem:
    """Sizes within a budget: the last one drawn has what the others leave, or less."""
    alone = number < ALONE or problem.width is None
    while True:
        dim = round(LEAST * (limit ** rng.random()))
        made = problem.replace(dim=dim, **({"width": None} if alone else {}))
        free = ["width"] if not alone else []
        if budget == "compute":
            made = made.replace(samples=1)
            free.append("samples")
        for name in free:
            small = made.replace(**{name: 1})
            more = cost(budget, small.replace(**{name: 2})) - cost(budget, small)
            most = 1 + (limit - cost(budget, small)) // more
            if most < 1:
                break
            share = 1.0 if number % 2 and name == free[-1] else rng.random()
            made = made.replace(**{name: max(round(most**share), 1) if share < 1 else most})
        fits = cost(budget, made) <= limit and made.samples <= MOST_SAMPLES
        enough = budget == "parameters" or made.samples >= problem.vocab / 4
        if fits and enough and (made.width or 1) <= MOST_WIDTH:
            return made


def write_predictions() -> None:
    """The best sizes and random ones, with what closed forms say of both."""
    rows = []
    for number, (budget, limit, problem) in enumerate(drawn()):
        rng = np.random.default_rng([20270301, number])
        best = solve(problem, within=(budget, limit), progress=False)
        others = [random_allocation(budget, limit, problem, k, rng) for k in range(RANDOM)]
        for place, each in enumerate([best.problem, *others]):
            answer = predict(each)
            recall = answer.estimates["recall_accuracy"]
            rows.append(
                {"number": number, "budget": budget, "limit": limit, "place": place}
                | {name: getattr(each, name) for name in SIZES}
                | {"spent": cost(budget, each), "status": str(answer.status)}
                | {name: rounded(getattr(recall, name)) for name in ("value", "low", "high")}
            )
    write_table(rows, PREDICTIONS)


def rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 4)


def read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def run_all() -> None:
    """Every allocation at eight seeds; place 0 of each budget is the predicted best."""
    torch.set_num_threads(1)
    first, rows, begun = seed_from(PREDICTIONS), [], time.perf_counter()
    for row in read(PREDICTIONS):
        sizes = {name: int(row[name]) for name in SIZES[:-1] if row[name]}
        problem = Problem(**sizes, activation=row["activation"] or None)
        seed = first + SEEDS * int(row["number"])
        records = run(problem, seed, seeds=SEEDS, progress=False).records
        recalls = [each.recall_accuracy for each in records]
        error = np.std(recalls, ddof=1) / math.sqrt(SEEDS)
        rows.append(
            {**row, "measured": round(float(np.mean(recalls)), 4), "error": round(error, 4)}
            | {"recalls": " ".join(f"{each:.4f}" for each in recalls)}
        )
        print(f"{len(rows)} runs of {SEEDS} seeds", end="\r", flush=True)
    print(f"\n{time.perf_counter() - begun:.0f} s")
    write_table(rows, RESULTS)


def report() -> None:
    """Of each budget the best sizes, the best of the random ones, and whether one is better."""
    rows = read(RESULTS)
    reach = student.ppf(1 - 0.05 / 2 / RANDOM, SEEDS - 1) / math.sqrt(SEEDS)
    print("| budget | V, N, L, MLP | best sizes | predicted | measured | best random | verdict |")
    print("|---|---|---|---|---|---|---|")
    for number in sorted({int(row["number"]) for row in rows}):
        best, *others = [row for row in rows if int(row["number"]) == number]
        recalls = np.array([[float(x) for x in row["recalls"].split()] for row in (best, *others)])
        lead = recalls[0] - recalls[1:]
        low = lead.mean(axis=1) - reach * lead.std(axis=1, ddof=1)
        high = lead.mean(axis=1) + reach * lead.std(axis=1, ddof=1)
        rival = int(np.argmin(lead.mean(axis=1)))
        ahead, behind = int(np.sum(low > 0)), int(np.sum(high < 0))
        mlp = max((row["activation"] for row in others), default="") or "none"
        other = others[rival]
        gap = f"{other['measured']} ({said(other)}; lead {low[rival]:+.3f} to {high[rival]:+.3f})"
        about = f"{best['vocab']}, {best['samples']}, {best['length']}, {mlp}"
        print(
            f"| {best['budget']} {int(best['limit']):.3g} | {about} | {said(best)} | "
            f"{best['value']} | {best['measured']} ± {best['error']} | {gap} | "
            f"{'BELOW' if behind else 'not below'}, above {ahead} of {len(others)} |"
        )
    every = [(float(row["value"]), float(row["measured"])) for row in rows]
    print(f"mean absolute error {np.mean([abs(a - b) for a, b in every]):.4f} of {len(every)}")


def said(row: dict[str, str]) -> str:
    samples = f", N={row['samples']}" if row["budget"] == "compute" else ""
    return f"d={row['dim']}, m={row['width'] or 'none'}{samples}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("predict", "run", "report"))
    {"predict": write_predictions, "run": run_all, "report": report}[parser.parse_args().what]()


if __name__ == "__main__":
    main()
