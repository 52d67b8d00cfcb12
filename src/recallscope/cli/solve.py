"""`recallscope solve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope.cli import output
from recallscope.cli.if_trained import if_trained, print_solved_if_trained
from recallscope.cli.options import (
    Accuracy,
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
    Law,
    Learner,
    LearningRate,
    Length,
    Metric,
    Model,
    NoCaption,
    OptionalQuantity,
    Regime,
    Samples,
    Steps,
    Table,
    Target,
    Task,
    TriggerInValues,
    Vocab,
    Width,
)
from recallscope.cli.parsing import fill_in, problem_to_run
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError
from recallscope.plot.labels import accuracy_label
from recallscope.problem.axes import axis_field
from recallscope.theory.scope import exposures, scope

if TYPE_CHECKING:
    from recallscope.theory.budgets import Allocation
    from recallscope.theory.required_size import Solution


def solve(
    context: typer.Context,
    quantity: OptionalQuantity = None,
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
    target: Target = "0.5",
    accuracy: Accuracy = "recall",
    within: Annotated[
        str | None,
        typer.Option(metavar="BUDGET", help="As parameters=1e6, tokens=1e7, compute=1e12."),
    ] = None,
    law: Law = None,
    table: Table = None,
    figure: Figure = None,
    figure_width: FigureWidth = None,
    no_caption: NoCaption = False,
    as_json: AsJson = False,
) -> int:
    """Find the size that reaches a target accuracy, all else given.

    It is the smallest samples, dim or width, or the largest vocab or length; exit 1 if there is
    none.

    With --within, find the best sizes within a budget. Parameters are spent on dim and width (or no
    MLP), tokens (samples × length) on samples, and compute (parameters × tokens) on all three.
    Parameters include frozen ones and embeddings: 2(V+1)d + 2d² for attention alone, and
    2(V+1)d + d² + 2md with an MLP.

    \b
    Examples:
      recallscope solve --for samples --target 0.9 --vocab 512 --dim 128 --length 16
      recallscope solve --for vocab --samples 1e6 --dim 256 --length 64
      recallscope solve --for samples --vocab 256 --dim 64 --length 8 \\
        --embedding structured --field common_mean=0.5
      recallscope solve --within parameters=1e5 --vocab 512 --samples 8192 --length 16
    """
    from recallscope.theory import solve as theory
    from recallscope.theory.budgets import FREE, budget_from

    options = dict(context.params)
    shown = output.output_from(options)
    if quantity is None and within is None:
        raise ProblemError("Missing option '--for' or '--within'; see recallscope solve --help")
    for size in [quantity] if quantity else FREE[budget_from(within or "")[0]]:
        fill_in(options, size)
    problem, arrays = problem_to_run(options)
    find: Any = theory.solve
    how = {"accuracy": accuracy, "within": within, "embeddings": arrays, "law": law}
    with ProgressDisplay("sizes" if within else "tables") as display:
        solution = find(problem, quantity, number_or_text(target), **how, progress=display.update)
    if within is not None:
        shown.show(solution, _print_allocation)
        return 0
    target_of = quantity, solution.target, solution.accuracy
    shown.show(solution, _print_solution, lambda: if_trained(problem, *target_of))
    return 0 if solution.status == "ok" else 1


def _print_solution(solution: Solution) -> None:
    print_solved_if_trained(solution.problem, solution.quantity, solution.target, solution.accuracy)
    print(scope(solution.problem))
    if solution.value is None:
        print(f"No {solution.quantity} reaches {solution.target:g}: {solution.reason}.")
        output.print_extrapolated([solution.problem])
        return
    at = solution.prediction.accuracies.get(solution.accuracy)
    predicted = "not known" if at is None else f"{at:.4f}"
    grows = axis_field(solution.quantity, solution.problem.parts()).grows
    extreme = "smallest" if grows else "largest"
    name = "vocab (facts)" if solution.quantity == "vocab" else solution.quantity
    accuracy = solution.accuracy.replace("_", " ")
    print(
        f"{name} = {solution.value}, the {extreme} that reaches {accuracy} {solution.target:g} "
        f"(predicted {predicted})"
    )
    if solution.reason:
        print(f"{output.capital(solution.reason)}.")
    if solution.range != (None, None):
        low, high = ("none" if end is None else end for end in solution.range)
        print(
            f"From {low} to {high}, if the prediction is off by as much as at the measured "
            "problems nearest to this one."
        )
    law, kind = solution.prediction.law, solution.prediction.kind
    print(f"{exposures(solution.problem)}. Law: {law}, {kind}.")
    output.print_extrapolated([solution.problem])


def _print_allocation(allocation: Allocation) -> None:
    from recallscope.theory.budgets import COUNTED

    print(scope(allocation.problem))
    accuracy, limit = accuracy_label(allocation.accuracy), f"{allocation.limit:,}"
    print(f"The highest {accuracy} within {limit} {allocation.budget}:")
    rows = []
    for row, prediction in zip(allocation.rows(), allocation.predictions, strict=True):
        value, low, high, _ = prediction.estimates[allocation.accuracy]
        between = None if low is None or high is None else f"{low:.4f} to {high:.4f}"
        sizes = (row[name] or "none" for name in allocation.sizes)
        rows.append((*sizes, f"{row['spent']:,}", f"{value:.4f}", between, prediction.status))
    output.print_table(
        (*allocation.sizes, allocation.budget, "predicted", "90 % interval", "status"), rows
    )
    print(COUNTED)
    print(f"{exposures(allocation.problem)}. Law: {prediction.law}, {prediction.kind}.")
    output.print_extrapolated([allocation.problem])
