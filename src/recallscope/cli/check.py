"""`recallscope check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from recallscope.cli import output
from recallscope.cli.options import (
    Activation,
    AsJson,
    Batch,
    Dim,
    EmbeddingFamily,
    Eta,
    Field,
    Figure,
    FigureWidth,
    Gamma,
    Learner,
    LearningRate,
    Length,
    Metric,
    Model,
    NoCaption,
    Regime,
    Samples,
    Seeds,
    Steps,
    Table,
    Task,
    TriggerInValues,
    Vocab,
    Width,
)
from recallscope.cli.parsing import problem_to_run
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.checks import whole_number
from recallscope.common.csv_files import number_or_text

if TYPE_CHECKING:
    from recallscope.measure.check_report import CheckReport


def check(
    context: typer.Context,
    vocab: Vocab = "256",
    samples: Samples = "1024",
    dim: Dim = "32",
    length: Length = "48",
    width: Width = None,
    activation: Activation = None,
    embedding: EmbeddingFamily = "sphere",
    trigger_in_values: TriggerInValues = False,
    regime: Regime = "limit",
    eta: Eta = None,
    gamma: Gamma = None,
    task: Task = "recall",
    model: Model = "transformer",
    learner: Learner = "three-step",
    learning_rate: LearningRate = None,
    steps: Steps = None,
    batch: Batch = None,
    metric: Metric = None,
    field: Field = None,
    seeds: Seeds = "16",
    table: Table = None,
    figure: Figure = None,
    figure_width: FigureWidth = None,
    no_caption: NoCaption = False,
    as_json: AsJson = False,
) -> int:
    """Compare every closed form with Monte Carlo, around one small problem.

    Each size is halved and doubled; levels and slopes are compared. Exit code 1 if a term fails.

    \b
    Examples:
      recallscope check --figure check.png
      recallscope check --width 256 --trigger-in-values --json
      recallscope check --embedding structured --field spectrum=1
    """
    from recallscope.measure.check import check as measure

    options = dict(context.params)
    shown = output.output_from(options)
    problem, arrays = problem_to_run(options)
    count = whole_number("seeds", number_or_text(seeds), 2)
    with ProgressDisplay(f"{count} seeds") as display:
        report = measure(problem, count, embeddings=arrays, progress=display.update)
    shown.show(report, _print_check)
    return 1 if report.failed else 0


def _print_check(report: CheckReport) -> None:
    output.print_problem(report.problem)
    rows, last = [], None
    for c in report.comparisons:
        name = f"{c.stage}: {c.term}".replace("_", " ")
        slopes = (f"{c.measured_slope:.2f} ± {c.slope_error:.2f}", f"{c.predicted_slope:.2f}")
        label = "" if name == last else name
        rows.append((label, c.size, f"{c.ratio:.2f}", *slopes, c.verdict))
        last = name
    output.print_table(("noise", "along", "ratio", "slope", "theory", "verdict"), rows, slice(2, 5))
    print(
        "Ratio: measured over predicted. Slope: of logarithms, measured from means over "
        f"{report.seeds} instances ± a standard error; next to it the theory's."
    )
    unclear = sum(c.verdict == "unclear" for c in report.comparisons)
    names = ", ".join(f"{term} of {stage}" for stage, term in report.failed)
    output.say(
        unclear
        and f"{unclear} of {len(report.comparisons)} comparisons are unclear: take more seeds.",
        f"FAILED: {names.replace('_', ' ')}." if names else "No closed form failed.",
    )
