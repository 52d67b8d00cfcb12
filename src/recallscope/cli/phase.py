"""`recallscope phase`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope.cli.execution import check_time_of, place_from, resumable
from recallscope.cli.options import (
    ACCURACIES,
    Csv,
    Dtype,
    Figure,
    Json,
    Seed,
    Seeds,
    Source,
    TestSamples,
    Yes,
    asks_for_a_problem,
    asks_where_to_run,
    given_options,
    one_of,
    refuse_all_but,
)
from recallscope.cli.parsing import (
    as_arguments,
    csv_path,
    figure_path,
    fill_in,
    problem_to_run,
    seeds_from,
    selection_from,
    settings_from,
)
from recallscope.cli.tables.measurement import print_phase
from recallscope.cli.tables.output import print_json
from recallscope.common.csv_files import number_or_text
from recallscope.problem import ProblemError
from recallscope.record import accuracy_name

if TYPE_CHECKING:
    from recallscope.measurement.phase_diagram import PhaseDiagram

_WITH_FROM = ("source", "target", "csv", "figure", "as_json")


@asks_for_a_problem(arrays=True)
@asks_where_to_run()
def phase(
    context: typer.Context,
    options: dict[str, Any],
    where: dict[str, Any],
    x: Annotated[
        str | None, typer.Option(metavar="AXIS", help="dim=16:256:30, or dim=16,32,64.")
    ] = None,
    y: Annotated[
        str | None, typer.Option(metavar="AXIS", help="samples=512:65536:30; boundary along it.")
    ] = None,
    seeds: Seeds = "4",
    seed: Seed = "0",
    accuracy: Annotated[str | None, one_of(ACCURACIES, show_default="recall")] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="The accuracy to cross, between 0 and 1.", show_default="0.5"
        ),
    ] = None,
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float32",
    yes: Yes = False,
    source: Source = None,
    csv: Csv = None,
    figure: Figure = None,
    as_json: Json = False,
) -> int:
    """Measure accuracy over a plane of two sizes, and compare it with the theory.

    Every cell has seeds of its own. Exit code 1 if a run failed.

    \b
    Examples:
      recallscope phase --x dim=16:256:12 --y samples=256:65536:12 --vocab 512 --length 4 \\
          --csv phase.csv --figure phase.pdf
      recallscope phase --from phase.csv --figure phase.svg
      recallscope phase --from facts --x dim --y samples --embedding sphere --figure facts.pdf
    """
    from recallscope.common.csv_files import read_csv, write_csv
    from recallscope.measurement import phase as measurement

    table, picture = csv_path(csv), figure_path(figure)
    if source is not None and _is_store(source):
        refuse_all_but([*_WITH_FROM, "x", "y", "accuracy", *options], context)
        asked = (accuracy or "recall", target or "0.5")
        chosen = selection_from(options, given_options(context))
        diagrams = [_from_store(chosen, source, x, y, *asked)]
    elif source is not None:
        refuse_all_but(_WITH_FROM, context)
        share = None if target is None else number_or_text(target)
        diagrams = measurement.from_rows(read_csv(source), share)
    else:
        asked = (accuracy or "recall", target or "0.5")
        tested = (test_samples, dtype)
        diagrams = [_measure(options, where, x, y, seeds, seed, *asked, *tested, yes)]
    if table is not None:
        write_csv([row for diagram in diagrams for row in diagram.rows()], table)
    if picture is not None:
        from recallscope.plotting.phase_diagram import phase_diagram_figure
        from recallscope.plotting.style import save

        save(phase_diagram_figure([diagram.to_dict() for diagram in diagrams]), picture)
    if as_json:
        documents = [diagram.to_dict() for diagram in diagrams]
        print_json(documents[0] if len(documents) == 1 else {"diagrams": documents})
    else:
        for diagram in diagrams:
            print_phase(diagram)
    return 1 if any(diagram.failed or not diagram.known for diagram in diagrams) else 0


def _measure(
    options: dict[str, Any],
    where: dict[str, Any],
    x: str | None,
    y: str | None,
    seeds: str,
    seed: str,
    accuracy: str,
    target: str,
    test_samples: str,
    dtype: str,
    yes: bool,
) -> PhaseDiagram:
    """Run every cell of a plane."""
    from recallscope.api.phase import phase as measure
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.measurement.axis import parse_axis
    from recallscope.measurement.phase import plan

    if x is None or y is None:
        raise ProblemError("a phase diagram needs --x and --y, as in --x dim=16:256:30")
    axes = parse_axis(x), parse_axis(y)
    for axis in axes:
        fill_in(options, axis.name, axes)
    problem, arrays = problem_to_run(options, [axis.name for axis in axes])
    settings = settings_from(test_samples, dtype, arrays)
    count, first = seeds_from(seeds, seed, largest=2**62)
    place = place_from(where)
    check_time_of([each for each, _ in plan(problem, *axes, count, first)], settings, where, yes)
    with ProgressDisplay("phase diagram") as display, resumable():
        return measure(
            problem,
            axes[0],
            axes[1],
            count,
            number_or_text(target),
            accuracy_name(accuracy),
            seed=first,
            **as_arguments(settings),
            progress=display.update,
            **place,
        )


def _is_store(source: str) -> bool:
    return "://" in source or Path(source).is_dir()


def _from_store(
    chosen: dict[str, Any],
    source: str,
    x: str | None,
    y: str | None,
    accuracy: str,
    target: str,
) -> PhaseDiagram:
    from recallscope.api.phase import phase_of_store
    from recallscope.store.store import Store

    asked = number_or_text(target), accuracy_name(accuracy)
    return phase_of_store(Store(source), x or "", y or "", chosen, *asked)
