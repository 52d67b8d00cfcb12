"""How many steps, and passes over the data, until a memory recalls 0.5, 0.9 and 0.99 of its facts.

    exposures run open            # trainings that the law may be found with
    exposures fit                 # its table and its constants
    exposures predict preregistered   # 30 others, to be committed
    exposures run preregistered   # train; seeds come from the predictions
    exposures predict again       # 30 more, for the law as fixed after these
    exposures run again
    exposures report again
    exposures figure              # docs/end-exposures.png

Attention is given (task `memory`), every fact is seen equally often, learning rates are the
defaults. The distance to capacity is rho, trained parameters over those of the capacity threshold.
Cost, of two busy cores: `open` 29 minutes, `preregistered` 6, `again` 5.
"""

from __future__ import annotations

import argparse
import csv
import math
from functools import cache
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.optimize import least_squares

from recallscope import Problem, run
from recallscope.theory.end_capacity import edge
from recallscope.theory.exposures import steps_to
from reproduction.studies.kept_runs import Row, run_rest, seed_from, table, write_table

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
TABLE = ROOT / "src" / "recallscope" / "theory" / "exposures.csv"
DRAWN_FROM = {"preregistered": 20261123, "again": 20261124}
TARGETS = (0.5, 0.9, 0.99)
LEARNERS = ("gd", "sgd", "adam", "muon")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
SIZES = ("vocab", "dim", "learner", "batch", "weight_decay")
KNOTS = (0.05, 0.1, 0.2, 0.35, 0.6, 1, 2, 4, 7)  # parameters over those of the threshold, less one
STEPS = {False: 3000, True: 1500}  # up to 256 facts, and above


def rho_of(problem: Problem) -> float:
    """Trained parameters over those that store every fact."""
    return problem.dim**2 / edge(problem.vocab, problem.vocab, problem.dim).parameters


def dim_at(vocab: int, rho: float) -> int:
    """The dimension at a distance to capacity."""
    dims = np.arange(4, vocab)
    ratios = [dim**2 / edge(vocab, vocab, int(dim)).parameters for dim in dims]
    return int(dims[np.abs(np.log(np.array(ratios) / rho)).argmin()])


def memory(vocab: int, rho: float, learner: str, **options: object) -> Problem:
    """A memory of V facts, so far from its capacity threshold."""
    sizes = {"vocab": vocab, "samples": vocab, "dim": dim_at(vocab, rho), "length": 1}
    return Problem.from_dict(
        {**sizes, "task": "memory", "learner": learner, "steps": STEPS[vocab > 256], **options}
    )


