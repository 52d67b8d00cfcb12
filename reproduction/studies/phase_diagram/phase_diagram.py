"""Recall over d and N at a short and a long L, measured and predicted: docs/phase-diagram.png.

The first page shows the same without regions and crosses: docs/phase-diagram-plain.png.

    phase_diagram             # simulate, write the table and the figure, report
    phase_diagram --seeds 4   # with fewer seeds, sooner
    phase_diagram --report    # from the table that is there

A record is a pure function of its problem and seed, so the study can be stopped and started at
will: each finished run is one line of a file of records and is never run again.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from recallscope import Problem, Record, Status, run
from recallscope.common.csv_files import read_csv, write_csv
from recallscope.experiment.record import Provenance
from recallscope.measure.phase_diagram import PhaseCell, PhaseDiagram
from recallscope.measure.planes import from_rows, phase_diagram, plan
from recallscope.plot.phase_diagram import phase_diagram_figure
from recallscope.plot.style import save
from recallscope.problem.axes import parse_axis
from recallscope.problem.metrics import ACCURACIES
from reproduction.recorded_names import with_todays_names

VOCAB = 512
LENGTHS = (4, 128)
SEEDS = 16
X, Y = parse_axis("dim=16:256:30"), parse_axis("samples=256:65536:30")
SIZES = ("vocab", "samples", "dim", "length")
FIELDS = (*SIZES, "seed", "status", "reason", "test_samples", *ACCURACIES)
HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
RECORDS = HERE / "phase_diagram-records.csv"
TABLE = HERE / "phase_diagram.csv"
DOCS = ROOT / "docs"
TITLE = f"Closed forms predict where half of {VOCAB} facts are recalled"


def planned(seeds: int) -> list[tuple[Problem, int]]:
    """A seed of every cell of both planes, then the next: a part of the study is a study."""
    cells = len(X.values) * len(Y.values)
    problems = [Problem(vocab=VOCAB, samples=1, dim=1, length=length) for length in LENGTHS]
    return [
        each
        for turn in range(seeds)
        for problem in problems
        for each in plan(problem, X, Y, seeds=1, first=turn * cells)
    ]


def simulate(seeds: int) -> None:
    torch.set_num_threads(1)
    done = {key(row) for row in read_csv(RECORDS)} if RECORDS.exists() else set()
    left = [each for each in planned(seeds) if key(line(*each)) not in done]
    fresh = not RECORDS.exists()
    with RECORDS.open("a", newline="", buffering=1) as file:
        writer = csv.DictWriter(file, FIELDS)
        if fresh:
            writer.writeheader()
        for number, (problem, seed) in enumerate(left, start=1):
            record = run(problem, seed, dtype="float32")
            writer.writerow(line(problem, seed, record))
            if number % 900 == 0 or number == len(left):
                print(f"{number} of {len(left)} runs", flush=True)


def line(problem: Problem, seed: int, record: Record | None = None) -> dict[str, object]:
    sizes: dict[str, object] = {name: getattr(problem, name) for name in SIZES}
    results = {name: getattr(record, name, None) for name in FIELDS[len(SIZES) + 1 :]}
    return sizes | {"seed": seed} | results


def key(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in (*SIZES, "seed"))


def load() -> list[Record]:
    made = Provenance(
        engine=None, dtype="float32", device="cpu", versions={}, revision=None, elapsed_seconds=0.0
    )
    return [
        Record(
            problem=Problem(**{name: row[name] for name in SIZES}),
            provenance=made,
            **{name: row[name] for name in FIELDS[len(SIZES) :]}
            | {"status": Status(row["status"])},
        )
        for row in read_csv(RECORDS)
    ]


def diagrams(records: list[Record], accuracy: str = "recall_accuracy") -> list[PhaseDiagram]:
    return [
        phase_diagram(
            [record for record in records if record.problem.length == length],
            X.name,
            Y.name,
            accuracy,
        )
        for length in LENGTHS
    ]


def report(diagram: PhaseDiagram) -> None:
    """How many cells disagree, by how much and where."""
    sizes = ", ".join(f"{name}={diagram.shared[name]}" for name in ("vocab", "length"))
    print(f"\n{diagram.accuracy}, {sizes}, {diagram.seeds} seeds, {diagram.failed} runs failed")
    groups: dict[str, list[PhaseCell]] = defaultdict(list)
    for cell in diagram.cells:
        groups["all cells"].append(cell)
        groups[f"bound by {cell.stage} {cell.term}"].append(cell)
    for name, cells in sorted(groups.items()):
        differences = np.array([cell.difference for cell in cells])
        size = np.abs(differences)
        wrong = [cell for cell in cells if cell.disagrees]
        worst = max((abs(cell.difference or 0) for cell in wrong), default=0.0)
        above = sum((cell.difference or 0) > 0 for cell in wrong)
        print(
            f"  {name}: {len(wrong)} of {len(cells)} disagree ({len(wrong) / len(cells):.1%}), "
            f"{above} of them predicted too high, the worst by {worst:.3f}; predicted minus "
            f"measured: mean {differences.mean():+.4f}, mean size {size.mean():.4f}, "
            f"95th percentile {np.quantile(size, 0.95):.4f}"
        )


def draw(found: list[PhaseDiagram]) -> None:
    """All that is known, and the same with colour, points and line alone."""
    data = [diagram.to_dict() for diagram in found]
    save(phase_diagram_figure(data), DOCS / "phase-diagram.png")
    unmarked = {"stage": None, "term": None, "disagrees": False}
    for diagram in data:
        diagram["cells"] = [cell | unmarked for cell in diagram["cells"]]
    figure = phase_diagram_figure(data, width=6.75, caption=False)
    for axes, diagram in zip(figure.axes, data, strict=False):
        axes.set_title(f"sequences of {diagram['problem']['length']} tokens", fontsize=7.5)
    figure.suptitle(TITLE, fontsize=9)
    legend = figure.legends[0]  # of which the last names the crosses
    handles, texts = legend.legend_handles[:-1], legend.get_texts()[:-1]
    legend.remove()
    labels = [text.get_text() for text in texts]
    figure.legend(handles, labels, loc="outside lower center", fontsize=7, frameon=False)
    save(figure, DOCS / "phase-diagram-plain.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    if not arguments.report:
        simulate(arguments.seeds)
        write_csv([row for each in diagrams(load()) for row in each.rows()], TABLE)
    found = from_rows(with_todays_names(read_csv(TABLE)))
    draw(found)
    for diagram in found:
        report(diagram)


if __name__ == "__main__":
    main()
