"""`recallscope train`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from recallscope.cli.execution import check_time
from recallscope.cli.options import (
    Activation,
    AsJson,
    Batch,
    Device,
    Dim,
    Dtype,
    Embedding,
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
    Seed,
    Steps,
    Table,
    Task,
    TestSamples,
    TriggerInValues,
    Vocab,
    Width,
    Yes,
)
from recallscope.cli.output import output_from, print_problem
from recallscope.cli.parsing import problem_to_run, seeds_from
from recallscope.common.csv_files import number_or_text

if TYPE_CHECKING:
    from recallscope.measure.training_curve import TrainingCurve


def train(
    context: typer.Context,
    vocab: Vocab = None,
    samples: Samples = None,
    dim: Dim = None,
    length: Length = None,
    width: Width = None,
    activation: Activation = None,
    embedding: Embedding = "sphere",
    trigger_in_values: TriggerInValues = False,
    regime: Regime = "limit",
    eta: Eta = None,
    gamma: Gamma = None,
    task: Task = "recall",
    model: Model = "transformer",
    learner: Learner = "adam",
    learning_rate: LearningRate = None,
    steps: Steps = None,
    batch: Batch = None,
    metric: Metric = None,
    field: Field = None,
    seed: Seed = "0",
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float32",
    device: Device = "cpu",
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Resume from it, and save to it every few seconds."),
    ] = None,
    table: Table = None,
    figure: Figure = None,
    figure_width: FigureWidth = None,
    no_caption: NoCaption = False,
    as_json: AsJson = False,
    yes: Yes = False,
) -> int:
    """Train once, and watch attention and recall along the way.

    \b
    Examples:
      recallscope train --vocab 256 --samples 2048 --dim 64 --length 16 --figure curve.png
      recallscope train --vocab 256 --samples 2048 --dim 36 --length 16 --learner gd --steps 400
      recallscope train --vocab 256 --samples 2048 --dim 64 --length 16 --checkpoint half
    """
    options = dict(context.params)
    output = output_from(options)
    problem, arrays = problem_to_run(options)
    from recallscope.measure.train import train as measure  # loads torch: after the checks
    from recallscope.three_step.cost import predict_cost

    cost = predict_cost(problem, dtype=dtype)
    if cost.known:
        check_time(cost.seconds, yes, "ask for fewer steps")
    training = measure(
        problem,
        seeds_from("1", seed)[1],
        test_samples=number_or_text(test_samples),
        dtype=dtype,
        device=device,
        embeddings=arrays,
        checkpoint=checkpoint,
        watch=_show,
        progress=False,
    )
    output.show(training, _print_training)
    return 0 if training.record.status == "ok" else 1


def _show(seen: Mapping[str, float]) -> None:
    """One line for each look, as it is taken; standard output is for the result."""
    seen_now = "  ".join(f"{name} {value:.3f}" for name, value in seen.items() if name != "step")
    print(f"step {seen['step']:7.0f}  {seen_now}", file=sys.stderr, flush=True)


def _print_training(training: TrainingCurve) -> None:
    """How it ended, and what the first steps would have predicted."""
    print_problem(training.problem)
    print(training)
    if training.early is not None:
        print(
            f"After three steps, by closed forms: recall {training.early.recall_accuracy:.4f}, "
            f"attention {training.early.attention_accuracy:.4f}."
        )
