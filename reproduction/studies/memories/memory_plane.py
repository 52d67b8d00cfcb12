"""Memories of n facts and V labels, keys in m dimensions and outputs in d: thresholds and recall.

    memories/memory_plane run open         # what was looked at first
    memories/memory_plane predict first    # memory-plane-first-predictions.csv, committed
    memories/memory_plane run first        # the memories predicted, seeds from that file
    memories/memory_plane report first     # and `again`: a second set, drawn later
    memories/memory_plane table          # src/recallscope/theory/memories.csv

The threshold of one draw is the smallest number m of key dimensions, or of hidden units, at which
the certified minimum of the loss answers every fact: its units are added one by one to the same
draw. Recall is of other draws, at a fraction of the predicted threshold that was drawn with them.
Labels are all different where there are enough of them, and else drawn at random.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import math
import time
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize

from recallscope.theory.end_capacity import edge
from recallscope.theory.label_pool import pool
from recallscope.theory.memory_recall import equally_often, memory_recall
from reproduction.studies.kept_runs import Row, kept, run_and_keep, seed_from, write_table

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
PREREGISTERED = {"first": 20261117, "again": 20261118, "wide": 20261119}
MEMORIES = ROOT / "src/recallscope/theory/memories.csv"
NAMES = ("kind", "vocab", "facts", "dim", "width")
MOST_LOOKS = 1500  # of one minimum: just below a threshold there is no end of them
FLAT = 5e-4  # the fraction of the slope at zero that counts as none
COUNT, FEWEST_FACTS = 40, 100
WIDE = 6  # of up to 16,384 labels and few facts, two seeds each
FEWEST = 5  # dimensions: in fewer, labels are so close that minima take too long
OPEN_RATIOS, OPEN_PER_LABEL = (0.5, 1, 4, 16), (0.25, 1, 4)


def drawn(kind: str, vocab: int, facts: int, dim: int, width: int, seed: int) -> list[torch.Tensor]:
    """Keys in as many dimensions as asked for, labels and outputs of one memory."""
    rng = np.random.default_rng([37, vocab, facts, dim, seed])

    def sphere(*shape: int) -> np.ndarray:
        rows = rng.standard_normal(shape)
        return rows / np.linalg.norm(rows, axis=-1, keepdims=True)

    outputs = sphere(vocab, dim)
    labels = rng.permutation(vocab)[:facts] if facts <= vocab else rng.integers(vocab, size=facts)
    if kind == "relu":
        # Units one by one, a wider layer has those of a narrower one.
        weights = np.stack([rng.standard_normal(dim) for _ in range(width)])
        keys = np.maximum(
            np.random.default_rng([seed]).standard_normal((facts, dim)) @ weights.T, 0
        )
    else:
        keys = np.stack([rng.standard_normal(facts) for _ in range(width)], axis=1)
    outputs = outputs - outputs.mean(axis=0)
    return [
        torch.tensor(keys / math.sqrt(width), dtype=torch.float32),
        torch.tensor(labels),
        torch.tensor(outputs, dtype=torch.float32),
    ]


class _Separated(Exception):  # noqa: N818  # no error: the way out of the minimiser
    pass


def ended(
    keys: torch.Tensor, labels: torch.Tensor, outputs: torch.Tensor, most: int
) -> tuple[float, bool]:
    """Recall where the loss ends, and whether that is certified: all right, or no slope left.

    If every answer is right the facts are separable: a larger multiple of the matrix loses nothing.
    """
    own = torch.arange(len(labels))
    pull = outputs[labels].T @ keys
    recall, certified = 0.0, False
    unit = 1 / float(keys.norm(dim=1).max() * outputs.norm(dim=1).max())

    def look(point: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal recall, certified
        matrix = torch.from_numpy(unit * point).view(pull.shape).to(keys.dtype)
        logits = keys @ matrix.T @ outputs.T
        recall = float((logits.argmax(dim=1) == labels).double().mean())
        loss = float((torch.logsumexp(logits, 1) - logits[own, labels]).mean())
        slope = ((torch.softmax(logits, 1) @ outputs).T @ keys - pull) / len(labels)
        certified = recall == 1 or float(slope.norm()) < FLAT * float(pull.norm()) / len(labels)
        if certified:
            raise _Separated
        return loss, unit * slope.double().flatten().numpy()

    limits = {"maxiter": most, "maxfun": most, "maxcor": 20, "ftol": 0.0, "gtol": 0.0}
    with contextlib.suppress(_Separated):
        minimize(look, np.zeros(pull.numel()), jac=True, method="L-BFGS-B", options=limits)
    return recall, certified


def threshold(kind: str, vocab: int, facts: int, dim: int, width: int, seed: int) -> list[Row]:
    """The smallest width at which one draw is stored whole, found from the expected one on."""
    torch.set_num_threads(1)
    start, uncertified = time.monotonic(), 0
    low, high, step = 0, 0, max(1, round(0.02 * width))
    at = width
    while (not low or not high or high - low > 1) and at <= 2 * width:
        recall, certified = ended(*drawn(kind, vocab, facts, dim, at, seed), most=MOST_LOOKS)
        uncertified += not certified
        if recall == 1:
            high = at
            at = max(1, at - step) if not low else (low + high) // 2
            if high == 1:
                break
        else:
            low = at
            at = at + step if not high else (low + high) // 2
        step *= 2
    seconds = round(time.monotonic() - start, 1)
    row = dict(zip(NAMES, (kind, vocab, facts, dim, width), strict=True))
    found_at = {"found": high, "uncertified": uncertified, "seconds": seconds}
    return [{"what": "threshold", **row, "seed": seed, **found_at}]


def recalled(kind: str, vocab: int, facts: int, dim: int, width: int, seed: int) -> list[Row]:
    """Recall of one draw at its own width."""
    torch.set_num_threads(1)
    start = time.monotonic()
    recall, certified = ended(*drawn(kind, vocab, facts, dim, width, seed), most=2 * MOST_LOOKS)
    row = dict(zip(NAMES, (kind, vocab, facts, dim, width), strict=True))
    seconds = round(time.monotonic() - start, 1)
    found = {"found": recall, "uncertified": int(not certified), "seconds": seconds}
    return [{"what": "recall", **row, "seed": seed, **found}]


def shape(vocab: int, facts: int, ratio: float) -> tuple[int, int]:
    """Dimension and width with a ratio of the two, near the threshold.

    By a rule of thumb: what is run does not depend on what is fitted to it.
    """

    def rough(dim: float) -> float:
        cone = pool(vocab).mean
        return facts * cone * max(1 - 0.35 * cone * (1 / dim - 1 / (vocab - 1)), 0.3)

    dim = 8.0
    for _ in range(50):
        dim = (dim + math.sqrt(rough(max(dim, 2)) / ratio)) / 2
    whole = max(round(dim), 2)
    return whole, max(round(rough(whole) / whole), 1)


def work(what: str, *task: object) -> list[Row]:
    """One run of either kind."""
    return {"threshold": threshold, "recall": recalled}[what](*task)  # type: ignore[operator]


def open_tasks() -> list[tuple[object, ...]]:
    """Small memories over the whole plane, for the constants."""
    tasks: list[tuple[object, ...]] = []
    for vocab in (64, 128, 256):
        for per_label in OPEN_PER_LABEL:
            facts = round(per_label * vocab)
            for ratio in OPEN_RATIOS:
                kind = "linear" if ratio == 1 else "relu"
                dim, width = shape(vocab, facts, ratio)
                if not FEWEST <= dim < vocab - 1 or width >= facts:
                    continue
                sizes = kind, vocab, facts, dim
                tasks += [("threshold", *sizes, width, seed) for seed in range(8)]
                for share in (0.5, 0.7, 0.85, 0.93):
                    some = max(round(share * width), 1)
                    tasks += [("recall", *sizes, some, seed) for seed in range(100, 106)]
    return tasks


def run_study(name: str, processes: int) -> None:
    """Run what is not kept yet."""
    path = HERE / f"memory-plane-{name}.jsonl"
    tasks = open_tasks() if name == "open" else predicted_tasks(name)
    done = {(row["what"], *(row[each] for each in NAMES), row["seed"]) for row in kept(path)}
    left = [task for task in tasks if task not in done]
    # Recalls first: a threshold is many minima.
    left.sort(key=lambda task: (task[0] == "threshold", task[2] * task[3]))  # type: ignore[operator]
    run_and_keep(work, left, processes, path)
    write_table(kept(path), path.with_suffix(".csv"))


def predictions(name: str) -> Path:
    """Where the predictions of a study are."""
    return HERE / f"memory-plane-{name}-predictions.csv"


def predicted_tasks(name: str) -> list[tuple[object, ...]]:
    """The memories that were predicted."""
    first = seed_from(predictions(name))
    tasks: list[tuple[object, ...]] = []
    with predictions(name).open() as file:
        for row in csv.DictReader(file):
            sizes = row["kind"], *(int(row[each]) for each in ("vocab", "facts", "dim"))
            seeds = range(first, first + int(row["seeds"]))
            tasks += [("threshold", *sizes, int(row["width_at_threshold"]), seed) for seed in seeds]
            tasks += [("recall", *sizes, int(row["width"]), seed + 1000) for seed in seeds]
    return tasks


def predict(name: str) -> None:
    """Forty memories over the plane, with the threshold and the recall at a fraction of it.

    Ten take longer; three of them are large. So few facts that seeds differ by more than some per
    cent are left out, as a threshold could not be measured to 3 %.
    """
    rng = np.random.default_rng(PREREGISTERED[name])
    rows: list[Row] = []
    wide = name == "wide"
    while len(rows) < (WIDE if wide else COUNT):
        large = len(rows) >= COUNT - 3
        least, most = (20, 21) if large else (11, 16) if len(rows) % 5 else (16, 18)
        vocab = round(2 ** rng.uniform(6, 12))
        facts = round(vocab * 2 ** rng.uniform(-2, 3))
        if wide:
            vocab, facts, (least, most) = (
                2 ** (13 + len(rows) % 2),
                round(rng.uniform(100, 256)),
                (0, 22),
            )
        ratio, share = 2 ** rng.uniform(-1, 4), rng.uniform(0.6, 1.08)
        if facts < FEWEST_FACTS or not 2**least <= facts * vocab <= 2**most:
            continue
        dim, at = shape(vocab, facts, ratio)
        if not FEWEST <= dim < vocab - 1 or not 3 < at < facts:
            continue
        # With keys of m dimensions, or behind a layer of m units.
        kind = "linear" if len(rows) % 2 else "relu"
        full = edge(vocab, facts, dim)
        width = max(round(share * full.parameters / dim), 1)
        recall = memory_recall(vocab, dim * width, equally_often(facts), dim=dim)
        noise = full.spread / full.parameters / 0.012
        rows.append(
            {
                **dict(zip(NAMES, (kind, vocab, facts, dim, width), strict=True)),
                "width_at_threshold": at,
                "threshold": round(full.parameters, 1),
                "recall": round(recall, 4),
                "seeds": 2 if large or wide else min(max(math.ceil(noise**2), 3), 10),
            }
        )
    write_table(rows, predictions(name))


def report(name: str) -> None:
    """Thresholds and recalls next to what is predicted today."""
    rows = kept(HERE / f"memory-plane-{name}.jsonl")
    groups: dict[tuple[object, ...], list[float]] = {}
    for row in rows:
        sizes = tuple(row[each] for each in NAMES)
        groups.setdefault((row["what"], *sizes), []).append(row["found"])
    off: dict[str, list[float]] = {"threshold": [], "recall": []}
    hard = []
    for (what, kind, vocab, facts, dim, width), found in sorted(groups.items(), key=str):
        mean = float(np.mean(found))
        error = float(np.std(found) / math.sqrt(len(found)))
        if what == "threshold":
            full = edge(vocab, facts, dim)  # type: ignore[arg-type]
            # Half-way between the width that was not enough and the one that was.
            said = f"{(mean - 0.5) * dim / full.parameters:.3f} of {full.parameters:.0f}"  # type: ignore[operator]
            off[what].append((mean - 0.5) * dim / full.parameters - 1)  # type: ignore[operator]
        else:
            every = equally_often(facts)  # type: ignore[arg-type]
            derived = memory_recall(vocab, dim * width, every, dim=dim)  # type: ignore[operator,arg-type]
            said = f"{mean:.3f} ± {error:.3f}, predicted {derived:.3f}"
            off[what].append(mean - derived)
            hard += [mean - derived] if 0.1 < mean < 0.9 else []
        print(f"{what:9} {kind:6} V={vocab} n={facts} d={dim} m={width}: {said}")
    thresholds, recalls = (np.abs(off[each]) for each in ("threshold", "recall"))
    print(f"threshold: mean {thresholds.mean():.4f}, within 3 % {(thresholds < 0.03).mean():.2f}")
    print(f"recall: mean {recalls.mean():.4f} of {len(recalls)}")
    print(f"recall in 0.1 to 0.9: {np.abs(hard).mean():.4f} of {len(hard)}")


def write_memories() -> None:
    """The table that comes with the package: mean recalls, next to what is predicted today."""
    found: dict[tuple[str, int, int, int, int], list[float]] = {}
    for path in sorted(HERE.glob("memory-plane-*.csv")):
        if path.stem.endswith("predictions"):
            continue
        with path.open() as file:
            for row in csv.DictReader(file):
                if row["what"] == "recall":
                    sizes = (int(row[each]) for each in NAMES[1:])
                    found.setdefault((row["kind"], *sizes), []).append(float(row["found"]))  # type: ignore[arg-type]
    with (HERE / "memory-edge.csv").open() as file:
        for row in csv.DictReader(file):
            if row["study"] in ("linear", "mlp"):
                vocab, dim = int(row["vocab"]), int(row["dim"])
                kind = "relu" if row["width"] else "linear"
                key = kind, vocab, vocab, dim, int(row["width"] or dim)
                found.setdefault(key, []).append(float(row["recall"]))
    rows = []
    for (kind, vocab, facts, dim, width), recalls in sorted(found.items()):
        predicted = memory_recall(vocab, dim * width, equally_often(facts), dim=dim)
        sizes = dict(zip(NAMES, (kind, vocab, facts, dim, width), strict=True))
        numbers = {"recall": round(float(np.mean(recalls)), 4), "predicted": round(predicted, 4)}
        rows.append(sizes | {"seeds": len(recalls)} | numbers)
    write_table(rows, MEMORIES)


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "predict", "report", "table"])
    parser.add_argument("study", nargs="?", choices=["open", *PREREGISTERED], default="open")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    if given.what == "run":
        run_study(given.study, given.processes)
    elif given.what == "predict":
        predict(given.study)
    elif given.what == "table":
        write_memories()
    else:
        report(given.study)


if __name__ == "__main__":
    main()
