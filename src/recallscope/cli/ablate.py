"""`recallscope ablate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.cli import output
from recallscope.cli.execution import check_time_of, place_from, resumable
from recallscope.cli.options import Asked, takes
from recallscope.cli.parsing import no_arrays, problem_from, seeds_from, settings_from
from recallscope.cli.progress import ProgressDisplay
from recallscope.cli.sentences import said
from recallscope.record import Status, accuracy_name

if TYPE_CHECKING:
    from recallscope.measurement.ablation import Ablations


@takes("problem", "tests", "where", "output", "ablate", "yes")
def ablate(
    asked: Asked, names: list[str] | None, seeds: str, seed: str, accuracy: str, yes: bool
) -> int:
    """Change one thing at a time, and compare accuracies at the same seeds.

    Exit code 1 if a run failed.

    \b
    Examples:
      recallscope ablate --vocab 512 --samples 8192 --dim 64 --length 32 --figure ablations.pdf
      recallscope ablate mlp trigger --vocab 512 --samples 8192 --dim 64 --length 32 --width 256
    """
    changes = names or []
    no_arrays(asked.problem, "are not ablated; compare them with recallscope run")
    problem = problem_from(**asked.problem)
    count, first = seeds_from(seeds, seed)
    settings, place = settings_from(asked.tests), place_from(asked.where)
    from recallscope.api.ablate import ablate as measure  # loads torch: after the checks
    from recallscope.measurement.ablation import named, plan

    runs = plan(named(changes, problem, accuracy_name(accuracy)), 1, first)
    check_time_of(runs, count, settings, asked.where, yes)
    how = {"seeds": count, "seed": first, **settings, **place}
    with ProgressDisplay("ablations") as display, resumable(place["store"]):
        found = measure(problem, changes, accuracy, progress=display.update, **how)
    asked.output.show(found, _print_ablations)
    output.print_reasons(found.records)
    failed = any(record.status is Status.FAILED for record in found.records)
    return 1 if failed or not any(each.pairs for each in found.results) else 0


def _print_ablations(ablations: Ablations) -> None:
    found = ablations.results
    output.print_problem(ablations.problem)
    rows = []
    for each in found:
        name, a, b, _ = each.ablation
        means = (output.number(mean and mean.mean, ".3f") for mean in (each.a, each.b))
        seen = each.difference and "{:+.3f}\n{:+.3f} to {:+.3f}".format(*each.difference)
        rows.append((f"{name}\n{a.label} → {b.label}", *means, seen, each.verdict))
    output.print_table(("ablation", "A", "B", "B − A, 95 % interval", "verdict"), rows, slice(1, 4))
    for each in found:
        name = each.ablation.name
        output.say(
            each.ablation.note and f"{name}: {each.ablation.note}.",
            each.verdict == "no difference seen"
            and f"{name}: a difference of up to {each.largest:.3f} is not excluded.",
            (each.failed or each.infeasible) and f"{name}: {said('unpaired', each)}",
        )
    most = {name: max(getattr(each, name) for each in found) for name in ("pairs", "tests")}
    print(said("paired", found, **most))
