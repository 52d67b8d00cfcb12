"""The commands of closed forms: predict, solve, bound, check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope.cli.options import Accuracy, Asked, LawName, QuantityIfAny, Seeds, Target, takes
from recallscope.cli.output import output_from
from recallscope.cli.parsing import closed_form_problem, fill_in, problem_to_run
from recallscope.cli.tables.theory import (
    print_allocation,
    print_bound,
    print_check,
    print_prediction,
    print_solution,
)
from recallscope.common.csv_files import number_or_text
from recallscope.common.formatting import format_duration
from recallscope.problem import Problem, ProblemError, whole_number

if TYPE_CHECKING:
    from recallscope.cli.progress import ProgressDisplay

_PATIENCE = 10.0  # seconds that a command may be silent


@takes("problem", "output", arrays=True)
def predict(asked: Asked, law: LawName = None) -> int:
    """Predict the accuracies by a law, and say what they come from; exit 1 if there is none.

    With --learner adam (or gd, muon, converged) recall at the end of training, by the law that was
    found for it.

    \b
    Examples:
      recallscope predict --vocab 512 --samples 8192 --dim 64 --length 32
      recallscope predict --vocab 512 --samples 8192 --dim 64 --length 32 --learner adam
      recallscope predict --vocab 1e9 --samples 1e13 --dim 16384 --length 1e6 --json
      recallscope predict --vocab 512 --samples 4096 --dim 64 --length 8 \\
        --embedding structured --field common_mean=0.7
    """
    from recallscope.api.predict import predict as find
    from recallscope.cli.progress import ProgressDisplay

    to = output_from(asked.output)
    problem, arrays = problem_to_run(asked.problem)
    with ProgressDisplay("tables") as display:
        _say_if_long(display, problem, law)
        found = find(problem, embeddings=arrays, law=law, progress=display.update)
    to.show(found, print_prediction, lambda: if_trained(problem))
    return 0 if found.law is not None else 1


def if_trained(problem: Problem, *sought: Any) -> dict[str, Any]:
    """What training comes to, or the size that it needs, for a document next to three steps."""
    from recallscope.theory.if_trained import predict_if_trained, solve_if_trained

    found = solve_if_trained(problem, *sought) if sought else predict_if_trained(problem)
    return {} if found is None else {"if_trained": found.to_dict()}


def _say_if_long(display: ProgressDisplay, problem: Problem, law: str | None) -> None:
    """Say how long a law will take: products of a large table cannot report how far they are."""
    from recallscope.theory.choosing import choose

    choice = choose(problem, law=law)
    seconds = 0.0 if choice.name is None else choice.law.seconds(problem)
    if seconds > _PATIENCE:
        display.say(f"the prediction takes about {format_duration(seconds)}")


@takes("problem", "output")
def solve(
    asked: Asked,
    quantity: QuantityIfAny = None,
    target: Target = "0.5",
    accuracy: Accuracy = "recall",
    within: Annotated[
        str | None,
        typer.Option(metavar="BUDGET", help="As parameters=1e6, tokens=1e7, compute=1e12."),
    ] = None,
    law: LawName = None,
) -> int:
    """Find the size that reaches a target accuracy, all else given.

    The smallest samples, dim or width, or the largest vocab or length; exit 1 if there is none.

    Or the best sizes within a budget: parameters are spent on dim and width (or no MLP), tokens
    (samples × length) on samples, compute (parameters × tokens) on all three. Parameters are
    trained and frozen ones, embeddings too: 2(V+1)d + 2d² for attention alone, 2(V+1)d + d² + 2md
    with an MLP.

    \b
    Examples:
      recallscope solve --for samples --target 0.9 --vocab 512 --dim 128 --length 16
      recallscope solve --for vocab --samples 1e6 --dim 256 --length 64
      recallscope solve --for samples --vocab 256 --dim 64 --length 8 \\
        --embedding structured --field common_mean=0.5
      recallscope solve --within parameters=1e5 --vocab 512 --samples 8192 --length 16
    """
    from recallscope.api import theory
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.record import Status
    from recallscope.theory.budgets import FREE, budget_from

    if quantity is None and within is None:
        raise ProblemError("Missing option '--for' or '--within'; see recallscope solve --help")
    to = output_from(asked.output)
    for size in [quantity] if quantity else FREE[budget_from(within or "")[0]]:
        fill_in(asked.problem, size)
    problem, arrays = problem_to_run(asked.problem)
    find: Any = theory.solve
    how = {"accuracy": accuracy, "within": within, "embeddings": arrays, "law": law}
    with ProgressDisplay("sizes" if within else "tables") as display:
        found = find(problem, quantity, number_or_text(target), **how, progress=display.update)
    if within is not None:
        to.show(found, print_allocation)
        return 0
    target_of = quantity, found.target, found.accuracy
    to.show(found, print_solution, lambda: if_trained(problem, *target_of))
    return 0 if found.status is Status.OK else 1


@takes("problem", "output")
def bound(asked: Asked, target: Target = "0.5") -> None:
    """Lower bound for estimators that see only the first gradient.

    \b
    Examples:
      recallscope bound --vocab 512 --samples 8192 --dim 64 --length 32
      recallscope bound --vocab 512 --samples 8192 --dim 64 --length 16 --width 256 --target 0.9
    """
    from recallscope.api.theory import bound as find

    to = output_from(asked.output)
    # The bound on N needs no N; with one, it also says how much V that N allows.
    asked.problem["samples"] = asked.problem["samples"] or "inf"
    to.show(find(closed_form_problem(asked.problem), number_or_text(target)), print_bound)


@takes("problem", "output", vocab="256", samples="1024", dim="32", length="48")
def check(asked: Asked, seeds: Seeds = "16") -> int:
    """Compare every closed form with Monte Carlo, around one small problem.

    Each size is halved and doubled; levels and slopes are compared. Exit code 1 if a term fails.

    \b
    Examples:
      recallscope check --figure check.png
      recallscope check --width 256 --trigger-in-values --json
      recallscope check --embedding structured --field spectrum=1
    """
    from recallscope.api.check import check as measure
    from recallscope.cli.progress import ProgressDisplay

    to = output_from(asked.output)
    problem, arrays = problem_to_run(asked.problem)
    count = whole_number("seeds", number_or_text(seeds), 2)
    with ProgressDisplay(f"{count} seeds") as display:
        report = measure(problem, count, embeddings=arrays, progress=display.update)
    to.show(report, print_check)
    return 1 if report.failed else 0
