"""The law of the end of training, found on problems drawn at random and judged on others.

    end_of_training/end_law run open        # 120 problems that the law may be found with
    end_of_training/end_law run few         # 48 more, long sequences and few samples
    end_of_training/end_law predict preregistered  # 60 others: predictions, to be committed
    end_of_training/end_law run preregistered      # train; seeds come from the predictions
    end_of_training/end_law predict again   # 60 more, for the law that was fixed after these
    end_of_training/end_law run again
    end_of_training/end_law report          # errors of all

Facts from 64 to 512, sequences of 2 to 128, a quarter to 32 samples for each fact, gradient
descent, Adam and Muon in equal parts. Half of the problems lie around the capacity threshold of a
memory, the others away from it on either side. Of `again` at least 32 are predicted to recall
between 0.1 and 0.9: once there are 28 others, only such problems are taken. Runs are saved one by
one, so a study resumes.
"""

from __future__ import annotations

import argparse
import csv
import math
from functools import cache
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, run
from recallscope.task.kind import samples_of
from recallscope.theory.end_law import EDGE_WIDTH_FACTOR, end_of_training, trigger_snr
from recallscope.theory.memory_recall import Facts, facts_seen, memory_recall
from reproduction.recorded_names import with_todays_names
from reproduction.studies.kept_runs import Row, kept, run_and_keep, seed_from, write_table

HERE = Path(__file__).parent
DRAWN_FROM = {"open": 20261116, "few": 20261117, "preregistered": 20261119, "again": 20261120}
COUNT = {"open": 120, "few": 48, "preregistered": 60, "again": 60}
HARD = 32
LEARNERS = ("gd", "adam", "muon")
SECONDS_FOR_SEEDS = {"open": 5.0, "few": 20.0, "preregistered": 15.0, "again": 15.0}
MOST_SEEDS = {"open": 4, "few": 6, "preregistered": 6, "again": 6}
PREREGISTERED = ("preregistered", "again")
STUDIES = ("open", "few", *PREREGISTERED)
SIZES = ("vocab", "samples", "dim", "length", "learner")


def predictions(study: str) -> Path:
    """Where the predictions of a study are."""
    return HERE / (
        "end-law-predictions.csv"
        if study == "preregistered"
        else f"end-law-{study}-predictions.csv"
    )


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def draw(study: str) -> list[Problem]:
    """The problems of a study, the same every time."""
    if study == "again" and predictions(study).exists():  # drawn by what the law said then
        with predictions(study).open() as file:
            return [problem_of(row) for row in csv.DictReader(file)]
    rng = np.random.default_rng(DRAWN_FROM[study])
    problems: list[Problem] = []
    few = study == "few"
    for index in range(10**4):
        if len(problems) == COUNT[study]:
            break
        vocab = round(between(rng, 64, 192 if few else 512))
        per_fact = between(rng, 0.25, 2 if few else 32)
        # Roughly where a memory of the facts seen is full; the law has it exactly.
        edge = math.sqrt(1.05 * vocab * -math.expm1(-per_fact) * math.log(vocab))
        around, below = rng.uniform(0.6, 1.1), rng.uniform(0.35, 0.6)
        above = rng.uniform(1.1, 2.5)
        share = around if index % 2 else (below if rng.integers(2) else above)
        problem = Problem(
            vocab=vocab,
            samples=max(8, round(vocab * per_fact)),
            dim=min(max(4, round(share * edge)), vocab - 1),
            length=round(between(rng, 12 if few else 2, 128)),
            learner=LEARNERS[len(problems) // 2 % 3],
        )
        if study == "again":
            easy = sum(not is_hard(each) for each in problems)
            if easy == COUNT[study] - HARD and not is_hard(problem):
                continue
        problems.append(problem)
    return problems


@cache
def is_hard(problem: Problem) -> bool:
    """Whether recall is predicted to be where it is hard to get right."""
    return 0.1 < end_of_training(problem).recall < 0.9


def problem_of(row: dict[str, str]) -> Problem:
    """A problem from a line of predictions."""
    sizes = {name: int(row[name]) for name in SIZES[:-1]}
    return Problem(**sizes, learner=row["learner"])


def first_seed(study: str) -> int:
    """Seeds of preregistered runs come from the predictions, so nobody knew them before."""
    return seed_from(predictions(study)) if study in PREREGISTERED else 0


def trained(study: str, index: int, problem: Problem) -> list[Row]:
    """Some seeds, as long as they are quick."""
    torch.set_num_threads(1)
    rows: list[Row] = []
    seconds = 0.0
    while len(rows) < MOST_SEEDS[study] and seconds < SECONDS_FOR_SEEDS[study]:
        seed = first_seed(study) + len(rows)
        record = run(problem, seed, test_samples=2048)
        if record.status != "ok":
            raise RuntimeError(f"problem {index}: {record.reason}")
        labels = samples_of(problem, seed).draw(0, int(problem.samples)).label
        found = {
            name: record.metrics.get(name)
            for name in ("ended", "steps_taken", "final_loss", "first_attention")
        }
        rows.append(
            {"study": study, "problem": index}
            | {name: getattr(problem, name) for name in SIZES}
            | {
                "seed": seed,
                "recall": record.recall_accuracy,
                "attention": record.attention_accuracy,
                "facts_seen": len(set(labels.tolist())) / problem.vocab,
            }
            | found
            | {
                "mass": record.metrics["curve_mass"][-1],
                "cosine": record.metrics["curve_cosine"][-1],
                "early_cosine": record.metrics["curve_cosine"][2],
                "seconds": round(record.provenance.elapsed_seconds, 1),
            }
        )
        seconds += record.provenance.elapsed_seconds
    return rows


def run_study(study: str, processes: int) -> None:
    """Train what is not among the runs kept from before."""
    path = HERE / f"end-law-{study}.jsonl"
    done = {row["problem"] for row in kept(path)}
    tasks = [
        (study, index, problem) for index, problem in enumerate(draw(study)) if index not in done
    ]
    run_and_keep(trained, tasks, processes, path)
    runs = sorted(kept(path), key=lambda row: (row["problem"], row["seed"]))
    write_table(runs, HERE / f"end-law-{study}.csv")


def predict(study: str) -> None:
    """What the law says of problems that were not trained yet."""
    problems = draw(study)
    with predictions(study).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["problem", *SIZES, "predicted", "facts_seen"])
        for index, problem in enumerate(problems):
            end = end_of_training(problem)
            sizes = [getattr(problem, name) for name in SIZES]
            writer.writerow([index, *sizes, f"{end.recall:.4f}", f"{end.facts_seen:.4f}"])


