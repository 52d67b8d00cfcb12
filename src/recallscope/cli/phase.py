"""`recallscope phase`."""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope.cli import parsing
from recallscope.cli.execution import check_time_of, place_from, resumable
from recallscope.cli.options import (
    ACCURACIES,
    OUTPUT,
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
    Source,
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
    refuse_all_but,
    typed_options,
)
from recallscope.cli.output import capital, output_from, print_extrapolated, print_table, say
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.csv_files import number_or_text, read_csv
from recallscope.common.errors import ProblemError
from recallscope.problem.axes import axes_of, axis_field
from recallscope.problem.metrics import accuracy_name

if TYPE_CHECKING:
    from recallscope.measure.phase_diagram import PhaseDiagram, PhaseDiagrams
    from recallscope.problem.axes import Axis
    from recallscope.theory.phase_map import PhaseMap

_WITH_FROM = ("source", "target", *OUTPUT)
_MANY_POINTS, _PER_SECOND = 10_000, 3_000  # of a map by closed forms; a larger one takes seconds


def phase(
    context: typer.Context,
    x: Annotated[
        str | None, typer.Option(metavar="AXIS", help="dim=16:256:30, or dim=16,32,64.")
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(metavar="AXIS", help="samples=512:65536:30; boundary along it."),
    ] = None,
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
    seeds: Seeds = "4",
    seed: Seed = "0",
    accuracy: Annotated[
        str | None, named(ACCURACIES, more=", or a metric.", show_default="recall")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="The accuracy to cross, between 0 and 1.",
            show_default="0.5",
        ),
    ] = None,
    theory_only: Annotated[
        bool, typer.Option("--theory-only", help="Closed forms at any size; run nothing.")
    ] = False,
    source: Source = None,
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
    """Measure accuracy over a plane of two sizes, and compare it with the theory.

    Every cell has separate seeds. Exit code 1 if a run failed.

    \b
    Examples:
      recallscope phase --x dim=16:256:12 --y samples=256:65536:12 --vocab 512 --length 4 \\
          --table phase.csv --figure phase.pdf
      recallscope phase --from phase.csv --figure phase.svg
      recallscope phase --from facts --x dim --y samples --embedding sphere --figure facts.pdf
      recallscope phase --theory-only --x dim=1k:16k:40 --y vocab=1M:1B:40 --samples 1e12 \\
          --length 4096 --figure map.pdf
    """
    from recallscope.measure.phase_diagram import PhaseDiagrams
    from recallscope.measure.planes import from_rows

    options = dict(context.params)
    output = output_from(options)
    sought = accuracy or "recall", number_or_text(target or "0.5")
    if source is not None and ("://" in source or Path(source).is_dir()):
        from recallscope.measure.phase import phase_of_store

        refuse_all_but([*_WITH_FROM, "x", "y", "accuracy", *parsing.PROBLEM], context)
        chosen = parsing.selection_from(options, typed_options(context))
        diagrams = [phase_of_store(source, x or "", y or "", chosen, sought[1], sought[0])]
    elif source is not None:
        refuse_all_but(_WITH_FROM, context)
        diagrams = from_rows(read_csv(source), None if target is None else sought[1])
    elif theory_only:
        from recallscope.theory.phase_map import phase_map

        axes = _axes(options, x, y)
        problem = parsing.closed_form_problem(options)
        points = math.prod(len(axis.values) for axis in axes)
        if points > _MANY_POINTS:
            print(f"{points:,} points: about {points / _PER_SECOND:.0f} s", file=sys.stderr)

        with ProgressDisplay("phase") as display:
            noise_map = phase_map(problem, *axes, accuracy_name(sought[0]), display.update)
        output.show(noise_map, _print_map)
        return 0
    else:
        diagrams = [_measure(options, _axes(options, x, y), sought, yes)]
    output.show(PhaseDiagrams(diagrams=diagrams), _print_phase)
    return 1 if any(diagram.failed or not diagram.known for diagram in diagrams) else 0


def _axes(options: dict[str, Any], x: str | None, y: str | None) -> tuple[Axis, Axis]:
    from recallscope.problem.axes import parse_axis

    if x is None or y is None:
        raise ProblemError("a phase diagram needs --x and --y, as in --x dim=16:256:30")
    fields = axes_of(parsing.parts_from(options))
    axes = parse_axis(x, fields), parse_axis(y, fields)
    for axis in axes:
        parsing.fill_in(options, axis.name, axes)
    return axes


