"""`recallscope critical`."""

from __future__ import annotations

from typing import Annotated

import typer

from recallscope.cli.execution import check_time_of_searches, place_from, resumable
from recallscope.cli.options import Asked, Quantity, Yes, takes
from recallscope.cli.output import output_from
from recallscope.cli.parsing import fill_in, problem_to_run, search_from, settings_from
from recallscope.cli.tables.measurement import print_critical
from recallscope.cli.theory import if_trained
from recallscope.common.csv_files import number_or_text


@takes("problem", "search", "tests", "where", "output", arrays=True)
def critical(
    asked: Asked,
    quantity: Quantity,
    seeds_passing: Annotated[
        str | None,
        typer.Option(metavar="FRACTION", help="Search for where so many seeds reach the target."),
    ] = None,
    yes: Yes = False,
) -> int:
    """Measure the size at which an accuracy crosses a target, with an interval.

    The smallest samples, dim or width, or the largest vocab or length. Exit code 1 if the target is
    not reached within the range, or if the runs failed. The table holds the points of the curve.

    \b
    Examples:
      recallscope critical --for samples --vocab 512 --dim 96 --length 16 --figure critical.pdf
      recallscope critical --for vocab --accuracy lock --target 0.9 --samples 8192 --dim 64 \\
          --length 64 --json
    """
    to = output_from(asked.output)
    fill_in(asked.problem, quantity)
    problem, arrays = problem_to_run(asked.problem, [quantity])
    how, settings = search_from(asked.search), settings_from(asked.tests, arrays)
    if seeds_passing is not None:
        how["seeds_passing"] = number_or_text(seeds_passing)
    place = place_from(asked.where)
    from recallscope.api.critical import critical as measure  # with torch, after mistakes are told
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.record import Status

    check_time_of_searches(problem, quantity, 1, how, settings, asked.where, yes)
    with ProgressDisplay("search") as display, resumable(place["store"]):
        found = measure(problem, quantity, **how, **settings, **place, progress=display.update)
    target_of = quantity, found.target, found.accuracy
    to.show(found, print_critical, lambda: if_trained(problem, *target_of))
    return 0 if found.status is Status.OK else 1
