"""How far off `plan` is: models planned before they are trained.

    planner plan again    # planner-again-plans.csv, to be committed
    planner run again     # train; seeds come from the plans
    planner report again

GPT-2 and Llama shapes of one to four layers, from configurations of transformers, trained by AdamW
on `pairs`, `relations`, `biographies` and `recall` (a marked id), a quarter with Zipf's law. Some
are LoRAs of rank 1 to 8 on all matrices, or fine-tuned, after a first training on as many other
pairs. Each is drawn for a load, bits of all answers for each trained parameter, and for exposures
of 5 to 1,000, as long as it takes at most 4,000 steps. One training each; facts are asked for as
often as they are seen. Baselines: the mean of all measured values, and 2 bits for each trained
parameter. Sets: `planned`, sixty models planned by the laws of that time; `more` and `attention`:
to these three `planner_law.py` fitted the law; `again`, twenty more that it planned. Cost: about
120 minutes of a core on a busy machine.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, plan, run
from recallscope.model.parameters import parameters_of
from recallscope.model.setup import Setup
from recallscope.problem.facts import facts_of
from recallscope.problem.frequencies import frequent_fraction
from recallscope.problem.long_values import text_of
from reproduction.studies.kept_runs import Row, run_rest, seed_from, write_table

HERE = Path(__file__).parent
SETS = {
    "planned": (20261125, 60, 12),
    "more": (20261126, 64, 20),
    "attention": (20261128, 16, 16),
    "again": (20261127, 20, 6),
}
"""Seed of the draw, number of models, and how many of them are adapted after a first training."""
FITTED = ("more", "attention")
"""Sets of which nothing was planned; the second is of LoRAs on what PEFT adapts if not asked."""
MOST_STEPS = {"planned": 4000, "more": 1500, "attention": 1500, "again": 4000}
BATCH = 256
TASKS = ("pairs", "relations", "biographies", "recall")
METRICS = ("recall-per-fact", "bits-per-parameter")
CONTEXTS = {"relations": 4, "recall": 8}
"""Tokens of a text in which a fact is found; elsewhere the text is the question."""
SAID = ("kind", "task", "layers", "dim", "rank", "zipf", "facts", "exposures", "law", "value")
BITS_OF_A_VALUE = 47.6 / 8  # of biographies, on average
TRAINING = {"learner": "adamw", "schedule": "cosine", "warmup": 0.05, "weight_decay": 0.0}


def config_of(kind: str, layers: int, dim: int) -> str:
    """A configuration of transformers, with no more positions than are needed."""
    if kind == "gpt2":
        sizes = {"n_layer": layers, "n_head": 2, "n_positions": 32}
        sizes |= {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    else:
        sizes = {"num_hidden_layers": layers, "num_attention_heads": 2, "num_key_value_heads": 2}
        sizes |= {"intermediate_size": 4 * dim, "max_position_embeddings": 32}
    return json.dumps({"model_type": kind, **sizes})


def asked(task: str, facts: int, dim: int, **options: object) -> Problem:
    """About so many facts of a task, for a model that is still to be said."""
    common = {"dim": dim, "model": "huggingface", "learning_rate": 0.003, **TRAINING, **options}
    # Otherwise a training set of as many samples as facts would not have all of them.
    common["fresh"] = task != "pairs" or "frequencies" in options
    if task == "pairs":
        return Problem.from_dict(
            {"vocab": 64, "samples": facts, "facts": facts, "length": 4, "task": task, **common}
        )
    if task == "relations":
        subjects = max(2, round(facts / 32))
        sizes = {"vocab": subjects, "samples": 32 * subjects, "relations": 32, "answers": 8}
        return Problem.from_dict({**sizes, "noise_tokens": 16, "length": 4, "task": task, **common})
    if task == "biographies":
        people = max(2, round(facts / 8))
        return Problem.from_dict(
            {"vocab": people, "samples": 8 * people, "length": 4, "task": task, **common}
        )
    sizes = {"vocab": facts, "samples": facts, "length": 8, "trigger": "marked-id"}
    return Problem.from_dict({**sizes, "task": task, **common})


def answers_of(problem: Problem) -> int:
    """How many answers a fact may have."""
    known = {"pairs": 64, "relations": 8, "biographies": round(2**BITS_OF_A_VALUE)}
    return known.get(problem.task, problem.vocab)


def exposures_of(problem: Problem) -> float:
    """How often each fact is seen, on average."""
    return problem["steps"] * problem["batch"] / facts_of(problem)


@cache
def draw(name: str) -> list[Problem]:
    """All models of a set; one that is adapted has no checkpoint yet."""
    seed, count, adapted = SETS[name]
    rng = np.random.default_rng(seed)
    found: list[Problem] = []
    while len(found) < count:
        place = len(found)
        method = "pretrain" if place < count - adapted else "lora"
        if method == "lora" and name not in ("planned", "attention") and place % 3 == 0:
            method = "full"
        task = TASKS[place % 4] if method == "pretrain" else "pairs"
        kind = ("gpt2", "llama")[place // 4 % 2]
        layers = 1 + place // 8 % 4
        dim = int(rng.choice([16, 24, 32, 48]))
        load = math.exp(rng.uniform(math.log(0.2), math.log(3)))
        exposures = math.exp(rng.uniform(math.log(5), math.log(1000)))
        options: dict[str, object] = {"config": config_of(kind, layers, dim)}
        if rng.random() < 0.25 and method == "pretrain":
            options |= {"frequencies": "zipf", "zipf_exponent": 1.0}
        if method == "lora":
            options |= {"rank": int(rng.choice([1, 2, 4, 8])), "learning_rate": 0.01}
            if name == "attention":
                options["target_modules"] = {"gpt2": "c_attn", "llama": "q_proj v_proj"}[kind]
        facts = 512
        for _ in range(3):  # some tasks bring parameters with their facts
            problem = asked(task, max(facts, 64), dim, **options)
            bits = math.log2(answers_of(problem))
            facts = round(load * parameters_of(problem).trained / bits)
            if not 64 <= facts <= 20_000:
                break
        seen = facts_of(problem)
        batch = min(BATCH, seen)
        steps = round(seen * exposures / batch)
        if not 64 <= facts <= 20_000 or not 20 <= steps <= MOST_STEPS[name]:
            continue
        found.append(problem.replace(batch=batch, steps=steps))
    return found


def method_of(name: str, index: int) -> str:
    """How a model of a set is trained: pretrain, lora or full."""
    _, count, adapted = SETS[name]
    if index < count - adapted:
        return "pretrain"
    return "lora" if draw(name)[index]["rank"] else "full"


def planned(problem: Problem, method: str) -> Row:
    """What plan says of a model."""
    zipf = problem["frequencies"] == "zipf"
    given: dict[str, object] = {"frequencies": "zipf", "zipf_exponent": 1.0} if zipf else {}
    if problem["rank"]:
        given |= {"rank": problem["rank"], "target_modules": "all-linear"}
    with tempfile.TemporaryDirectory() as folder:
        built = problem.part("model").build(Setup(problem=problem, seed=0, dtype="float32"))
        config = built.base_model.config if hasattr(built, "base_model") else built.config
        (Path(folder) / "config.json").write_text(json.dumps(config.to_dict(), default=str))
        found = plan(
            model=folder,
            method=method,
            facts=facts_of(problem),
            answers=answers_of(problem),
            exposures=exposures_of(problem),
            context=CONTEXTS.get(problem.task, 1),
            progress=False,
            **given,
        )
    if not found.laws:
        raise RuntimeError(f"no plan: {found.reason}")
    law = found.laws[0]
    row = {"law": law.law, "status": str(found.status), "limit": str(found.limit)}
    return row | {name: round(each, 4) for name, each in found.recall._asdict().items()}


def sizes_of(name: str, index: int) -> Row:
    """What a model of a set is, and what it is to learn."""
    problem = draw(name)[index]
    config = json.loads(text_of(problem["config"]))
    bits, facts = math.log2(answers_of(problem)), facts_of(problem)
    trained = parameters_of(problem).trained
    exponent = 1.0 if problem["frequencies"] == "zipf" else 0.0
    return (
        {"model": index, "kind": config["model_type"], "task": problem.task}
        | {"layers": config.get("n_layer", config.get("num_hidden_layers"))}
        | {"dim": problem.dim, "rank": problem["rank"] or 0, "zipf": exponent}
        | {"facts": facts, "trained": trained, "bits": round(bits, 3)}
        | {"exposures": round(exposures_of(problem), 1)}
        | {"two_bits": round(frequent_fraction(2 * trained / bits, facts, exponent), 4)}
        | {"method": method_of(name, index), "context": CONTEXTS.get(problem.task, 1)}
    )


def write_plans(name: str) -> None:
    """Every model of a set and its plan."""
    rows = []
    for index, problem in enumerate(draw(name)):
        rows.append(sizes_of(name, index) | planned(problem, method_of(name, index)))
        print(*rows[-1].values())
    write_table(rows, plans_of(name))


def plans_of(name: str) -> Path:
    """The table of the plans of a set."""
    return HERE / f"planner-{name}-plans.csv"


def runs_of(name: str) -> Path:
    """The table of the trainings of a set."""
    return HERE / f"planner-{name}.csv"


def trained(name: str, index: int) -> list[Row]:
    """One training; of a model that is adapted, first that of the model, on other facts."""
    torch.set_num_threads(1)
    # Nothing was planned of the set that laws are fitted to.
    first = SETS[name][0] * 10**6 if name in FITTED else seed_from(plans_of(name))
    problem, seed = draw(name)[index], first + index
    with tempfile.TemporaryDirectory() as folder:
        if method_of(name, index) != "pretrain":
            base = problem.replace(rank=0, target_modules="", learning_rate=0.003)
            base = base.replace(steps=min(max(base["steps"], 1000), 2000))
            learner = base.part("learner")
            outcome = learner.learn(Setup(problem=base, seed=seed + 10**6, dtype="float32"))
            outcome.module.model.save_pretrained(folder)
            problem = problem.replace(config="", checkpoint=folder)
        record = run(problem.replace(metrics=METRICS), seed, test_samples=4096)
    if record.status != "ok":
        raise RuntimeError(f"model {index}: {record.reason}")
    return [
        {"set": name, "model": index, "seed": seed, "recall": record.recall_accuracy}
        | {each.replace("-", "_"): record.metric(each) for each in METRICS}
        | {"final_loss": record.metrics["final_loss"], "steps": problem["steps"]}
        | {"seconds": round(record.provenance.elapsed_seconds, 1)}
    ]


def report(name: str) -> None:
    """Planned against measured."""
    rows, recall = judged(name)
    value, low, high, two = (
        np.array([float(row[each]) for row in rows])
        for each in ("value", "low", "high", "two_bits")
    )
    hard = (recall > 0.1) & (recall < 0.9)
    for some, chosen in (("all", hard | True), ("0.1 to 0.9", hard)):
        guesses = (value, recall.mean(), two)
        said, mean, bits = (np.abs(each - recall)[chosen].mean() for each in guesses)
        print(f"{some}: {chosen.sum()}, plan {said:.3f}, mean {mean:.3f}, 2 bits {bits:.3f}")
    inside = (recall >= low - 1e-9) & (recall <= high + 1e-9)
    print(f"inside: {inside.sum()} of {len(inside)}, median width {np.median(high - low):.2f}")
    for row, found in sorted(
        zip(rows, recall, strict=True), key=lambda e: -abs(float(e[0]["value"]) - e[1])
    ):
        named = (row[each] for each in SAID)
        print(*named, f"measured {found:.3f}")


def judged(name: str) -> tuple[list[dict[str, str]], np.ndarray]:
    """The plans of a set, and the recall measured."""
    with plans_of(name).open() as file:
        rows = list(csv.DictReader(file))
    with runs_of(name).open() as file:
        measured = {int(row["model"]): float(row["recall"]) for row in csv.DictReader(file)}
    return rows, np.array([measured[int(row["model"])] for row in rows])


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("plan", "run", "report"))
    parser.add_argument("set", choices=tuple(SETS))
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    if given.what == "plan":
        write_plans(given.set)
    elif given.what == "run":
        tasks = [(given.set, index) for index in range(SETS[given.set][1])]
        kept = runs_of(given.set).with_suffix(".jsonl")
        run_rest(trained, tasks, ("set", "model"), kept, given.processes)
    else:
        report(given.set)


if __name__ == "__main__":
    main()
