"""The plane of m and d: recall after three steps and the first gradient's readout, and what limits.

    mlp_plane draw      # problems of the statement, predictions
    mlp_plane report    # numbers and docs/mlp-plane.png, from the bundle's runs

Runs are those of the statement mlp-regimes. Cells of
`mlp-limits` are drawn from the plane where recall is predicted between 0.05 and 0.95, and beyond it
from problems with other batches and lengths. Distractors should limit half of these. Predictions
are in mlp-plane-predictions.csv, committed before the runs.

Cost of the full size: 4,608 runs of the plane took 7 minutes of two busy cores. The measures were
first estimated at 0.25 s a run, which was wrong: a layer of 16,384 units takes 20 s. So the wider
layer became at most 2,048 units or twice as wide, and seeds two instead of four, before any measure
was looked at: 840 measures of five or six runs, 20 minutes of two cores.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recallscope import Problem, Record
from recallscope.common.csv_files import write_csv
from recallscope.plot.style import NOISES
from recallscope.theory.accuracy import accuracies
from recallscope.theory.problem_arrays import arrays_of
from reproduction.evidence import BUNDLE, Evidence
from reproduction.limits import PLANE, TARGET, Limited, border, limited, predicted_limits
from reproduction.noise_removal import ACCURACIES, changes, limiting
from reproduction.statements.mlp_regimes import MLP_LIMITS, MLP_PLANE

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[3]
PREDICTIONS = HERE / "mlp-plane-predictions.csv"
PROBLEMS = HERE.parents[1] / "statements" / "mlp-limits.csv"
PER_FACT = {"relu": 32, "tanh": 8}
LENGTH, NARROWEST, WIDEST, FEWEST = 8, 8, 4096, 12
# Facts, values of each axis, seeds; cells of the plane and others for each activation, their seeds.
SIZES = {
    "full": (256, 24, 4, 150, 60, 2),
    "short": (128, 12, 2, 30, 20, 2),
    "small": (128, 8, 3, 20, 20, 1),
}
FIELDS = ("activation", "samples", "dim", "length", "width")


def axis(low: int, high: int, count: int) -> list[int]:
    return np.unique(np.geomspace(low, high, count).round().astype(int)).tolist()


def predicted(problem: Problem) -> dict[str, dict[str, float]]:
    """Closed forms of both accuracies, as they are and after each change."""
    every = changes(problem)
    found = accuracies(arrays_of(list(every.values())))
    return {name: dict(zip(every, getattr(found, name), strict=True)) for name in ACCURACIES}


def is_hard(problem: Problem) -> bool:
    return 0.05 < accuracies(arrays_of(problem)).recall_accuracy[0] < 0.95


def elsewhere(rng: np.random.Generator, activation: str, vocab: int) -> Problem:
    """A problem of another batch and length."""
    return Problem(
        vocab=vocab,
        samples=round(vocab * math.exp(rng.uniform(math.log(0.5), math.log(32)))),
        dim=round(math.exp(rng.uniform(math.log(FEWEST), math.log(15 * vocab / 16)))),
        length=round(math.exp(rng.uniform(math.log(2), math.log(512)))),
        width=round(math.exp(rng.uniform(math.log(NARROWEST), math.log(WIDEST)))),
        activation=activation,
    )


def drawn(rng: np.random.Generator, activation: str, size: str) -> list[Problem]:
    """Cells of the plane, then others: half as they come, half that distractors should limit."""
    vocab, values, _, cells, others, _ = SIZES[size]
    plane = [
        Problem(
            vocab=vocab,
            samples=PER_FACT[activation] * vocab,
            dim=dim,
            length=LENGTH,
            width=width,
            activation=activation,
        )
        for dim in axis(FEWEST, 15 * vocab // 16, values)
        for width in axis(NARROWEST, WIDEST, values)
    ]
    plane = [problem for problem in plane if is_hard(problem)]
    chosen = rng.choice(len(plane), size=min(cells, len(plane)), replace=False)
    problems = [plane[place] for place in sorted(chosen)]
    for hidden in (False, True):
        count = 0
        while count < others // 2:
            problem = elsewhere(rng, activation, vocab)
            if not is_hard(problem):
                continue
            limit = limiting(predicted(problem)["recall_accuracy"])
            if not hidden or limit == "distractors":
                problems.append(problem)
                count += 1
    return problems


def draw() -> None:
    """Problems of each size in the table of the statement, and predictions of the full one."""
    rows: list[dict[str, object]] = []
    for size in SIZES:
        rng = np.random.default_rng(40)
        problems = [each for name in PER_FACT for each in drawn(rng, name, size)]
        rows += [
            {"size": size} | {name: getattr(each, name) for name in FIELDS} for each in problems
        ]
        if size == "full":
            write_predictions(problems)
    write_csv(rows, PROBLEMS)


def write_predictions(problems: list[Problem]) -> None:
    rows = []
    for problem in problems:
        found = predicted(problem)
        limit = {f"limit of {name}": limiting(found[name]) for name in ACCURACIES}
        values = {
            f"{name}_{change}": f"{value:.5f}"
            for name in ACCURACIES
            for change, value in found[name].items()
        }
        rows.append({name: getattr(problem, name) for name in FIELDS} | limit | values)
    names = list(dict.fromkeys(name for row in rows for name in row))
    with PREDICTIONS.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    for name in ACCURACIES:
        print(name, Counter((row["activation"], row[f"limit of {name}"]) for row in rows))


def plane_of(
    runs: list[Record], activation: str, accuracy: str
) -> tuple[list[int], list[int], np.ndarray, np.ndarray]:
    """Dimensions, widths, and an accuracy of each as measured and by closed forms."""
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    problems = {}
    for run in runs:
        if run.problem.activation == activation:
            place = (run.problem.width or 0, run.problem.dim)
            found[place].append(run.accuracy(accuracy)[0])
            problems[place] = run.problem
    dims, widths = (sorted({place[at] for place in found}) for at in (1, 0))
    order = [(width, dim) for width in widths for dim in dims]
    shape = len(widths), len(dims)
    said = getattr(accuracies(arrays_of([problems[each] for each in order])), accuracy)
    measured = np.array([np.mean(found[each]) for each in order])
    return dims, widths, measured.reshape(shape), said.reshape(shape)


def report() -> None:
    """Errors of the plane, what limits where, and the figure."""
    evidence = Evidence.at(BUNDLE)
    runs, limits = evidence.runs(MLP_PLANE), limited(evidence.runs(MLP_LIMITS))
    for accuracy in ACCURACIES:
        for name in PER_FACT:
            _, _, measured, said = plane_of(runs, name, accuracy)
            hard = (measured > 0.1) & (measured < 0.9)
            error = np.abs(said - measured)
            trivial = np.abs(measured - measured.mean())
            print(
                f"{accuracy}, {name}: {measured.size} cells, mean absolute error {error.mean():.4f}"
                f" (of the mean of all: {trivial.mean():.3f}); {hard.sum()} in 0.1 to 0.9: "
                f"{error[hard].mean():.4f}, at most {error.max():.3f}"
            )
        found = limits[accuracy]
        for name in (*PER_FACT, "both"):
            some = [each for each in found if name in ("both", each.problem.activation)]
            right = sum(each.measured == each.predicted for each in some)
            print(f"what limits {accuracy}, {name}: {right} of {len(some)} as predicted")
        pairs = Counter((each.predicted, each.measured) for each in found)
        for (said_so, is_so), count in sorted(pairs.items()):
            print(f"  predicted {said_so}, measured {is_so}: {count}")
    rows = evidence.rows(MLP_PLANE, *PLANE)
    for row in (each for name in PER_FACT for each in border(rows, name)):
        print(
            f"border, {row['activation']}: d={row['dim']}, m*={row['value']:.0f} "
            f"({row['low']:.0f} to {row['high']:.0f}), closed forms {row['theory']:.0f}, "
            f"{row['limit']}"
        )
    draw_figure(runs, limits["recall_accuracy"])


LOOKS = {  # of each noise that may limit recall
    "MLP noise": NOISES["mlp_noise"],
    "interference": NOISES["interference"],
    "mean bias": NOISES["mean_bias"],
    "distractors": NOISES["gradient_noise"],
    "sampling": NOISES["sampling"],
}


def label_places(lines: Any, dims: Sequence[float], widths: Sequence[float]) -> list[Any]:
    """Where each line crosses the diagonal of the plane: there its label is not cut off."""
    low, high = np.log([dims[0], widths[0]]), np.log([dims[-1], widths[-1]])
    places = []
    for path in lines.get_paths():
        along, up = ((np.log(path.vertices) - low) / (high - low)).T
        places.append(path.vertices[np.argmin(abs(along - up))])
    return places


def draw_figure(runs: list[Record], cells: list[Limited]) -> None:
    """Recall measured, recall by closed forms, and what limits it."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import ListedColormap

    figure, axes = plt.subplots(2, 3, figsize=(9.6, 6.2), layout="constrained", sharex=True)
    for row, name in zip(axes, PER_FACT, strict=True):
        dims, widths, measured, said = plane_of(runs, name, "recall_accuracy")
        for ax, values, title in zip(
            row, (measured, said), ("measured", "predicted"), strict=False
        ):
            shown = ax.pcolormesh(dims, widths, values, vmin=0, vmax=1, cmap="cividis")
            lines = ax.contour(dims, widths, values, [0.1, TARGET, 0.9], colors="white")
            ax.clabel(lines, fmt="%g", manual=label_places(lines, dims, widths))
            ax.set_title(f"{name}: recall {title}")
        example = next(run.problem for run in runs if run.problem.activation == name)
        grid = [example.replace(dim=dim, width=width) for width in widths for dim in dims]
        codes = [list(LOOKS).index(each) for each in predicted_limits(grid)["recall_accuracy"]]
        row[2].pcolormesh(
            dims,
            widths,
            np.reshape(codes, measured.shape),
            vmin=0,
            vmax=len(LOOKS) - 1,
            cmap=ListedColormap([colour for colour, _ in LOOKS.values()]),
            alpha=0.35,
        )
        here = [
            each
            for each in cells
            if each.problem.replace(dim=example.dim, width=example.width) == example
        ]
        for noise, (colour, marker) in LOOKS.items():
            some = [each.problem for each in here if each.measured == noise]
            x, y = [each.dim for each in some], [each.width for each in some]
            style = {"c": colour, "marker": marker, "edgecolors": "black"}
            row[2].scatter(x, y, s=22, linewidths=0.5, label=noise if some else None, **style)
        row[2].set_title(f"{name}: what limits it")
        row[0].set_ylabel("m, units of the MLP")
        for ax in row:
            ax.set(xscale="log", yscale="log")
            ax.set_xticks([16, 32, 64, 128], labels=["16", "32", "64", "128"])
            ax.set_xticks([], minor=True)
            ax.set_yticks([10, 100, 1000], labels=["10", "100", "1000"])
    for ax in axes[1]:
        ax.set_xlabel("d, dimensions")
    figure.colorbar(shown, ax=axes[:, :2], label="recall", location="bottom", shrink=0.5)
    handles = {}
    for ax in axes[:, 2]:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    note = "area: predicted; marks: measured"
    place = {"loc": "lower right", "ncols": 2, "fontsize": 8, "title_fontsize": 8}
    figure.legend(handles.values(), handles.keys(), title=note, **place)
    figure.savefig(ROOT / "docs" / "mlp-plane.png", dpi=160)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["draw", "report"])
    {"draw": draw, "report": report}[parser.parse_args().what]()


if __name__ == "__main__":
    main()
