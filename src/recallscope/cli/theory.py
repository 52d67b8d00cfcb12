"""The commands of closed forms: predict, solve, bound, check."""

from __future__ import annotations

from typing import Any

from recallscope.cli.options import (
    Accuracy,
    Figure,
    Json,
    Quantity,
    Seeds,
    Target,
    asks_for_a_problem,
)
from recallscope.cli.parsing import (
    closed_form_problem,
    figure_path,
    fill_in,
    own_arrays,
    problem_from,
)
from recallscope.cli.tables.output import print_either, print_json
from recallscope.cli.tables.theory import (
    print_bound,
    print_check,
    print_prediction,
    print_solution,
)
from recallscope.common.csv_files import number_or_text
from recallscope.problem import whole_number
from recallscope.record import accuracy_name


@asks_for_a_problem()
def predict(
    options: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Predict the accuracies from closed forms, and say which noise binds.

    \b
    Examples:
      recallscope predict --vocab 512 --samples 8192 --dim 64 --length 32
      recallscope predict --vocab 1e9 --samples 1e13 --dim 16384 --length 1e6 --json
    """
    from recallscope.theory import capacity

    _, options["embedding"] = own_arrays(options["embedding"])
    found = capacity.predict(problem_from(**options))
    print_either(as_json, found.to_dict(), print_prediction, found)


@asks_for_a_problem()
def solve(
    options: dict[str, Any],
    quantity: Quantity,
    target: Target = "0.5",
    accuracy: Accuracy = "recall",
    as_json: Json = False,
) -> int:
    """Find the size that reaches a target accuracy, all else given.

    The smallest samples, dim or width, or the largest vocab or length; exit 1 if there is none.

    \b
    Examples:
      recallscope solve --for samples --target 0.9 --vocab 512 --dim 128 --length 16
      recallscope solve --for vocab --samples 1e6 --dim 256 --length 64
    """
    from recallscope.record import Status
    from recallscope.theory import capacity

    fill_in(options, quantity)
    problem = closed_form_problem(options)
    found = capacity.solve(problem, quantity, number_or_text(target), accuracy_name(accuracy))
    print_either(as_json, found.to_dict(), print_solution, found)
    return 0 if found.status is Status.OK else 1


@asks_for_a_problem()
def bound(
    options: dict[str, Any],
    target: Target = "0.5",
    as_json: Json = False,
) -> None:
    """Lower bound for estimators that see only the first gradient.

    \b
    Examples:
      recallscope bound --vocab 512 --samples 8192 --dim 64 --length 32
      recallscope bound --vocab 512 --samples 8192 --dim 64 --length 16 --width 256 --target 0.9
    """
    from recallscope.theory import lower_bound

    # The bound on N needs no N; with one, it also says how much V that N allows.
    options["samples"] = options["samples"] or "inf"
    problem = closed_form_problem(options)
    found = lower_bound.bound(problem, number_or_text(target))
    document = {"problem": problem.to_dict() | {"key": problem.key}, "bound": found.to_dict()}
    print_either(as_json, document, print_bound, problem, found)


@asks_for_a_problem(vocab="256", samples="1024", dim="32", length="48")
def check(
    options: dict[str, Any],
    seeds: Seeds = "16",
    figure: Figure = None,
    as_json: Json = False,
) -> int:
    """Compare every closed form with Monte Carlo, around one small problem.

    Each size is halved and doubled; levels and slopes are compared. Exit code 1 if a term fails.

    \b
    Examples:
      recallscope check --figure check.png
      recallscope check --width 256 --trigger-in-values --json
    """
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.validation.check import check as run_check

    problem = closed_form_problem(options)
    count = whole_number("seeds", number_or_text(seeds), 2)
    path = figure_path(figure)
    with ProgressDisplay(f"{count} seeds") as display:
        report = run_check(problem, count, display.update)
    if path is not None:
        from recallscope.plotting.check import check_figure
        from recallscope.plotting.style import save

        save(check_figure(report.to_dict()), path)
    if as_json:
        print_json(report.to_dict())
    else:
        print_check(report)
    return 1 if report.failed else 0
