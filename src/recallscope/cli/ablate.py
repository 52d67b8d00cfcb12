"""`recallscope ablate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recallscope.cli import output
from recallscope.cli.execution import check_time_of, place_from, resumable
from recallscope.cli.options import (
    Accuracy,
    Activation,
    Address,
    AsJson,
    Batch,
    Device,
    Dim,
    Dtype,
    EmbeddingFamily,
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
    named,
)
from recallscope.cli.parsing import no_arrays, problem_from, seeds_from, settings_from
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.status import Status
from recallscope.problem.metrics import accuracy_name

if TYPE_CHECKING:
    from recallscope.measure.ablation import Ablations

NAMES = ("embedding", "mlp", "trigger", "steps", "batch", "gaussian")
"""A copy of those of ablations, which take long to import; a test compares them."""


def ablate(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        named(NAMES, argument=True, more="; all that apply if none is given."),
    ] = None,
    vocab: Vocab = None,
    samples: Samples = None,
    dim: Dim = None,
    length: Length = None,
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
    seed: Seed = "0",
    accuracy: Accuracy = "recall",
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
    """Change one thing at a time, and compare accuracies at the same seeds.

    Exit code 1 if a run failed.

    \b
    Examples:
      recallscope ablate --vocab 512 --samples 8192 --dim 64 --length 32 --figure ablations.pdf
      recallscope ablate mlp trigger --vocab 512 --samples 8192 --dim 64 --length 32 --width 256
    """
    options = dict(context.params)
    shown = output.output_from(options)
    changes = names or []
    no_arrays(options, "are not ablated; compare them with recallscope run")
    problem = problem_from(options)
    count, first = seeds_from(seeds, seed)
    settings, place = settings_from(options), place_from(options)
    from recallscope.measure.ablate import ablate as measure  # loads torch: after the checks
    from recallscope.measure.ablation import named, plan

    runs = plan(named(changes, problem, accuracy_name(accuracy)), 1, first)
    check_time_of(runs, count, settings, options, yes)
    how = {"seeds": count, "seed": first, **settings, **place}
    with ProgressDisplay("ablations") as display, resumable(place["store"]):
        ablations = measure(problem, changes, accuracy, progress=display.update, **how)
    shown.show(ablations, _print_ablations)
    output.print_reasons(ablations.records)
    failed = any(record.status is Status.FAILED for record in ablations.records)
    return 1 if failed or not any(result.pairs for result in ablations.results) else 0


def _print_ablations(ablations: Ablations) -> None:
    results = ablations.results
    output.print_problem(ablations.problem)
    rows = []
    for result in results:
        name, a, b, _ = result.ablation
        means = (output.number(mean and mean.mean, ".3f") for mean in (result.a, result.b))
        seen = result.difference and "{:+.3f}\n{:+.3f} to {:+.3f}".format(*result.difference)
        rows.append((f"{name}\n{a.label} → {b.label}", *means, seen, result.verdict))
    output.print_table(("ablation", "A", "B", "B − A, 95 % interval", "verdict"), rows, slice(1, 4))
    for result in results:
        name = result.ablation.name
        output.say(
            result.ablation.note and f"{name}: {result.ablation.note}.",
            result.verdict == "no difference seen"
            and f"{name}: a difference of up to {result.largest:.3f} is not excluded.",
            (result.failed or result.infeasible)
            and f"{name}: {result.failed} pairs with a failed and {result.infeasible} with an "
            "infeasible run are left out.",
        )
    most = {name: max(getattr(result, name) for result in results) for name in ("pairs", "tests")}
    print(
        f"Means over {most['pairs']} seeds, the same in both arms, tested on {most['tests']} fresh "
        "samples each."
    )
