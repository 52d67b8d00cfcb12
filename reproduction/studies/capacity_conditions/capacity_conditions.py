"""Do the conditions of `capacity` need the sizes that the full formulas and the runs need?

    capacity_conditions run        # capacity_conditions.csv, four minutes of a core
    capacity_conditions measured   # measured.csv, next to critical sizes that studies measured
    capacity_conditions report     # the tables of docs/theory.md and of the README

Problems are random: V from 10^2 to 10^9, d = V^a, L = V^c and m = V^b, attention alone and three
activations. Each is solved for N, d or m, by the full formulas (`solve`), by all conditions
together, by each condition alone (the largest size counts) and by the one line. A size that one of
them has and the other has not counts as a miss. All is about d < V, so a d of V or more is no size;
the report counts these too, in separate lines.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recallscope import Problem, Status, capacity, solve
from recallscope.common.csv_files import read_csv
from recallscope.theory.conditions import one_line, size_needed
from reproduction.critical_sizes import read_sizes
from reproduction.evidence import BUNDLE
from reproduction.studies.kept_runs import write_table
from reproduction.studies.laws.law_searches import RESULTS as LAWS
from reproduction.studies.laws.law_searches import read_table
from reproduction.studies.random_problems.recorded_problems import HERE as RANDOM_PROBLEMS

RESULTS = Path(__file__).with_suffix(".csv")
MEASURED = Path(__file__).with_name("measured.csv")
SIZES = ("vocab", "samples", "dim", "length", "width")
KINDS = ("attention alone", "relu", "gelu", "tanh")
TARGETS = (0.5, 0.99)
EACH, SEED = 60, 20270401
DOMINATES = 2.0  # the next condition is met so much better than the least met one
Row = dict[str, Any]


def drawn(kind: str, quantity: str, rng: np.random.Generator) -> Problem:
    """A random problem; the size that is solved for does not matter."""
    vocab = 10 ** rng.uniform(2, 9)
    # Half of the sequences are long, so that attention decides too.
    longest = rng.uniform(0.6, 0.95) if rng.random() < 0.5 else rng.uniform(0.05, 0.6)
    sizes = {
        "vocab": vocab,
        "samples": vocab * 10 ** rng.uniform(0, 4),
        "dim": max(16, vocab ** rng.uniform(0.5, 0.95)),
        "length": max(2, vocab**longest),
    }
    if kind != KINDS[0]:
        sizes["width"] = max(64, vocab ** rng.uniform(0.2, 1.2))
    whole = {name: round(size) for name, size in sizes.items()}
    return Problem(**whole, activation=None if kind == KINDS[0] else kind)


def compared(problem: Problem, quantity: str, target: float) -> Row:
    """The size by the full formulas and by conditions, and the condition that decides."""
    together = size_needed(problem, quantity, target)
    deciding, lead = None, None
    if together is not None:
        there = problem.replace(**{quantity: max(round(together), 1)})
        least, following, *_ = sorted(
            capacity(there, target).conditions, key=lambda each: each.factor
        )
        deciding, lead = least.source, round(following.factor / least.factor, 3)
    return {
        "solved": solve(problem, quantity, target, progress=False).value,
        "together": rounded(together),
        "alone": rounded(size_needed(problem, quantity, target, together=False)),
        "line": rounded(one_line(problem, target)) if quantity == "samples" else None,
        "deciding": deciding,
        "next": lead,
    }


def rounded(size: float | None) -> float | None:
    """Five digits are enough for a factor."""
    return None if size is None else float(f"{size:.5g}")


def run_all() -> None:
    """All random problems, with both targets."""
    rows: list[Row] = []
    for kind in KINDS:
        for quantity in ("samples", "dim") if kind == KINDS[0] else ("samples", "dim", "width"):
            rng = np.random.default_rng([SEED, KINDS.index(kind), SIZES.index(quantity)])
            for _ in range(EACH):
                problem = drawn(kind, quantity, rng)
                sizes = {name: getattr(problem, name) for name in SIZES} | {quantity: None}
                for target in TARGETS:
                    row = {"kind": kind, "quantity": quantity, "target": target, **sizes}
                    rows.append(row | compared(problem, quantity, target))
            print(kind, quantity, len(rows), flush=True)
    write_table(rows, RESULTS)


def measured_sizes() -> Iterable[tuple[str, Problem, str, float]]:
    """Critical sizes at recall one half that runs of other studies found, all on random rows."""
    for sweep, sizes in read_sizes(BUNDLE / "critical-sizes.csv").items():
        for each in sizes:
            if (
                each.accuracy == "recall_accuracy"
                and each.problem.embedding != "orthogonal"
                and each.status is Status.OK
            ):
                # The logarithm of a size that recall falls with is kept with its sign turned.
                yield sweep, each.problem, each.quantity, math.exp(abs(each.shown.mean))
    for row in read_csv(RANDOM_PROBLEMS / "critical.csv"):
        fields = {name: row[name] for name in ("vocab", "dim", "length", "width", "activation")}
        fields |= {"embedding": row["embedding"], "samples": 1}
        marked = row["trigger_in_values"] in (True, "True")
        problem = Problem(**fields, trigger_in_values=marked)
        yield "random_problems", problem, "samples", row["simulated"]
    for row in read_table(LAWS):
        if row["law"] == "random" and row["status"] == "ok":
            sizes = {name: row[name] for name in ("vocab", "dim", "length")}
            yield "laws", Problem(**sizes, samples=1), "samples", row["value"]


def run_measured() -> None:
    """Sizes by conditions next to measured ones."""
    rows = []
    for source, problem, quantity, value in measured_sizes():
        sizes = {name: getattr(problem, name) for name in SIZES} | {quantity: None}
        options = {"activation": problem.activation, "embedding": problem.embedding}
        row = {"source": source, **sizes, **options, "marked": problem.trigger_in_values}
        row |= {"quantity": quantity, "measured": round(value, 2)}
        rows.append(row | compared(problem, quantity, 0.5))
    write_table(rows, MEASURED)


def factors(
    rows: Sequence[Row], method: str, against: str = "solved", below: bool = True
) -> list[float]:
    """The factor between two sizes, at least 1; infinite where one of the two has no size."""

    def size(row: Row, name: str) -> float | None:
        beyond = below and row["quantity"] == "dim" and (row[name] or 0) >= row["vocab"]
        return None if beyond else row[name]

    pairs = [(size(row, method), size(row, against)) for row in rows]
    return [
        math.inf if None in pair else math.exp(abs(math.log(pair[0] / pair[1])))
        for pair in pairs
        if pair != (None, None)
    ]


def line(name: str, found: Sequence[float]) -> str:
    """A row of a table on factors."""
    if not found:
        return f"| {name} | 0 | | | | |"
    within = (f"{np.mean([each <= most for each in found]):.0%}" for most in (1.3, 1.6))
    ends = (np.quantile(found, level, method="lower") for level in (0.5, 0.95))
    middle, far = (f"{end:.2f}" if math.isfinite(end) else "no size" for end in ends)
    return f"| {name} | {len(found)} | {' | '.join(within)} | {middle} | {far} |"


def shown(title: str, groups: Iterable[tuple[str, Sequence[float]]]) -> None:
    """Print a table."""
    print(
        f"| {title} | sizes | within 1.3 | within 1.6 | median | 95 % |\n|---|---|---|---|---|---|"
    )
    print(*(line(*group) for group in groups), "", sep="\n")


def groups(rows: Sequence[Row], *names: str) -> list[tuple[str, list[Row]]]:
    """The rows by the values of some columns, and all of them."""
    values = sorted({tuple(row[name] for name in names) for row in rows})
    found = [
        (", ".join(map(str, key)), [row for row in rows if tuple(row[n] for n in names) == key])
        for key in values
    ]
    return [*found, ("all", list(rows))]


def report() -> None:
    """The tables, from the files."""
    rows = read_csv(RESULTS)
    decided = [row for row in rows if row["next"] is not None]
    chosen = {
        "all": rows,
        "one condition dominates": [row for row in decided if row["next"] >= DOMINATES],
        "none dominates": [row for row in decided if row["next"] < DOMINATES],
    }
    for method in ("together", "alone", "line"):
        for name, some in chosen.items():
            asked = [row for row in some if method != "line" or row["quantity"] == "samples"]
            for columns in (("target",), ("deciding", "target"), ("kind", "quantity", "target")):
                if columns[0] != "deciding" or name != "all":
                    parts = groups(asked, *columns)
                    tables = [(part, factors(each, method)) for part, each in parts]
                    tables.append(("all, d ≥ V too", factors(asked, method, below=False)))
                    shown(f"{method}, {name}", tables)
    measured = read_csv(MEASURED)
    shown(
        "measured sizes, one half",
        [
            (f"{method}, {source}", factors(list(some), method, "measured"))
            for method in ("together", "alone", "solved")
            for source, some in (
                *(
                    (source, [row for row in measured if row["source"] == source])
                    for source in sorted({row["source"] for row in measured})
                ),
                ("all", measured),
            )
        ],
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    steps = {"run": run_all, "measured": run_measured, "report": report}
    parser.add_argument("steps", nargs="*", choices=steps, default=["report"])
    for step in parser.parse_args().steps:
        steps[step]()


if __name__ == "__main__":
    main()
