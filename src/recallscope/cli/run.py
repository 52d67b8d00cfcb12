"""`recallscope run`."""

from __future__ import annotations

from recallscope.cli.execution import check_time, place_from
from recallscope.cli.options import Asked, Seed, Seeds, Yes, takes
from recallscope.cli.output import output_from
from recallscope.cli.parsing import problem_to_run, seeds_from, settings_from
from recallscope.cli.tables.run import print_run
from recallscope.common.machine import available_cores
from recallscope.parts.naming import find_part


@takes("problem", "tests", "where", "output", arrays=True)
def run(asked: Asked, seed: Seed = "0", seeds: Seeds = "1", yes: Yes = False) -> int:
    """Run one experiment at one or more seeds.

    \b
    Examples:
      recallscope run --vocab 512 --samples 8192 --dim 64 --length 32 --seeds 16
      recallscope run --vocab 512 --samples 8192 --dim 64 --length 16 --width 256
      recallscope run --vocab 512 --samples inf --dim 64 --length 32 --json
    """
    to = output_from(asked.output)
    problem, arrays = problem_to_run(asked.problem)
    count, first = seeds_from(seeds, seed)
    settings, place = settings_from(asked.tests, arrays), place_from(asked.where)
    from recallscope.api.run import run as measure  # with torch, after what may be mistaken
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.experiment import run as experiment
    from recallscope.learning.cost import predict_cost

    experiment.check_run(problem, **settings)
    how = {name: settings[name] for name in ("engine", "test_samples", "dtype")}
    experiment.check_memory(problem, **how)
    cost = predict_cost(problem, **how)
    if cost.known:
        # The population of three steps is computed without samples, and in the limit regime only.
        steps = find_part("learner", problem.learner).closed_form
        by_population = steps and problem.regime == "limit"
        instead = "--samples inf" if by_population else "smaller sizes"
        workers = min(count, available_cores())
        check_time(count * cost.seconds / workers, yes, f"ask for {instead}")
    with ProgressDisplay(f"{count} seed{'s' if count > 1 else ''}") as display:
        found = measure(problem, first, seeds=count, progress=display.update, **settings, **place)
    to.show(found, print_run)
    return 0 if found.ok else 1
