"""Is SmolLM2-135M on two cores predicted, by the law and by a probe?

    published_runs/smollm2 probe --model FILE.gguf    # law and probes, committed before the runs
    published_runs/smollm2 run --model FILE.gguf      # an hour; resumes
    published_runs/smollm2 report

Eleven runs differ in facts, method, batch, rate and wording, and end once recall is 0.9. Five have
a probe before. The facts follow from the seed below, the order of training from the hash of the
predictions.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recallscope import teach
from recallscope.planning.given_facts import given_facts
from recallscope.planning.inputs import Inputs
from recallscope.planning.probe import probed
from recallscope.planning.shape import shape_from_config
from recallscope.planning.teaching_plan import TeachingPlan, make_teaching_plan
from recallscope.theory.published_runs import fitted_runs
from reproduction.studies.kept_runs import keep, kept, seed_from, table, write_table
from reproduction.studies.own_facts.invented_facts import invented_facts

HERE = Path(__file__).parent
PREDICTED, RUNS = HERE / "smollm2-predictions", HERE / "smollm2-runs"
CONFIG = Path(__file__).parents[3] / "examples" / "models" / "smollm2-135m.json"
TARGETS = (0.5, 0.9)
OF_PROBE = ("facts", "batch", "exposures", "recall", "half", "slope", "seconds")
SEED, SAMPLE, MINUTES, PROBE_MINUTES, MOST_EXPOSURES = 1000, 125, 12, 6, 60
FULL, LORA = 1e-3, 2e-3  # usual rates
CASES: list[dict[str, Any]] = [
    {"facts": 125, "rank": None, "batch": 32, "rate": FULL, "wording": "sentence", "probe": True},
    {"facts": 250, "rank": None, "batch": 32, "rate": FULL, "wording": "question", "probe": True},
    {"facts": 250, "rank": 16, "batch": 32, "rate": LORA, "wording": "question", "probe": True},
    {"facts": 125, "rank": 2, "batch": 32, "rate": LORA, "wording": "question", "probe": False},
    {"facts": 125, "rank": None, "batch": 125, "rate": FULL, "wording": "question", "probe": False},
    {"facts": 500, "rank": None, "batch": 128, "rate": FULL, "wording": "sentence", "probe": True},
    {"facts": 125, "rank": 16, "batch": 32, "rate": LORA / 3, "wording": "sentence", "probe": True},
    {"facts": 250, "rank": None, "batch": 128, "rate": FULL / 3, "wording": "sentence"},
    {"facts": 250, "rank": 2, "batch": 128, "rate": LORA, "wording": "question"},
    {"facts": 250, "rank": 16, "batch": 128, "rate": LORA, "wording": "sentence"},
    {"facts": 1000, "rank": None, "batch": 128, "rate": FULL, "wording": "question"},
]
CASES = [{"case": place, "probe": False, **case} for place, case in enumerate(CASES)]


def fact_file(case: dict[str, Any], folder: Path) -> Path:
    """The facts of a case, which no other has."""
    path = folder / "facts.jsonl"
    facts = invented_facts(case["facts"], SEED + case["case"], case["wording"])
    path.write_text("\n".join(map(json.dumps, facts)))
    return path


def plan_of(case: dict[str, Any], facts: Path) -> TeachingPlan:
    """What the law says of a case."""
    shape = shape_from_config(CONFIG)
    inputs = Inputs(
        method="full" if case["rank"] is None else "lora",
        shape=shape,
        facts=case["facts"],
        exposures=None,
        rank=case["rank"],
        modules=() if case["rank"] is None else tuple(shape.matrices()),
        batch=case["batch"],
    )
    return make_teaching_plan(inputs, 0.9, given_facts(facts, None))


def predicted(plan: TeachingPlan) -> dict[str, float]:
    """Exposures to one half and 0.9, with the ends of their 90 % intervals."""
    return {
        f"{name}_{end}": value
        for name, reached in zip(("half", "nine"), plan.reached, strict=True)
        for end, value in reached.exposures._asdict().items()
    }


def probe(model: Path) -> None:
    """Predict every case by the law, and those with a probe by that too; resumes."""
    path = PREDICTED.with_suffix(".jsonl")
    done = {(row["case"], row["by"]) for row in kept(path)}
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            plan = plan_of(case, fact_file(case, Path(folder)))
            if (case["case"], "law") not in done:
                keep([{"case": case["case"], "by": "law", **predicted(plan)}], path)
            if case["probe"] and (case["case"], "probe") not in done:
                after = probed(plan, model, PROBE_MINUTES, case["rate"], say=print)
                assert after.probe is not None
                row = {"case": case["case"], "by": "probe", **predicted(after)}
                row |= {
                    f"probe_{name}": getattr(after.probe, name)
                    for name in (
                        "facts",
                        "batch",
                        "exposures",
                        "recall",
                        "half",
                        "slope",
                        "seconds",
                    )
                }
                print(row, flush=True)
                keep([row], path)
    rows = sorted(kept(path), key=lambda row: (row["by"], row["case"]))
    names = dict.fromkeys(name for row in rows for name in row)
    write_table([{name: row.get(name) for name in names} for row in rows], path.with_suffix(".csv"))


def run(model: Path) -> None:
    """Teach every case until 0.9 of a sample are recalled; resumes."""
    path = RUNS.with_suffix(".jsonl")
    seed = seed_from(PREDICTED.with_suffix(".csv")) % 2**31
    done = {row["case"] for row in kept(path)}
    for case in CASES:
        if case["case"] in done:
            continue
        with tempfile.TemporaryDirectory() as folder:
            taught = teach(
                fact_file(case, Path(folder)),
                model,
                rank=case["rank"],
                exposures=MOST_EXPOSURES,
                batch=case["batch"],
                rate=case["rate"],
                every=math.ceil(case["facts"] / case["batch"]),
                sample=SAMPLE,
                until=0.9,
                minutes=MINUTES,
                seed=seed + case["case"],
                progress=False,
            )
        ended = {
            "status": str(taught.status),
            "half": taught.exposures_to(0.5),
            "nine": taught.exposures_to(0.9),
            "exposures": taught.exposures,
            "recall": taught.recall,
            "seconds": taught.seconds,
            "looks": [[look.exposures, look.recall] for look in taught.looks],
        }
        print(case, ended, flush=True)
        keep([{**case, **ended}], path)
    rows = sorted(kept(path), key=lambda row: row["case"])
    write_table(
        [{**row, "looks": json.dumps(row["looks"])} for row in rows], path.with_suffix(".csv")
    )


def report() -> None:
    """Factors between what was predicted and measured, and whether intervals have it."""
    runs = {row["case"]: row for row in table(RUNS)}
    for name, target in zip(("half", "nine"), TARGETS, strict=True):
        published = [math.log(float(run[name])) for run in fitted_runs() if run[name] > 0]
        constant = math.exp(statistics.mean(published))
        off = [abs(math.log(float(run[name]) / constant)) for run in runs.values()]
        print(f"constant {constant:.1f} to {target}: {_summary(off, [0.0])}")
    for by in ("law", "probe"):
        rows = [row for row in table(PREDICTED) if row["by"] == by and row["case"] in runs]
        for name, target in zip(("half", "nine"), TARGETS, strict=True):
            factors, widths, inside = [], [], 0
            for row in rows:
                measured = runs[row["case"]][name]
                if measured == "":
                    print(f"case {row['case']:.0f} did not reach {target}")
                    continue
                factors.append(abs(math.log(measured / row[f"{name}_value"])))
                widths.append(math.log(row[f"{name}_high"] / row[f"{name}_low"]) / 2)
                inside += row[f"{name}_low"] <= measured <= row[f"{name}_high"]
                print(
                    f"{by:5} case {row['case']:2.0f} to {target}: {measured:5.1f}, predicted "
                    f"{row[f'{name}_value']:5.1f} ({row[f'{name}_low']:.1f} to "
                    f"{row[f'{name}_high']:.1f})"
                )
            print(f"{by:5} to {target}: {_summary(factors, widths)}, {inside} of {len(factors)}")


def _summary(factors: Sequence[float], widths: Sequence[float]) -> str:
    if not factors:
        return "none"
    median, worst = math.exp(statistics.median(factors)), math.exp(max(factors))
    width = math.exp(statistics.median(widths))
    return f"a factor of {median:.2f} (median), {worst:.2f} (worst), intervals {width:.2f}"


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("probe", "run"):
        commands.add_parser(name).add_argument("--model", type=Path, required=True)
    commands.add_parser("report")
    asked = parser.parse_args()
    if asked.command == "report":
        report()
    else:
        {"probe": probe, "run": run}[asked.command](asked.model)


if __name__ == "__main__":
    main()
