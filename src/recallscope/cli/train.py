"""`recallscope train`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from recallscope.cli.execution import check_time
from recallscope.cli.options import Asked, takes
from recallscope.cli.output import print_problem
from recallscope.cli.parsing import problem_to_run, seeds_from
from recallscope.cli.sentences import said
from recallscope.common.csv_files import number_or_text

if TYPE_CHECKING:
    from recallscope.experiment.training_curve import TrainingCurve


@takes("problem", "output", "train", "yes", arrays=True, learner="adam")
def train(asked: Asked, yes: bool) -> int:
    """Train once, and watch attention and recall along the way.

    \b
    Examples:
      recallscope train --vocab 256 --samples 2048 --dim 64 --length 16 --figure curve.png
      recallscope train --vocab 256 --samples 2048 --dim 36 --length 16 --learner gd --steps 400
      recallscope train --vocab 256 --samples 2048 --dim 64 --length 16 --checkpoint half
    """
    problem, arrays = problem_to_run(asked.problem)
    from recallscope.api.train import train as measure  # loads torch: after the checks
    from recallscope.learning.cost import predict_cost

    how = asked.train | {"test_samples": number_or_text(asked.train["test_samples"])}
    how["seed"] = seeds_from("1", how["seed"])[1]
    cost = predict_cost(problem, dtype=how["dtype"])
    if cost.known:
        check_time(cost.seconds, yes, "ask for fewer steps")
    found = measure(problem, **how, embeddings=arrays, watch=_show, progress=False)
    asked.output.show(found, _print_training)
    return 0 if found.record.status == "ok" else 1


def _show(seen: Mapping[str, float]) -> None:
    """One line for each look, as it is taken; standard output is for the result."""
    seen_now = "  ".join(f"{name} {value:.3f}" for name, value in seen.items() if name != "step")
    print(f"step {seen['step']:7.0f}  {seen_now}", file=sys.stderr, flush=True)


def _print_training(found: TrainingCurve) -> None:
    """How it ended, and what the first steps would have predicted."""
    print_problem(found.problem)
    print(found)
    if found.early is not None:
        print(said("early", found.early))