@cache
def draw_open() -> list[Problem]:
    """Whole passes over a grid, then batches and weight decay at some of its points."""
    problems = [
        memory(vocab, rho, learner)
        for vocab in (64, 128, 256, 512)
        for rho in (1.05, 1.1, 1.2, 1.35, 1.6, 2, 3, 5, 8)
        for learner in ("gd", "adam", "muon")
    ]
    problems += [
        memory(vocab, rho, learner, batch=vocab // part)
        for vocab in (128, 512)
        for rho in (1.2, 1.6, 3)
        for learner in ("sgd", "adam", "muon")
        for part in (2, 8, 32)
    ]
    problems += [
        memory(256, rho, learner, weight_decay=decay)
        for rho in (1.35, 3)
        for learner in ("gd", "adam", "adamw", "muon")
        for decay in (1e-4, 1e-3, 1e-2)
        if (learner, decay) != ("gd", 1e-2)  # which diverges: its rate times its decay is above 2
    ]
    return problems


def crossing(steps: list[float], recalls: list[float], target: float) -> float:
    """The step at which recall first reaches a target, between looks; NaN if it never does."""
    for place, recall in enumerate(recalls):
        if recall >= target:
            if not place:
                return steps[0]
            low, high = math.log(steps[place - 1] + 1), math.log(steps[place] + 1)
            before = recalls[place - 1]
            return math.exp(low + (high - low) * (target - before) / (recall - before)) - 1
    return math.nan


def trained(study: str, index: int, number: int) -> list[Row]:
    """One training, and when it reached each target."""
    torch.set_num_threads(1)
    problem = draw(study)[index]
    seed = number + (seed_from(predictions(study)) if study in DRAWN_FROM else 0)
    record = run(problem, seed, test_samples=4096)
    if record.status != "ok":
        raise RuntimeError(f"problem {index}: {record.reason}")
    curve = [record.metrics[f"curve_{name}"] for name in ("step", "recall")]
    return [
        {"study": study, "problem": index, "number": number}
        | {name: getattr(problem, name, 0) for name in SIZES}
        | {"rho": round(rho_of(problem), 4), "seed": seed}
        | {f"steps_{target}": round(crossing(*curve, target), 2) for target in TARGETS}
        | {"recall": record.recall_accuracy, "steps_taken": record.metrics["steps_taken"]}
        | {"seconds": round(record.provenance.elapsed_seconds, 1)}
    ]


def predictions(study: str) -> Path:
    """Where the predictions of a study are."""
    return HERE / f"exposures-{study}-predictions.csv"


@cache
def draw_preregistered(study: str) -> list[tuple[Problem, float]]:
    """Thirty memories, and the recall that is asked for."""
    rng = np.random.default_rng(DRAWN_FROM[study])
    found = []
    for index in range(30):
        learner = LEARNERS[index % 4]
        vocab = round(math.exp(rng.uniform(math.log(64), math.log(768))))
        rho = 1 + math.exp(rng.uniform(math.log(0.12), math.log(5)))
        parts = math.exp(rng.uniform(0, math.log(32)))
        whole = learner == "gd" or (learner != "sgd" and rng.random() < 0.4)
        batch = {} if whole else {"batch": max(round(vocab / parts), 2)}
        found.append((memory(vocab, rho, learner, **batch), TARGETS[index % 3]))
    return found


def draw(study: str) -> list[Problem]:
    """The problems of a study, the same every time."""
    if study == "open":
        return draw_open()
    return [problem for problem, _ in draw_preregistered(study)]


def run_study(study: str, processes: int) -> None:
    """Train what is not among the runs kept from before."""
    tasks = [
        (study, index, number)
        for index in range(len(draw(study)))
        for number in range(2 if study == "open" else 3)
    ]
    names = ("study", "problem", "number")
    run_rest(trained, tasks, names, HERE / f"exposures-{study}.jsonl", processes)


def parts_of(row: Row) -> float:
    """Batches in a pass."""
    return row["vocab"] / row["batch"] if row["batch"] else 1.0


def fit() -> None:
    """Steps at some distances to capacity, for 256 facts, and the exponent of their number."""
    rows = [
        row
        for study in ("open", "preregistered")
        for row in table(HERE / f"exposures-{study}.csv")
        if not row["weight_decay"] and row["rho"] > 1.03
    ]
    whole = [row for row in rows if not row["batch"]]
    knots = np.log(KNOTS)
    steps_at = []
    for learner in ("gd", "adam", "muon"):
        for target in TARGETS:
            name = f"steps_{target}"
            mine = [row for row in whole if row["learner"] == learner and row[name] == row[name]]
            between = [
                [
                    *(
                        np.interp(math.log(row["rho"] - 1), knots, each)
                        for each in np.eye(len(knots))
                    ),
                    math.log(row["vocab"] / 256),
                ]
                for row in mine
            ]
            steps = [math.log(max(row[name], 1)) for row in mine]
            found = np.linalg.lstsq(np.array(between), np.array(steps), rcond=None)[0]
            found[:-1] = np.maximum.accumulate(found[-2::-1])[::-1]  # nearer is never faster
            steps_at += [
                {"learner": learner, "target": target, "filled": 1 + knot}
                | {"steps": round(float(np.exp(each)), 2), "power": round(float(found[-1]), 3)}
                for knot, each in zip(KNOTS, found[:-1], strict=True)
            ]
    write_table(steps_at, TABLE)
    for learner in ("sgd", "adam", "muon"):
        mine = [
            (row, place)
            for row in rows
            for place, target in enumerate(TARGETS)
            if row["learner"] == learner and row["batch"] and row[f"steps_{target}"] > 0
        ]
        places = np.array([place for _, place in mine])
        measured = np.log([max(row[f"steps_{TARGETS[place]}"], 1) for row, place in mine])
        before = np.array(
            [steps_to(TARGETS[place], learner, row["vocab"], row["rho"]) for row, place in mine]
        )
        more = np.array([parts_of(row) - 1 for row, _ in mine])
        away = np.array([row["rho"] - 1 for row, _ in mine])

        def off(
            given: np.ndarray,
            places: np.ndarray = places,
            before: np.ndarray = before,
            more: np.ndarray = more,
            away: np.ndarray = away,
            measured: np.ndarray = measured,
        ) -> np.ndarray:
            added = np.exp(given[:3])[places] * more ** given[3] / away ** given[4]
            return np.log(before + added + np.exp(given[5:])[places] * more) - measured

        start = [0.0, 0.0, 0.0, 1.0, 1.0, -1.0, 0.0, 0.0]
        found = least_squares(off, start, loss="soft_l1", f_scale=0.2)
        within = np.mean(np.abs(off(found.x)) < math.log(1.5))
        constants = [np.exp(found.x[:3]), found.x[3:5], np.exp(found.x[5:])]
        print(learner, *(each.round(3) for each in constants), f"{within:.2f} within 1.5")


def write_predictions(study: str) -> None:
    """Steps until the recall that is asked for."""
    write_table(
        [
            {"problem": index, "target": target, "rho": round(rho_of(problem), 4)}
            | {name: getattr(problem, name, 0) for name in SIZES[:4]}
            | {"steps": round(said(problem, target), 1)}
            for index, (problem, target) in enumerate(draw_preregistered(study))
        ],
        predictions(study),
    )


def said(problem: Problem, target: float) -> float:
    """What the law says today."""
    batch = getattr(problem, "batch", 0)
    parts = problem.vocab / batch if batch else 1.0
    return steps_to(target, problem.learner, problem.vocab, rho_of(problem), parts)


def report(study: str) -> None:
    """The predictions against the trainings."""
    with predictions(study).open() as file:
        predicted = list(csv.DictReader(file))
    runs = table(HERE / f"exposures-{study}.csv")
    ratios = []
    for index, row in enumerate(predicted):
        mine = [each[f"steps_{row['target']}"] for each in runs if each["problem"] == index]
        # One that does not reach the target took longer than all others.
        steps = float(np.median([math.inf if math.isnan(each) else max(each, 1) for each in mine]))
        ratios.append(float(row["steps"]) / steps)
        print(*row.values(), f"measured {steps:.1f}, ratio {ratios[-1]:.2f}")
    logs = np.abs(np.log(np.maximum(ratios, 1e-9)))
    trivial = np.array(
        [float(row["steps"]) / ratio for row, ratio in zip(predicted, ratios, strict=True)]
    )
    off = np.abs(np.log(trivial / np.median(trivial)))
    for factor in (1.5, 1.6, 2.0):
        counts = [int((each <= math.log(factor)).sum()) for each in (logs, off)]
        print(f"within {factor}: {counts[0]} of {len(logs)}; by their median: {counts[1]}")
    every = [
        math.log(max(each[f"steps_{predicted[each['problem']]['target']}"], 1))
        - math.log(float(predicted[each["problem"]]["steps"]))
        for each in runs
        if each[f"steps_{predicted[each['problem']]['target']}"] > 0
    ]
    print(f"90 % of trainings within {math.exp(np.quantile(np.abs(every), 0.9)):.2f}")


def figure() -> None:
    """Steps against the distance to capacity, and predicted against measured."""
    matplotlib.use("Agg")
    plt.rcParams.update({"font.size": 9, "svg.hashsalt": "recallscope"})
    drawn, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2), layout="constrained")
    rows = [row for row in table(HERE / "exposures-open.csv") if not row["weight_decay"]]
    filled = np.geomspace(0.06, 7, 60) + 1
    for learner, colour, mark in zip(("gd", "adam", "muon"), COLOURS[:3], "os^", strict=True):
        mine = [row for row in rows if row["learner"] == learner and not row["batch"]]
        left.plot(
            [row["rho"] for row in mine],
            [max(row["steps_0.9"], 1) for row in mine],
            mark,
            color=colour,
            ms=3,
            alpha=0.6,
            label=learner,
        )
        left.plot(filled, [steps_to(0.9, learner, 256, each) for each in filled], color=colour)
    left.set(xscale="log", yscale="log", xlabel="parameters / capacity threshold")
    left.set(ylabel="steps to recall 0.9, all facts at once")
    left.set_xticks([1.1, 1.5, 2, 3, 5, 8], ["1.1", "1.5", "2", "3", "5", "8"], minor=False)
    left.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    left.legend(frameon=False)
    with predictions("again").open() as file:
        predicted = list(csv.DictReader(file))
    runs = table(HERE / "exposures-again.csv")
    for learner, colour, mark in zip(
        LEARNERS, (COLOURS[0], COLOURS[3], *COLOURS[1:3]), "oDs^", strict=True
    ):
        for index, row in enumerate(predicted):
            if row["learner"] != learner:
                continue
            mine = [each[f"steps_{row['target']}"] for each in runs if each["problem"] == index]
            steps = np.maximum([each for each in mine if each == each], 1)
            if len(steps):
                right.plot(
                    [float(row["steps"])] * 2, [steps.min(), steps.max()], color=colour, lw=1
                )
                right.plot(float(row["steps"]), np.median(steps), mark, color=colour, ms=4)
        right.plot([], [], mark, color=colour, label=learner)
    line = np.array([1, 2000])
    right.plot(line, line, color="0.4", lw=0.8)
    right.fill_between(line, line / 1.5, line * 1.5, color="0.9", zorder=0)
    right.set(xscale="log", yscale="log", xlabel="predicted steps", ylabel="measured steps")
    right.legend(frameon=False)
    drawn.savefig(ROOT / "docs" / "end-exposures.png", dpi=150)


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "fit", "predict", "report", "figure"))
    parser.add_argument("study", nargs="?", choices=("open", *DRAWN_FROM))
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    if asked.what == "run":
        run_study(asked.study, asked.processes)
    elif asked.what == "fit":
        fit()
    elif asked.what == "predict":
        write_predictions(asked.study)
    elif asked.what == "report":
        report(asked.study)
    else:
        figure()


if __name__ == "__main__":
    main()