def means(study: str) -> list[Row]:
    """Each problem once: what was trained, on average over seeds, and what the law says today."""
    with (HERE / f"end-law-{study}.csv").open() as file:
        runs = with_todays_names(csv.DictReader(file))
    rows = []
    for index, problem in enumerate(draw(study)):
        mine = [row for row in runs if int(row["problem"]) == index]
        recalls, attention = (
            [float(row[name]) for row in mine] for name in ("recall", "attention")
        )
        end = end_of_training(problem)
        rows.append(
            {"study": study}
            | {name: getattr(problem, name) for name in SIZES}
            | {
                "seeds": len(recalls),
                "recall": round(float(np.mean(recalls)), 4),
                "spread": round(float(np.std(recalls)), 4),
                "attention": round(float(np.mean(attention)), 4),
                "predicted": round(end.recall, 4),
                "found": round(end.found * end.attention, 4),
                "facts_seen": round(end.facts_seen, 4),
                "share_of_edge": round(end.parameters / end.edge.parameters, 3),
                "trigger_snr": round(trigger_snr(problem), 3),
            }
        )
    return rows


def with_attention(row: Row) -> float:
    """The law with the attention accuracy that was measured."""
    facts = facts_seen(row["vocab"], row["samples"])
    found = Facts(max(row["attention"], 0.02) * facts.number, facts.times)
    return (
        float(found.number.sum())
        / row["vocab"]
        * memory_recall(row["vocab"], row["dim"] ** 2, found, row["dim"], EDGE_WIDTH_FACTOR)
    )


def report() -> None:
    """Errors, apart where they are hard to get right."""
    there = [study for study in STUDIES if (HERE / f"end-law-{study}.csv").exists()]
    every = [row for study in there for row in means(study)]
    for study in there:
        rows = [row for row in every if row["study"] == study]
        hard = [row for row in rows if 0.1 < row["recall"] < 0.9]
        for name, chosen in (("all", rows), ("recall in 0.1 to 0.9", hard)):
            error, trivial = (
                np.mean([abs(row[guess] - row["recall"]) for row in chosen])
                for guess in ("predicted", "facts_seen")
            )
            print(f"{study}, {name}: {len(chosen)} problems, {error:.4f}; facts seen {trivial:.4f}")
        measured = np.mean([abs(with_attention(row) - row["recall"]) for row in rows])
        print(f"with the measured attention: {measured:.4f}")
        for learner in LEARNERS:
            chosen = [row for row in rows if row["learner"] == learner]
            print(learner, np.mean([abs(row["predicted"] - row["recall"]) for row in chosen]))
    worst = sorted(rows, key=lambda row: -abs(row["predicted"] - row["recall"]))
    for row in worst[:10]:
        print(row)


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "predict", "report"))
    parser.add_argument("study", nargs="?", choices=DRAWN_FROM)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "run":
        run_study(asked.study, asked.processes)
    elif asked.what == "predict":
        predict(asked.study)
    else:
        report()


if __name__ == "__main__":
    main()
