"""`recallscope critical`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recallscope.cli.execution import check_time_of_searches, place_from, resumable
from recallscope.cli.if_trained import if_trained, print_solved_if_trained
from recallscope.cli.options import (
    Accuracy,
    Activation,
    Address,
    AsJson,
    Batch,
    Budget,
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
    High,
    Learner,
    LearningRate,
    Length,
    Low,
    Metric,
    Model,
    NoCaption,
    NoTheory,
    Precision,
    Quantity,
    Regime,
    Samples,
    Seed,
    Steps,
    Store,
    Table,
    Target,
    Task,
    TestSamples,
    TriggerInValues,
    Vocab,
    Width,
    Workers,
    Yes,
)
from recallscope.cli.output import capital, output_from, print_extrapolated, print_problem, say
from recallscope.cli.parsing import fill_in, problem_to_run, search_from, settings_from
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.csv_files import number_or_text
from recallscope.theory.scope import exposures, scope

if TYPE_CHECKING:
    from recallscope.measure.critical_size import CriticalSize


def critical(
    context: typer.Context,
    quantity: Quantity,
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
    target: Target = "0.5",
    accuracy: Accuracy = "recall",
    low: Low = None,
    high: High = None,
    precision: Precision = "0.1",
    budget: Budget = "64",
    seed: Seed = "0",
    no_theory: NoTheory = False,
    seeds_passing: Annotated[
        str | None,
        typer.Option(
            metavar="FRACTION",
            help="Search for the size at which this fraction of seeds reaches the target.",
        ),
    ] = None,
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
    """Measure the size at which an accuracy crosses a target, with an interval.

    It is the smallest samples, dim or width, or the largest vocab or length. Exit code 1 if the
    target is not reached within the range, or if the runs failed. The table has the points of the
    curve.

    \b
    Examples:
      recallscope critical --for samples --vocab 512 --dim 96 --length 16 --figure critical.pdf
      recallscope critical --for vocab --accuracy attention --target 0.9 --samples 8192 --dim 64 \\
          --length 64 --json
    """
    options = dict(context.params)
    output = output_from(options)
    fill_in(options, quantity)
    problem, arrays = problem_to_run(options, [quantity])
    how, settings = search_from(options), settings_from(options, arrays)
    if seeds_passing is not None:
        how["seeds_passing"] = number_or_text(seeds_passing)
    place = place_from(options)
    from recallscope.measure.critical import critical as measure  # loads torch: after the checks

    check_time_of_searches(problem, quantity, 1, how, settings, options, yes)
    with ProgressDisplay("search") as display, resumable(place["store"]):
        size = measure(problem, quantity, **how, **settings, **place, progress=display.update)
    target_of = quantity, size.target, size.accuracy
    output.show(size, _print_critical, lambda: if_trained(problem, *target_of))
    return 0 if size.status == "ok" else 1


def _print_critical(size: CriticalSize) -> None:
    print_solved_if_trained(size.problem, size.quantity, size.target, size.accuracy)
    print_problem(size.problem, size.quantity)
    if size.value is None:
        result = f"{size.status}: {size.reason}."
    else:
        low, high = (
            "outside of the range" if end is None else end for end in (size.low, size.high)
        )
        what = f"{size.accuracy.replace('_', ' ')} crosses {size.target:g}"
        if size.seeds_passing is not None:
            what = f"{100 * size.seeds_passing:g} % of seeds reach {size.target:g}"
        result = (
            f"{size.quantity} = {size.value}, where {what} (95 % interval from {low} to {high}); "
            f"{exposures(size.problem.replace(**{size.quantity: size.value}))}"
        )
    predicted = "not at any size" if size.theory is None else size.theory
    say(
        scope(size.problem),
        result,
        f"{capital(size.without_theory)}."
        if size.without_theory
        else f"Predicted by closed forms: {predicted}.",
    )
    if not size.without_theory:
        print_extrapolated(size.predicted_at)
    ends = "" if size.ended is None else f": {size.ended}"
    say(
        f"From {size.evaluations} runs, each with a separate seed{ends}.",
        size.all_or_nothing
        and f"Seeds are all-or-nothing here: {size.all_or_nothing}."
        + (
            " --seeds-passing 0.9 searches for the size at which nine in ten do."
            * (not size.seeds_passing)
        ),
        (size.failures or size.infeasible)
        and f"{size.failures} of them failed and {size.infeasible} were infeasible; "
        "they are left out.",
    )
