"""`recallscope ablate`."""

from __future__ import annotations

import sys
from typing import Annotated

from recallscope.cli.execution import check_time_of, place_from, resumable
from recallscope.cli.options import Accuracy, Asked, Seed, Seeds, Yes, one_of, takes
from recallscope.cli.output import output_from
from recallscope.cli.parsing import no_arrays, problem_from, seeds_from, settings_from
from recallscope.cli.tables.measurement import print_ablations
from recallscope.common.formatting import printable
from recallscope.record import Status, accuracy_name

_ABLATIONS = ("embedding", "mlp", "trigger", "steps", "batch", "gaussian")


@takes("problem", "tests", "where", "output")
def ablate(
    asked: Asked,
    names: Annotated[
        list[str] | None,
        one_of(_ABLATIONS, "; all that apply if none is given.", argument=True),
    ] = None,
    seeds: Seeds = "16",
    seed: Seed = "0",
    accuracy: Accuracy = "recall",
    yes: Yes = False,
) -> int:
    """Change one thing at a time, and see what it does to the accuracy at the same seeds.

    Exit code 1 if a run failed.

    \b
    Examples:
      recallscope ablate --vocab 512 --samples 8192 --dim 64 --length 32 --figure ablations.pdf
      recallscope ablate mlp trigger --vocab 512 --samples 8192 --dim 64 --length 32 --width 256
    """
    to, changes = output_from(asked.output), names or []
    no_arrays(asked.problem, "are not ablated; compare them with recallscope run")
    problem = problem_from(**asked.problem)
    count, first = seeds_from(seeds, seed)
    settings, place = settings_from(asked.tests), place_from(asked.where)
    from recallscope.api.ablate import ablate as measure  # with torch, after what may be mistaken
    from recallscope.cell import Settings
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.measurement.ablation import named, plan

    runs = plan(named(changes, problem, accuracy_name(accuracy)), 1, first)
    check_time_of([each for each, _ in runs], count, Settings(**settings), asked.where, yes)
    how = {"seeds": count, "seed": first, **settings, **place}
    with ProgressDisplay("ablations") as display, resumable(place["store"]):
        found = measure(problem, changes, accuracy, progress=display.update, **how)
    to.show(found, print_ablations)
    for record in found.records:
        if record.reason:
            print(f"recallscope: seed {record.seed}: {printable(record.reason)}", file=sys.stderr)
    failed = any(record.status is Status.FAILED for record in found.records)
    return 1 if failed or not any(each.pairs for each in found.results) else 0
