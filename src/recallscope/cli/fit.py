"""`recallscope fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope.cli.execution import place_from, resumable
from recallscope.cli.options import (
    Csv,
    Dtype,
    Figure,
    Json,
    QuantityIfAny,
    Source,
    TestSamples,
    asks_for_a_problem,
    asks_for_a_search,
    asks_where_to_run,
    refuse_all_but,
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
from recallscope.cli.tables.measurement import print_law
from recallscope.cli.tables.output import print_json
from recallscope.problem import ProblemError

if TYPE_CHECKING:
    from recallscope.measurement.scaling import Scaling


@asks_for_a_problem(arrays=True)
@asks_for_a_search()
@asks_where_to_run()
def fit(
    context: typer.Context,
    options: dict[str, Any],
    how: dict[str, Any],
    where: dict[str, Any],
    quantity: QuantityIfAny = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS", help="dim=32:128:5, or dim=32,64,96; once for each size."),
    ] = None,
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float32",
    source: Source = None,
    csv: Csv = None,
    figure: Figure = None,
    as_json: Json = False,
) -> int:
    """Measure the power law of a critical size: exponents with intervals, and if it is one.

    Sizes are varied one at a time about the problem given. The table holds the critical sizes, and
    --from fits such a table without a run. Exit code 1 if the law is undetermined.

    \b
    Examples:
      recallscope fit --for samples --accuracy one-step --vocab 256 --dim 100 --length 16 \\
          --vary dim=64:160:5 --vary length=8:32:5 --csv law.csv --figure law.pdf
      recallscope fit --from law.csv --json
    """
    from recallscope.common.csv_files import read_csv, write_csv
    from recallscope.measurement import scaling
    from recallscope.statistics.power_law import FitStatus

    table, picture = csv_path(csv), figure_path(figure)
    if source is not None:
        refuse_all_but(("source", "csv", "figure", "as_json"), context)
        found = scaling.scaling_from_rows(read_csv(source))
    else:
        found = _measure(options, how, where, quantity, vary or [], test_samples, dtype)
    if table is not None:
        write_csv(found.rows(), table)
    if picture is not None:
        from recallscope.plotting.scaling import scaling_figure
        from recallscope.plotting.style import save

        save(scaling_figure(found.figure_data()), picture)
    if as_json:
        print_json(found.to_dict())
    else:
        print_law(found)
    return 1 if found.law.status is FitStatus.UNDETERMINED else 0


def _measure(
    options: dict[str, Any],
    how: dict[str, Any],
    where: dict[str, Any],
    quantity: str | None,
    vary: list[str],
    test_samples: str,
    dtype: str,
) -> Scaling:
    """Search for the critical size of every problem about the one given."""
    from recallscope.api.fit import fit as measure
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.measurement.axis import check_varied, parse_axis

    if quantity is None or not vary:
        raise ProblemError("a law needs --for and --vary, as in --for samples --vary dim=32:128:5")
    axes = [parse_axis(each) for each in vary]
    check_varied(axes, quantity)
    for axis in axes:
        if options[axis.name] is None:
            raise ProblemError(
                f"sizes are varied one at a time about a problem; give --{axis.name} too"
            )
    fill_in(options, quantity)
    problem, arrays = problem_to_run(options, [quantity, *(axis.name for axis in axes)])
    settings = settings_from(test_samples, dtype, arrays)
    asked, place = search_from(how), place_from(where)
    with ProgressDisplay("searches") as display, resumable():
        return measure(
            problem,
            quantity,
            axes,
            **asked,
            **place,
            **as_arguments(settings),
            progress=display.update,
        )
