"""The figures of docs/end-of-training.md, from the tables of its studies.

end_of_training/end_figures
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.picture import picture_figure
from recallscope.plot.style import save
from reproduction.studies.learned_embeddings.learned import parameters, stored_facts
from reproduction.studies.memories import memory_edge
from reproduction.studies.saturation import saturation

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a study."""
    with path.open() as file:
        return list(csv.DictReader(file))


def draw(name: str, picture: Picture, width: float = 6.75) -> None:
    """Save a picture for the page, which has its caption."""
    save(picture_figure(picture, "", width=width, caption=False), DOCS / name)


def with_bars(label: str, points: list[tuple[float, float, float, float]]) -> Series:
    """Measured points: where, what, and from where to where."""
    x, y, low, high = map(list, zip(*points, strict=True))
    return Series(label=label, kind=Kind.MEASURED, x=x, y=y, low=low, high=high)


def edge_picture() -> None:
    """c(V) of a linear memory, and recall around the capacity threshold."""
    by_vocab = {
        vocab: {float(dim) ** 2: recalls for dim, recalls in by_dim.items()}
        for vocab, by_dim in memory_edge.linear_recalls().items()
    }
    constants = []
    for target in memory_edge.TARGETS:
        found = {
            vocab: [each / (vocab * math.log(vocab)) for each in memory_edge.crossing(by, target)]
            for vocab, by in by_vocab.items()
        }
        found = {vocab: each for vocab, each in found.items() if math.isfinite(each[0])}
        constants.append(
            Series(
                label=f"measured, recall {target:g}",
                kind=Kind.MEASURED,
                x=list(found),
                y=[each[0] for each in found.values()],
                low=[each[1] for each in found.values()],
                high=[each[2] for each in found.values()],
                colour=len(constants),
            )
        )
    fine = [64, 128, 256, 512, 1024, 2048, 4096, 8192]
    for colour, target in enumerate(memory_edge.TARGETS):
        derived = [memory_edge.at_target(v, target) / (v * math.log(v)) for v in fine]
        constants.append(
            Series(
                label=f"derived, recall {target:g}",
                kind=Kind.THEORY,
                x=fine,
                y=derived,
                colour=colour,
            )
        )
    ends = [fine[0], fine[-1]]
    constants.append(
        Series(label="published: 1.3 at 0.99", kind=Kind.REFERENCE, x=ends, y=[1.3, 1.3])
    )
    around = []
    for colour, vocab in enumerate((64, 512, 4096)):
        by = by_vocab[vocab]
        full = memory_edge.full_square(vocab).parameters
        sizes = sorted(by)
        means = [float(np.mean(by[size])) for size in sizes]
        errors = [1.96 * float(np.std(by[size])) / math.sqrt(len(by[size])) for size in sizes]
        around.append(
            Series(
                label=f"V={vocab}, measured",
                kind=Kind.MEASURED,
                x=[size / full for size in sizes],
                y=means,
                low=[m - e for m, e in zip(means, errors, strict=True)],
                high=[m + e for m, e in zip(means, errors, strict=True)],
                colour=colour,
            )
        )
        shares = np.linspace(0.8, 1.12, 17)
        around.append(
            Series(
                label=f"V={vocab}, derived",
                kind=Kind.THEORY,
                x=shares.tolist(),
                y=[memory_edge.derived(vocab, share * full) for share in shares],
                colour=colour,
            )
        )
    panels = [
        Panel(
            title="capacity threshold",
            x="facts V",
            y="c = d²/(V ln V)",
            series=constants,
            log_x=True,
        ),
        Panel(title="around it", x="parameters/threshold", y="recall", series=around),
    ]
    draw("end-edge.png", Picture(caption="", panels=panels))


def samples_picture() -> None:
    """Critical samples of three steps and after training, along each size."""
    rows = [row for row in table(HERE / "after-training.csv") if row["scale"] == "large"]
    base = {"vocab": "256", "dim": "96", "length": "32"}
    panels = []
    for name, label in (("vocab", "facts V"), ("dim", "dimension d"), ("length", "length L")):
        series = []
        for learner in ("three-step", "adam"):
            mine = [
                row
                for row in rows
                if row["learner"] == learner
                and all(row[other] == base[other] for other in base if other != name)
            ]
            mine.sort(key=lambda row: int(row[name]))
            called = {"three-step": "three steps", "adam": "trained"}[learner]
            columns = (name, "value", "low", "high")
            points = [tuple(float(row[each]) for each in columns) for row in mine]
            series.append(with_bars(called, points))
        panels.append(
            Panel(
                title=f"along {name}",
                x=label,
                y="critical samples",
                series=series,
                log_x=True,
                log_y=True,
            )
        )
    draw("end-samples.png", Picture(caption="", panels=panels))


def learned_picture() -> None:
    """Facts stored at 0.9 by learned and by frozen embeddings."""
    found = list(stored_facts())

    def series(study: str, label: str, x: list[float]) -> Series:
        mine = [each[2:] for each in found if each[0] == study]
        return with_bars(label, [(at, *each) for at, each in zip(x, mine, strict=True)])

    dims = {
        study: [float(each[1]) for each in found if each[0] == study]
        for study in ("quick", "frozen", "equal")
    }
    trained = [parameters(each[2], each[1]) for each in found if each[0] == "quick"]
    panels = [
        Panel(
            title="at equal d",
            x="dimension d",
            y="facts stored at 0.9",
            log_y=True,
            series=[
                series("quick", "learned, 30 steps", dims["quick"]),
                series("frozen", "frozen, minimum", dims["frozen"]),
            ],
        ),
        Panel(
            title="at equal trained parameters",
            x="trained parameters",
            y="facts stored at 0.9",
            log_x=True,
            log_y=True,
            series=[
                series("quick", "learned, 30 steps", trained),
                series("equal", "frozen, minimum", [dim**2 for dim in dims["equal"]]),
            ],
        ),
    ]
    draw("end-learned.png", Picture(caption="", panels=panels))


def saturation_picture() -> None:
    """What later steps add, and what the first ones predict."""
    every = list(saturation.points())
    gains, areas = [], []
    for samples in sorted({point.samples for point in every}):
        mine = [point for point in every if point.samples == samples]
        # One or two seeds that differ from the rest are too few for an area under the curve.
        enough = [
            point for point in mine if 3 <= round(point.found * point.seeds) <= point.seeds - 3
        ]
        label = f"N={samples:g}"
        gains.append(with_bars(label, [(point.saturation, *point.gain) for point in mine]))
        if enough:
            areas.append(with_bars(label, [(point.saturation, *point.area) for point in enough]))
    ends = [saturation.SATURATIONS[0], saturation.SATURATIONS[-1]]
    panels = [
        Panel(
            title="what later steps add",
            x="saturation s",
            y="attention accuracy gained",
            series=[*gains, Series(label="none", kind=Kind.REFERENCE, x=ends, y=[0, 0])],
            log_x=True,
        ),
        Panel(
            title="what the early cosine predicts",
            x="saturation s",
            y="AUC, 0.5 is chance",
            y_from=0.5,
            series=areas,
            log_x=True,
        ),
    ]
    most = max(point.gain[0] for point in every)
    last = max(point.gain[0] for point in every if point.saturation == ends[1])
    title = f"Later steps add up to {most:.2f} to attention, at s = {ends[1]:g} at most {last:.2f}"
    draw("end-saturation.png", Picture(caption="", panels=panels, title=title))


if __name__ == "__main__":
    edge_picture()
    samples_picture()
    learned_picture()
    saturation_picture()
