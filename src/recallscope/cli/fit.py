"""`recallscope fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from recallscope.cli import options
from recallscope.cli.execution import check_time_of_searches, place_from, resumable
from recallscope.cli.output import number, print_table, say
from recallscope.cli.parsing import fill_in, problem_to_run, search_from, settings_from
from recallscope.cli.progress import ProgressDisplay
from recallscope.cli.sentences import said
from recallscope.common.csv_files import number_or_text, read_csv
from recallscope.problem import ProblemError

if TYPE_CHECKING:
    from recallscope.measurement.scaling import Scaling
    from recallscope.statistics.expected_law import ExpectedLaw
    from recallscope.statistics.power_law import Separable

_UNDETERMINED = "undetermined"  # as the status of a law is called
_POOR = 0.05  # the p-value below which critical sizes scatter by more than their errors


@options.takes("problem", "search", "tests", "where", "output", "fit", "yes", arrays=True)
def fit(context: typer.Context, asked: options.Asked, source: str | None, yes: bool) -> int:
    """Measure the power law of a critical size: exponents with intervals, and a test of fit.

    Sizes are varied one at a time about the problem given. The table has the critical sizes, and
    --from fits such a table without new runs. Exit code 1 if the law is undetermined.

    \b
    Examples:
      recallscope fit --for samples --accuracy one-step --vocab 256 --dim 100 --length 16 \\
          --vary dim=64:160:5 --vary length=8:32:5 --table law.csv --figure law.pdf
      recallscope fit --from law.csv --expect dim=-2 --expect length=1 --json
    """
    from recallscope.measurement.scaling import scaling_from_rows

    powers = _powers(asked.fit["expect"] or [])
    if source is not None:
        options.refuse_all_but(("source", "expect", *options.OUTPUT), context)
        found = scaling_from_rows(read_csv(source)).expecting(powers)
    else:
        found = _measure(asked, powers, yes)
    asked.output.show(found, _print_law)
    return 1 if found.law.status == _UNDETERMINED else 0


def _powers(given: list[str]) -> dict[str, float]:
    """Exponents by size, from the texts of options."""
    powers = {}
    for each in given:
        name, _, text = each.partition("=")
        power = number_or_text(text)
        if not name or not isinstance(power, (int, float)):
            raise ProblemError(f"an exponent is SIZE=POWER, as in dim=-2, not {each!r:.60}")
        powers[name] = float(power)
    return powers


def _measure(asked: options.Asked, powers: dict[str, float], yes: bool) -> Scaling:
    """Search for the critical size of every problem about the one given."""
    from recallscope.measurement.axis import check_varied, parse_axis

    quantity, vary = asked.fit["quantity"], asked.fit["vary"]
    if quantity is None or not vary:
        raise ProblemError("a law needs --for and --vary, as in --for samples --vary dim=32:128:5")
    axes = [parse_axis(each) for each in vary]
    check_varied(axes, quantity)
    if missing := [axis.name for axis in axes if asked.problem[axis.name] is None]:
        raise ProblemError(f"sizes are varied about a problem; give --{missing[0]} too")
    fill_in(asked.problem, quantity)
    problem, arrays = problem_to_run(asked.problem, [quantity, *(axis.name for axis in axes)])
    how, settings = search_from(asked.search), settings_from(asked.tests, arrays)
    place = place_from(asked.where)
    from recallscope.api.fit import fit as measure  # loads torch: after the checks

    searches = sum(len(axis.values) for axis in axes)
    check_time_of_searches(problem, quantity, searches, how, settings, asked.where, yes)
    how |= settings | place
    with ProgressDisplay("searches") as display, resumable(place["store"]):
        return measure(problem, quantity, axes, **how, expect=powers, progress=display.update)


def _print_law(found: Scaling) -> None:
    law = found.law
    fitted = law.status != _UNDETERMINED
    rows = []
    for name, power in law.exponents.items():
        value, ends = f"{power.value:.3f}", f"{power.low:.3f} to {power.high:.3f}"
        predicted = number(found.theory.get(name), ".3f")
        rows.append((name, *((value, ends) if fitted else (None, None)), predicted))
    print(said("law", found, accuracy=found.accuracy.replace("_", " ")))
    print_table(("size", "exponent", "95 % interval", "closed forms"), rows)
    lost = sum(row["status"] in ("failed", "infeasible") for row in found.sizes)
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
    if (test := found.expected) is not None:
        text = ", ".join(f"{name} {power:g}" for name, power in test.exponents.items())
        say(f"Expected exponents, {text}: {_verdict(test)} (joint test, p = {test.p_value:.2g}).")
    if (rival := law.separable) is not None:
        depends = f"That {found.quantity} depends on none of these"
        say(f"{depends}: {_verdict(rival)} (p = {rival.p_value:.2g}).")
    if found.collapse is not None:
        say(said("collapse", found.collapse))


def _verdict(test: ExpectedLaw | Separable) -> str:
    return "rejected" if test.rejected else "not rejected"
