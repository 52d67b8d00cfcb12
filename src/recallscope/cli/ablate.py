"""`recallscope ablate`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from recallscope.cli.execution import check_time_of, place_from, resumable
from recallscope.cli.options import (
    Accuracy,
    Csv,
    Dtype,
    Figure,
    Json,
    Seed,
    Seeds,
    TestSamples,
    Yes,
    asks_for_a_problem,
    asks_where_to_run,
    one_of,
)
from recallscope.cli.parsing import (
    as_arguments,
    csv_path,
    figure_path,
    no_arrays,
    problem_from,
    seeds_from,
    settings_from,
)
from recallscope.cli.tables.measurement import print_ablations
from recallscope.cli.tables.output import print_json
from recallscope.record import accuracy_name

_ABLATIONS = ("embedding", "mlp", "trigger", "steps", "batch", "gaussian")


@asks_for_a_problem()
@asks_where_to_run()
def ablate(
    options: dict[str, Any],
    where: dict[str, Any],
    names: Annotated[
        list[str] | None,
        one_of(_ABLATIONS, "; all that apply if none is given.", argument=True),
    ] = None,
    seeds: Seeds = "16",
    seed: Seed = "0",
    accuracy: Accuracy = "recall",
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float32",
    yes: Yes = False,
    csv: Csv = None,
    figure: Figure = None,
    as_json: Json = False,
) -> int:
    """Change one thing at a time, and see what it does to the accuracy at the same seeds.

    Exit code 1 if a run failed.

    \b
    Examples:
      recallscope ablate --vocab 512 --samples 8192 --dim 64 --length 32 --figure ablations.pdf
      recallscope ablate mlp trigger --vocab 512 --samples 8192 --dim 64 --length 32 --width 256
    """
    from recallscope.api.ablate import ablate as measure
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.common.csv_files import write_csv
    from recallscope.measurement.ablation import named, plan
    from recallscope.record import Status

    table, picture = csv_path(csv), figure_path(figure)
    no_arrays(options, "are not ablated; compare them with recallscope run")
    problem, name = problem_from(**options), accuracy_name(accuracy)
    count, first = seeds_from(seeds, seed)
    settings, place = settings_from(test_samples, dtype), place_from(where)
    runs = plan(named(names or [], problem, name), count, first)
    check_time_of([each for each, _ in runs], settings, where, yes)
    with ProgressDisplay("ablations") as display, resumable():
        ablations = measure(
            problem,
            names or [],
            name,
            seeds=count,
            seed=first,
            **as_arguments(settings),
            progress=display.update,
            **place,
        )
    found, records = ablations.results, ablations.records
    if table is not None:
        write_csv([comparison.row() for comparison in found], table)
    if picture is not None:
        from recallscope.plotting.ablation import ablation_figure
        from recallscope.plotting.style import save

        save(ablation_figure([comparison.to_dict() for comparison in found]), picture)
    if as_json:
        print_json(
            {
                "problem": problem.to_dict() | {"key": problem.key},
                "seeds": count,
                "ablations": [comparison.to_dict() for comparison in found],
            }
        )
    else:
        print_ablations(problem, found)
    for record in records:
        if record.reason:
            print(f"recallscope: seed {record.seed}: {record.reason}", file=sys.stderr)
    failed = any(record.status is Status.FAILED for record in records)
    return 1 if failed or not any(comparison.pairs for comparison in found) else 0
