"""`recallscope critical`."""

from __future__ import annotations

from typing import Any

from recallscope.cli.execution import place_from, resumable
from recallscope.cli.options import (
    Csv,
    Dtype,
    Figure,
    Json,
    Quantity,
    TestSamples,
    asks_for_a_problem,
    asks_for_a_search,
    asks_where_to_run,
)
from recallscope.cli.parsing import (
    as_arguments,
    csv_path,
    figure_path,
    fill_in,
    problem_to_run,
    search_from,
    settings_from,
)
from recallscope.cli.tables.measurement import print_critical
from recallscope.cli.tables.output import print_json


@asks_for_a_problem(arrays=True)
@asks_for_a_search()
@asks_where_to_run()
def critical(
    options: dict[str, Any],
    how: dict[str, Any],
    where: dict[str, Any],
    quantity: Quantity,
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float32",
    csv: Csv = None,
    figure: Figure = None,
    as_json: Json = False,
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
    from recallscope.api.critical import critical as measure
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.common.csv_files import write_csv
    from recallscope.record import Status

    table, picture = csv_path(csv), figure_path(figure)
    fill_in(options, quantity)
    problem, arrays = problem_to_run(options, [quantity])
    settings = settings_from(test_samples, dtype, arrays)
    asked, place = search_from(how), place_from(where)
    with ProgressDisplay("search") as display, resumable():
        found = measure(
            problem, quantity, **asked, **place, **as_arguments(settings), progress=display.update
        )
    if table is not None:
        write_csv(found.curve, table)
    if picture is not None:
        from recallscope.plotting.critical import critical_figure
        from recallscope.plotting.style import save

        save(critical_figure(found.figure_data()), picture)
    if as_json:
        print_json(found.to_dict())
    else:
        print_critical(found)
    return 0 if found.status is Status.OK else 1
