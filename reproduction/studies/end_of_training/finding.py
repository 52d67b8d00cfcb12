"""Does a training find the trigger, and what does it recall if it does? Larger sizes, and MLPs.

    end_of_training/finding run open            # 48 problems that the law may be found with
    end_of_training/finding table               # src/recallscope/theory/trained.csv
    end_of_training/finding predict             # 40 others: predictions, to be committed
    end_of_training/finding run preregistered   # train; seeds come from the predictions
    end_of_training/finding report              # Brier scores, errors and intervals
    end_of_training/finding figure              # docs/end-found.png

A quarter of the problems has many facts (V up to 2048; from 1024 on in the preregistered set), a
quarter long sequences (L up to 512 where V is at most 256; from 256 on), a quarter an MLP, and a
quarter few samples, where seeds decide. Three seeds each; eight of the last quarter of `open`. A
training ends as it does by default, or after 1,500 steps, and is to take at most 30 s.

A training has found the trigger if it attends to it more often than chance, 1/L, by at least 15 %
of what is left. Cost, of two busy cores: `open` 17 minutes, `preregistered` 15. Of the latter's 120
trainings, all estimated at less than 20 s, 13 took 31 to 123 s.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
from collections import defaultdict
from functools import cache
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.stats import binomtest

from recallscope import Problem, predict, run
from recallscope.theory.end_capacity import edge
from recallscope.theory.end_law import end_of_training
from recallscope.three_step.cost import predict_cost
from reproduction.recorded_names import with_todays_names
from reproduction.studies.kept_runs import Row, run_rest, seed_from, write_table

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
TABLE = ROOT / "src" / "recallscope" / "theory" / "trained.csv"
PREDICTIONS = HERE / "finding-predictions.csv"
DRAWN_FROM = {"open": 20261121, "preregistered": 20261122}
COUNT = {"open": 48, "preregistered": 40}
KINDS = ("wide", "long", "mlp", "few")
NAMES = dict(zip(KINDS, ("V above 1024", "L above 256", "an MLP", "few samples"), strict=True))
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
LEARNERS = ("gd", "adam", "muon")
SIZES = ("vocab", "samples", "dim", "length", "width", "learner")
STEPS, MOST_SECONDS = 1500, 20.0  # as estimated: two trainings at once are slower


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


@cache
def draw(study: str) -> list[tuple[str, Problem]]:
    """The problems of a study, the same every time, and of which kind each is."""
    rng = np.random.default_rng(DRAWN_FROM[study])
    fewest, shortest = (512, 128) if study == "open" else (1024, 256)
    sizes = {
        "wide": ((fewest, 2048), (2, 32), (0.3, 3)),
        "long": ((64, 256), (shortest, 512), (0.5, 8)),
        "mlp": ((64, 1024), (2, 128), (0.3, 8)),
        "few": ((64, 384), (8, 128), (0.25, 2)),
    }
    problems: list[tuple[str, Problem]] = []
    while len(problems) < COUNT[study]:
        kind = KINDS[len(problems) % 4]
        vocabs, lengths, per_facts = sizes[kind]
        vocab = round(between(rng, *vocabs))
        per_fact = between(rng, *per_facts)
        seen = vocab * -math.expm1(-per_fact)
        share = rng.uniform(0.4, 1.2) if rng.random() < 0.7 else between(rng, 1.2, 4)
        parameters = share * edge(vocab, seen, math.sqrt(seen * math.log(vocab))).parameters
        wider = between(rng, 1, 8) if kind == "mlp" else 1
        dim = max(round(math.sqrt(parameters / wider)), 4)
        mlp = {"width": round(parameters / dim), "activation": "relu"} if kind == "mlp" else {}
        problem = Problem(
            vocab=vocab,
            samples=max(8, round(vocab * per_fact)),
            dim=min(dim, vocab - 1),
            length=round(between(rng, *lengths)),
            learner=LEARNERS[len(problems) // 4 % 3],
            steps=STEPS,
            **mlp,
        )
        if predict_cost(problem).seconds < MOST_SECONDS:
            problems.append((kind, problem))
    return problems


def has_found(attention: float, length: float) -> bool:
    """Whether attention is at the trigger more often than by chance."""
    return (attention - 1 / length) / (1 - 1 / length) > 0.15


def trained(study: str, index: int, number: int) -> list[Row]:
    """One training."""
    torch.set_num_threads(1)
    kind, problem = draw(study)[index]
    seed = number + (seed_from(PREDICTIONS) if study == "preregistered" else 0)
    record = run(problem, seed, test_samples=4096)
    if record.status != "ok":
        raise RuntimeError(f"problem {index}: {record.reason}")
    return [
        {"study": study, "problem": index, "number": number, "kind": kind}
        | {name: getattr(problem, name) for name in SIZES}
        | {"seed": seed, "recall": record.recall_accuracy, "attention": record.attention_accuracy}
        | {name: record.metrics.get(name) for name in ("ended", "steps_taken", "final_loss")}
        | {"seconds": round(record.provenance.elapsed_seconds, 1)}
    ]


def run_study(study: str, processes: int) -> None:
    """Train what is not among the runs kept from before."""
    tasks = [
        (study, index, number)
        for index, (kind, _) in enumerate(draw(study))
        for number in range(8 if kind == "few" and study == "open" else 3)
    ]
    names = ("study", "problem", "number")
    run_rest(trained, tasks, names, HERE / f"finding-{study}.jsonl", processes)


def problem_of(row: Row) -> Problem:
    """The problem of a run, or of a line of predictions."""
    sizes = {name: int(row[name]) for name in SIZES[:4]}
    mlp = {"width": int(row["width"]), "activation": "relu"} if int(row.get("width") or 0) else {}
    return Problem.from_dict({**sizes, **mlp, "learner": row["learner"], "steps": STEPS})


def lines(path: Path) -> list[Row]:
    """Of a CSV file, if there is one."""
    if not path.exists():
        return []
    with path.open() as file:
        return with_todays_names(csv.DictReader(file))


def every_run() -> dict[tuple[str, int], list[Row]]:
    """All trainings of this study and of two before it, by study and problem."""
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for study in ("open", "few", "preregistered", "again"):
        for row in lines(HERE / f"end-law-{study}.csv"):
            found["end " + study, int(row["problem"])].append(row)
    sizes = lines(HERE / "beyond-predictions.csv")
    for row in lines(HERE / "beyond.csv"):
        found["beyond", int(row["number"])].append(sizes[int(row["number"])] | row)
    for study in DRAWN_FROM:
        for row in lines(HERE / f"finding-{study}.csv"):
            found[study, int(row["problem"])].append(row)
    return found


def mean_of(rows: list[Row], name: str) -> float:
    """Of a column, to four digits; NaN of nothing."""
    return round(float(np.mean([float(row[name]) for row in rows])), 4) if rows else math.nan


def means() -> list[Row]:
    """Each problem once: what was trained, on average over seeds, and what the law says today."""
    table = []
    for (study, _), rows in every_run().items():
        problem = problem_of(rows[0])
        if problem.length == 1:
            continue
        end = end_of_training(problem)
        finders = [row for row in rows if has_found(float(row["attention"]), problem.length)]
        table.append(
            {"study": study}
            | {name: getattr(problem, name) or 0 for name in SIZES}
            | {"seeds": len(rows), "found": round(len(finders) / len(rows), 4)}
            | {name: mean_of(rows, name) for name in ("recall", "attention")}
            | {f"{name}_if_found": mean_of(finders, name) for name in ("recall", "attention")}
            | {
                "predicted_found": round(end.found, 4),
                "predicted_recall": round(end.recall, 4),
                "predicted_attention": round(end.found * end.attention, 4),
                "predicted_recall_if_found": round(end.recall_if_found, 4),
                "predicted_attention_if_found": round(end.attention, 4),
                "share_of_edge": round(end.parameters / end.edge.parameters, 3),
                "trigger_snr": round(end.trigger_snr or 0, 4),
            }
        )
    return table


def write_predictions() -> None:
    """What the law says of problems that were not trained yet."""
    rows = []
    for index, (kind, problem) in enumerate(draw("preregistered")):
        found = predict(problem)
        low, high = found.intervals["recall_accuracy"]
        rows.append(
            {"problem": index, "kind": kind}
            | {name: getattr(problem, name) or 0 for name in SIZES}
            | {"found": round(found.factors["trigger_found"].value, 4)}
            | {"recall_if_found": round(found.quantities["recall_if_found"], 4)}
            | {"recall": round(found.recall_accuracy, 4)}
            | {"low": round(low, 4), "high": round(high, 4)}
        )
    write_table(rows, PREDICTIONS)


def guess(problem: Problem) -> float:
    """A guess without parameters of whether a training finds the trigger."""
    samples = problem.samples
    return -math.expm1(-samples * (samples - 1) / (2 * problem.vocab * problem.length))


def report() -> None:
    """The predictions against the trainings."""
    runs = {index: rows for (study, index), rows in every_run().items() if study == "preregistered"}
    predicted = lines(PREDICTIONS)
    found, probabilities, guesses, errors, values = [], [], [], [], []
    inside, widths, scores = [], [], []
    for index, rows in runs.items():
        said, problem = predicted[index], problem_of(rows[0])
        finders = [row for row in rows if has_found(float(row["attention"]), problem.length)]
        found += [has_found(float(row["attention"]), problem.length) for row in rows]
        probabilities += [float(said["found"])] * len(rows)
        guesses += [guess(problem)] * len(rows)
        low, high = float(said["low"]), float(said["high"])
        for row in rows:
            recall = float(row["recall"])
            outside = max(low - recall, recall - high, 0.0)
            inside.append(outside <= 1e-9)
            widths.append(high - low)
            scores.append(high - low + 20 * outside)
        if finders:
            values.append(mean_of(finders, "recall"))
            errors.append(float(said["recall_if_found"]) - values[-1])
        sizes = " ".join(f"{said[name]:>5}" for name in SIZES)
        print(
            f"{said['kind']} {sizes}: found {len(finders)} of {len(rows)}, {said['found']}; if so "
            f"{mean_of(finders, 'recall')}, {said['recall_if_found']}; {low} to {high}; "
            f"{max(float(row['seconds']) for row in rows)} s"
        )
    outcome, rate = np.array(found, dtype=float), float(np.mean(found))
    for name, probability in (("law", probabilities), ("base rate", rate), ("guess", guesses)):
        score = np.mean((probability - outcome) ** 2)
        print(f"Brier score of finding the trigger, {name}: {score:.4f}")
    size, value = np.abs(errors), np.array(values)
    hard = (value > 0.1) & (value < 0.9)
    for name, some in (("all", hard | True), ("in 0.1 to 0.9", hard)):
        trivial = np.abs(value - np.mean(value))[some].mean()
        print(f"recall if found, {name}: {some.sum()}, {size[some].mean():.4f}; mean {trivial:.4f}")
    ends = binomtest(sum(inside), len(inside)).proportion_ci()
    print(f"inside: {sum(inside)} of {len(inside)} ({ends.low:.2f} to {ends.high:.2f})")
    print(f"median width {np.median(widths):.3f}, score {np.mean(scores):.3f}")


def figure() -> None:
    """How often trainings find the trigger, and recall if they do, predicted and measured."""
    matplotlib.use("Agg")
    plt.rcParams.update({"font.size": 9})
    drawn, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.3), layout="constrained")
    rows = lines(TABLE)
    chosen, found, seeds = (
        np.array([float(row[name]) for row in rows])
        for name in ("predicted_found", "found", "seeds")
    )
    mine = np.array([row["study"] == "preregistered" for row in rows])
    ends = np.array([0.5, 0.65, 0.8, 0.95, 1.0001])
    for some, name, colour, mark, shift in (
        (~mine, "the law was found with these", "#0072B2", "o", -0.006),
        (mine, "preregistered", "#D55E00", "s", 0.006),
    ):
        for low, high in itertools.pairwise(ends):
            here = some & (chosen >= low) & (chosen < high)
            if not here.any():
                continue
            count, total = int((found * seeds)[here].round().sum()), int(seeds[here].sum())
            around = binomtest(count, total).proportion_ci()
            at = float((chosen * seeds)[here].sum() / total) + shift
            left.plot([at, at], [around.low, around.high], color=colour, lw=1)
            left.plot(at, count / total, mark, color=colour, ms=5, label=name)
            name = None
    left.plot([0.5, 1], [0.5, 1], color="0.4", lw=0.8)
    left.set(xlabel="predicted probability", ylabel="trainings that found the trigger")
    left.legend(frameon=False, loc="lower right")
    for kind, colour, mark in zip(KINDS, COLOURS, "osD^", strict=True):
        at = [row for row in lines(PREDICTIONS) if row["kind"] == kind]
        runs = every_run()
        for row in at:
            length = int(row["length"])
            recalls = [
                float(each["recall"])
                for each in runs["preregistered", int(row["problem"])]
                if has_found(float(each["attention"]), length)
            ]
            if recalls:
                x = float(row["recall_if_found"])
                right.plot([x, x], [min(recalls), max(recalls)], color=colour, lw=1)
                right.plot(x, np.mean(recalls), mark, color=colour, ms=4)
        right.plot([], [], mark, color=colour, label=NAMES[kind])
    right.plot([0, 1], [0, 1], color="0.4", lw=0.8)
    right.set(xlabel="predicted recall if found", ylabel="measured")
    right.legend(frameon=False)
    drawn.savefig(ROOT / "docs" / "end-found.png", dpi=150)


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "table", "predict", "report", "figure"))
    parser.add_argument("study", nargs="?", choices=DRAWN_FROM)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    if asked.what == "run":
        run_study(asked.study, asked.processes)
    elif asked.what == "table":
        write_table(means(), TABLE)
    elif asked.what == "predict":
        write_predictions()
    elif asked.what == "report":
        report()
    else:
        figure()


if __name__ == "__main__":
    main()
