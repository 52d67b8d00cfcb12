"""`recallscope fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope.cli.execution import check_time_of_searches, place_from, resumable
from recallscope.cli.options import (
    OUTPUT,
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
    OptionalQuantity,
    Precision,
    Regime,
    Samples,
    Seed,
    Source,
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
    refuse_all_but,
)
from recallscope.cli.output import number, output_from, print_table, say
from recallscope.cli.parsing import fill_in, problem_to_run, search_from, settings_from
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.csv_files import number_or_text, read_csv
from recallscope.common.errors import ProblemError

if TYPE_CHECKING:
    from recallscope.measure.scaling import Scaling
    from recallscope.statistics.expected_law import ExpectedLaw
    from recallscope.statistics.power_law import Separable

_UNDETERMINED = "undetermined"  # as the status of a law is called
_POOR = 0.05  # the p-value below which critical sizes scatter by more than their errors


def fit(
    context: typer.Context,
    quantity: OptionalQuantity = None,
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
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS", help="dim=32:128:5, or dim=32,64,96; once for each size."),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZE=POWER",
            help="An exponent to be tested, as in dim=-2; once for each, tested all at once.",
        ),
    ] = None,
    source: Source = None,
    target: Target = "0.5",
    accuracy: Accuracy = "recall",
    low: Low = None,
    high: High = None,
    precision: Precision = "0.1",
    budget: Budget = "64",
    seed: Seed = "0",
    no_theory: NoTheory = False,
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
    """Measure the power law of a critical size: exponents with intervals, and a test of fit.

    Sizes are varied one at a time about the problem given. The table has the critical sizes, and
    --from fits such a table without new runs. Exit code 1 if the law is undetermined.

    \b
    Examples:
      recallscope fit --for samples --accuracy first-gradient --vocab 256 --dim 100 --length 16 \\
          --vary dim=64:160:5 --vary length=8:32:5 --table law.csv --figure law.pdf
      recallscope fit --from law.csv --expect dim=-2 --expect length=1 --json
    """
    from recallscope.measure.scaling import scaling_from_rows

    options = dict(context.params)
    output = output_from(options)
    powers = _powers(expect or [])
    if source is not None:
        refuse_all_but(("source", "expect", *OUTPUT), context)
        scaling = scaling_from_rows(read_csv(source)).expecting(powers)
    else:
        scaling = _measure(options, powers, yes)
    output.show(scaling, _print_law)
    return 1 if scaling.law.status == _UNDETERMINED else 0


def _powers(texts: list[str]) -> dict[str, float]:
    """Exponents by size, from the texts of options."""
    powers = {}
    for exponent in texts:
        name, _, text = exponent.partition("=")
        power = number_or_text(text)
        if not name or not isinstance(power, (int, float)):
            raise ProblemError(f"an exponent is SIZE=POWER, as in dim=-2, not {exponent!r:.60}")
        powers[name] = float(power)
    return powers


def _measure(options: dict[str, Any], powers: dict[str, float], yes: bool) -> Scaling:
    """Search for the critical size of every problem about the one given."""
    from recallscope.problem.axes import check_varied, parse_axis

    quantity, vary = options["quantity"], options["vary"]
    if quantity is None or not vary:
        raise ProblemError("a law needs --for and --vary, as in --for samples --vary dim=32:128:5")
    axes = [parse_axis(axis) for axis in vary]
    check_varied(axes, quantity)
    if missing := [axis.name for axis in axes if options[axis.name] is None]:
        raise ProblemError(f"sizes are varied about a problem; give --{missing[0]} too")
    fill_in(options, quantity)
    problem, arrays = problem_to_run(options, [quantity, *(axis.name for axis in axes)])
    how, settings = search_from(options), settings_from(options, arrays)
    place = place_from(options)
    from recallscope.measure.fit import fit as measure  # loads torch: after the checks

    searches = sum(len(axis.values) for axis in axes)
    check_time_of_searches(problem, quantity, searches, how, settings, options, yes)
    how |= settings | place
    with ProgressDisplay("searches") as display, resumable(place["store"]):
        return measure(problem, quantity, axes, **how, expect=powers, progress=display.update)


def _print_law(scaling: Scaling) -> None:
    law = scaling.law
    fitted = law.status != _UNDETERMINED
    rows = []
    for name, power in law.exponents.items():
        value, ends = f"{power.value:.3f}", f"{power.low:.3f} to {power.high:.3f}"
        predicted = number(scaling.theory.get(name), ".3f")
        rows.append((name, *((value, ends) if fitted else (None, None)), predicted))
    accuracy = scaling.accuracy.replace("_", " ")
    print(
        f"The law of {scaling.quantity} at {accuracy} {scaling.target:g}, from {law.reached} "
        f"critical sizes and {law.bounds} bounds:"
    )
    print_table(("size", "exponent", "95 % interval", "closed forms"), rows)
    lost = sum(row["status"] in ("failed", "infeasible") for row in scaling.sizes)
    say(
        f"{law.status}: {law.status.advice}",
        lost and f"{lost} searches failed or were infeasible and are left out.",
        fitted
        and f"Goodness of fit: p = {law.p_value:.2g}; "
        + (
            f"scatter beyond their errors: {law.scatter:.1%}."
            if law.p_value < _POOR
            else "the critical sizes scatter no more than their errors."
        ),
    )
    if (test := scaling.expected) is not None:
        text = ", ".join(f"{name} {power:g}" for name, power in test.exponents.items())
        say(f"Expected exponents, {text}: {_verdict(test)} (joint test, p = {test.p_value:.2g}).")
    if (rival := law.separable) is not None:
        depends = f"That {scaling.quantity} depends on none of these"
        say(f"{depends}: {_verdict(rival)} (p = {rival.p_value:.2g}).")
    if (collapse := scaling.collapse) is not None:
        print(
            f"Collapse, rms of accuracy about one curve: {collapse.law:.3f} against the size over "
            f"the law's, {collapse.raw:.3f} against the size itself, {collapse.own:.3f} over each "
            f"one's own critical size; {collapse.seeds:.3f} about each one's own curve."
        )


def _verdict(test: ExpectedLaw | Separable) -> str:
    return "rejected" if test.rejected else "not rejected"
