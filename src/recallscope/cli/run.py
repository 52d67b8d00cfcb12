"""`recallscope run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recallscope.cli.execution import check_time
from recallscope.cli.options import (
    Device,
    Dtype,
    Engine,
    Json,
    Seed,
    Seeds,
    TestSamples,
    Yes,
    asks_for_a_problem,
)
from recallscope.cli.parsing import own_arrays, problem_from, seeds_from
from recallscope.cli.tables.output import print_either
from recallscope.cli.tables.run import print_run
from recallscope.common.csv_files import number_or_text
from recallscope.common.machine import available_cores
from recallscope.problem import whole_number

if TYPE_CHECKING:
    from recallscope.record import Record


@asks_for_a_problem(arrays=True)
def run(
    options: dict[str, Any],
    engine: Engine = "auto",
    seed: Seed = "0",
    seeds: Seeds = "1",
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float64",
    device: Device = "cpu",
    yes: Yes = False,
    as_json: Json = False,
) -> int:
    """Run one experiment at one or more seeds.

    \b
    Examples:
      recallscope run --vocab 512 --samples 8192 --dim 64 --length 32 --seeds 16
      recallscope run --vocab 512 --samples 8192 --dim 64 --length 16 --width 256
      recallscope run --vocab 512 --samples inf --dim 64 --length 32 --json
    """
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.experiment import run as experiment
    from recallscope.learning.cost import predict_cost
    from recallscope.measurement.summary import summarise
    from recallscope.record import Status

    arrays, options["embedding"] = own_arrays(options["embedding"])
    problem = problem_from(**options)
    count, first = seeds_from(seeds, seed)
    tests = whole_number("test-samples", number_or_text(test_samples), 1)
    how: dict[str, Any] = {"engine": engine, "test_samples": tests, "dtype": dtype}
    experiment.check_run(problem, device=device, embeddings=arrays, **how)
    experiment.check_memory(problem, **how)
    cost = predict_cost(problem, engine, dtype, tests)
    if cost.known:
        # The population is computed without samples, and in the limit regime only.
        instead = "--samples inf" if problem.regime == "limit" else "fewer samples"
        check_time(count * cost.seconds / available_cores(), yes, f"ask for {instead}")
    records: list[Record] = []
    with ProgressDisplay(f"{count} seed{'s' if count > 1 else ''}") as display:
        for number in range(first, first + count):

            def progress(done: int, total: int) -> None:
                display.update(len(records) + done / total, count)

            records.append(
                experiment.run(
                    problem, number, device=device, embeddings=arrays, progress=progress, **how
                )
            )
            display.update(len(records), count)
    summary = {name: mean._asdict() for name, mean in summarise(records).items()}
    document = {
        "problem": problem.to_dict() | {"key": problem.key},
        "records": [record.to_dict() for record in records],
        "summary": summary,
    }
    print_either(as_json, document, print_run, problem, records, summary)
    return 0 if all(record.status is Status.OK for record in records) else 1
