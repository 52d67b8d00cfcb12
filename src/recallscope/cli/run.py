"""`recallscope run`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from recallscope.cli import output
from recallscope.cli.execution import check_time, place_from
from recallscope.cli.options import (
    Activation,
    Address,
    AsJson,
    Batch,
    Device,
    Dim,
    Dtype,
    Embedding,
    Engine,
    Eta,
    Executor,
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
    Seeds,
    Steps,
    Store,
    Table,
    Task,
    TestSamples,
    TriggerInValues,
    Vocab,
    Width,
    Workers,
    Yes,
)
from recallscope.cli.parsing import problem_to_run, seeds_from, settings_from
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.machine import available_cores
from recallscope.training.ended import how_many_ended

if TYPE_CHECKING:
    from recallscope.experiment.record import Record
    from recallscope.sweeps.run_result import RunResult

_COLUMNS = {
    "attention": "attention_accuracy",
    "recall": "recall_accuracy",
    "first gradient": "first_gradient_accuracy",
    "signal": "score_signal",
    "noise": "score_noise",
    "cos(α, t)": "trigger_cosine",
}


def run(
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
    learner: Learner = "three-step",
    learning_rate: LearningRate = None,
    steps: Steps = None,
    batch: Batch = None,
    metric: Metric = None,
    field: Field = None,
    seed: Seed = "0",
    seeds: Seeds = "1",
    engine: Engine = "auto",
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float32",
    device: Device = "cpu",
    store: Store = None,
    executor: Executor = "serial",
    workers: Workers = None,
    address: Address = None,
    table: Table = None,
    figure: Figure = None,
    figure_width: FigureWidth = None,
    no_caption: NoCaption = False,
    as_json: AsJson = False,
    yes: Yes = False,
) -> int:
    """Run one experiment at one or more seeds.

    \b
    Examples:
      recallscope run --vocab 512 --samples 8192 --dim 64 --length 32 --seeds 16
      recallscope run --vocab 512 --samples 8192 --dim 64 --length 16 --width 256
      recallscope run --vocab 512 --samples inf --dim 64 --length 32 --json
    """
    options = dict(context.params)
    shown = output.output_from(options)
    problem, arrays = problem_to_run(options)
    count, first = seeds_from(seeds, seed)
    settings, place = settings_from(options, arrays), place_from(options)
    from recallscope.experiment import experiment
    from recallscope.sweeps.run import run as measure  # loads torch: after the checks
    from recallscope.three_step.cost import predict_cost

    experiment.check_run(problem, **settings)
    how = {name: settings[name] for name in ("engine", "test_samples", "dtype")}
    experiment.check_memory(problem, **how)
    cost = predict_cost(problem, **how)
    if cost.known:
        # The population of three steps is computed without samples, and in the limit regime only.
        steps = problem.part("learner").closed_form
        by_population = steps and problem.regime == "limit"
        instead = "--samples inf" if by_population else "smaller sizes"
        at_once = min(count, available_cores())
        check_time(count * cost.seconds / at_once, yes, f"ask for {instead}")
    with ProgressDisplay(f"{count} seed{'s' if count > 1 else ''}") as display:
        runs = measure(problem, first, seeds=count, progress=display.update, **settings, **place)
    shown.show(runs, print_run)
    return 0 if runs.ok else 1


def print_run(runs: RunResult) -> None:
    problem, records, summary = runs.problem, runs.records, runs.summary
    made = records[0].provenance
    output.print_problem(problem)
    print(
        f"key {problem.key}, {made.engine} engine, {made.dtype}, "
        f"{sum(record.provenance.elapsed_seconds for record in records):.2f} s"
    )
    rows = []
    for record in records:
        cells = (output.number(getattr(record, name), ".3f") for name in _COLUMNS.values())
        rows.append((record.seed, record.status, *cells))
    output.print_table(("seed", "status", *_COLUMNS), rows, right=slice(2, None))
    output.print_reasons(records)
    tested = [record for record in records if record.test_samples]
    for name, mean in summary.items():
        print(
            f"{name.replace('_', ' '):23} {mean.mean:.4f}  "
            f"(95 % interval {mean.low:.4f} to {mean.high:.4f})"
        )
    _print_metrics(records)
    if tested:
        seeds = f"{len(tested)} seeds" if len(tested) > 1 else "one seed"
        print(
            f"Intervals are for the mean over all seeds, from {seeds} tested on "
            f"{tested[0].test_samples} fresh samples each."
        )


def _print_metrics(records: Sequence[Record]) -> None:
    """Means of numbers; of lists that there are any."""
    lists = []
    for name in dict.fromkeys(name for record in records for name in record.metrics):
        values = [record.metrics[name] for record in records if name in record.metrics]
        numbers = [value for value in values if isinstance(value, (int, float))]
        if name == "ended":
            print(f"{name:23} {how_many_ended(numbers)}")
        elif numbers:
            print(f"{name:23} {sum(numbers) / len(numbers):.4g}")
        else:
            lists.append(name)
    if lists:
        print(f"Lists of numbers, with --json: {', '.join(lists)}.")