def _measure(
    options: dict[str, Any], axes: tuple[Axis, Axis], sought: tuple[str, Any], yes: bool
) -> PhaseDiagram:
    """Run every cell of a plane."""
    count, first = parsing.seeds_from(options["seeds"], options["seed"], 2**62)
    problem, arrays = parsing.problem_to_run(options, [axis.name for axis in axes])
    settings = parsing.settings_from(options, arrays)
    place = place_from(options)
    from recallscope.measure.phase import phase as measure  # loads torch: after the checks
    from recallscope.measure.planes import check_plan, plan

    check_plan(problem, *axes, count)
    check_time_of(plan(problem, *axes, 1, first), count, settings, options, yes)
    accuracy, target = sought
    how = {"seed": first, **settings, **place}
    with ProgressDisplay("phase diagram") as display, resumable(place["store"]):
        return measure(problem, *axes, count, target, accuracy, progress=display.update, **how)


def _print_map(noise_map: PhaseMap) -> None:
    """Print how often each noise is the bottleneck; figure and table have the plane itself."""
    print(f"{noise_map!r}.")
    bound = [row for row in noise_map.rows() if row["term"] is not None]
    named = [f"{row['stage']}: {row['term']}".replace("_", " ") for row in bound]
    if named:  # a law may have no noises
        print_table(("bottleneck", "points"), Counter(named).most_common())
    print_extrapolated(noise_map.corners, "corners")


def _print_phase(diagrams: PhaseDiagrams) -> None:
    for diagram in diagrams.diagrams:
        _print_diagram(diagram)


def _print_diagram(diagram: PhaseDiagram) -> None:
    from recallscope.measure.phase_diagram import TOLERANCE

    print(
        ", ".join(f"{name}={value}" for name, value in diagram.shared.items() if value is not None)
    )
    if diagram.no_boundary:
        say(f"{capital(diagram.no_boundary)}.")
    else:
        _print_boundary(diagram)
    if diagram.without_theory:
        cells = f"{diagram.known} cells were measured, of {diagram.seeds} seeds each."
        say(f"{capital(diagram.without_theory)}. {cells}")
    else:
        share = f" ({diagram.disagreeing / diagram.compared:.1%})" if diagram.compared else ""
        say(
            f"Theory is off by more than {TOLERANCE:g} beyond the 95 % interval in "
            f"{diagram.disagreeing} of {diagram.compared} cells{share}, of {diagram.seeds} seeds "
            "each."
        )
        print_extrapolated(diagram.problems)
    lost = diagram.failed or diagram.infeasible
    counts = f"{diagram.failed} runs failed and {diagram.infeasible} were infeasible"
    say(lost and f"{counts}; they are left out.")


def _print_boundary(diagram: PhaseDiagram) -> None:
    field = axis_field(diagram.y.name, diagram.problem.parts())
    digits = ".0f" if type(field.default) is int else ".3g"
    kind = diagram.accuracy.replace("_", " ")
    rows = []
    first, last = diagram.y.values[0], diagram.y.values[-1]
    for x, boundary, predicted in zip(
        diagram.x.values, diagram.boundary, diagram.theory_boundary, strict=True
    ):
        low = f"under {first}" if boundary.low is None else f"{boundary.low:{digits}}"
        high = f"over {last}" if boundary.high is None else f"{boundary.high:{digits}}"
        measured = boundary.status if boundary.value is None else f"{boundary.value:{digits}}"
        ends = f"{low} to {high}"
        if boundary.low is None and boundary.high is None:
            ends = "unknown"
        elif boundary.value is None:
            ends = f"over {low}" if boundary.high is None else f"under {high}"
        theory = "none" if predicted is None else predicted
        rows.append((x, measured, ends, None if diagram.without_theory else theory))
    head = (diagram.x.name, f"{diagram.y.name}, measured", "95 % interval", "predicted")
    print_table(head, rows, right=slice(None))
    print(f"The {diagram.y.name} at which {kind} crosses {diagram.target:g}.")
