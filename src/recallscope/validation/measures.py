"""What claims need in addition to a run: measures of one problem at one seed, each by its name.

A measure returns plain numbers by name, which become the metrics of a record.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from recallscope.problem import Problem, ProblemError
from recallscope.record import Record, Status
from recallscope.validation.limits import limits

NOISES = ("mean_bias", "gradient_noise", "mlp_noise")


def noises(problem: Problem, seed: int) -> dict[str, float]:
    """The three noises that the paper names, in the first gradient, each measured separately.

    >>> found = noises(Problem(vocab=64, samples=256, dim=16, length=4, width=32), seed=0)
    >>> sorted(found) == sorted(NOISES)
    True
    """
    from recallscope.validation.monte_carlo import measure

    found = measure(problem, seed)
    return {name: found["one_step", name] for name in NOISES}


def decoders(problem: Problem, seed: int) -> dict[str, float]:
    """The fraction of labels that each decoder finds in the first gradient."""
    from recallscope.validation.decoders import decoder_accuracy

    return decoder_accuracy(problem, seed)


MEASURES: dict[str, Callable[[Problem, int], dict[str, float]]] = {
    "decoders": decoders,
    "mlp-limits": limits,
    "noises": noises,
}


def check_measure(name: str) -> None:
    """Raise unless there is such a measure."""
    if name not in MEASURES:
        raise ProblemError(f"a measure is one of {', '.join(MEASURES)}, not {name!r:.60}")


def measured_record(name: str, problem: Problem, seed: int) -> Record:
    """The record of a measure: its numbers are metrics, and a crash is a status.

    >>> problem = Problem(vocab=64, samples=256, dim=16, length=4, width=32)
    >>> record = measured_record("noises", problem, seed=0)
    >>> str(record.status), sorted(record.metrics) == sorted(NOISES)
    ('ok', True)
    """
    import torch

    from recallscope.experiment.run import measure_record

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # each worker has a core, and sums come out the same everywhere
    started = time.perf_counter()
    found: dict[str, Any]
    try:
        found = {"status": Status.OK, "metrics": MEASURES[name](problem, seed)}
    except ProblemError:
        raise
    except Exception as error:
        found = {"status": Status.FAILED, "reason": f"{type(error).__name__}: {error}"}
    finally:
        torch.set_num_threads(threads)
    return measure_record(name, problem, seed, time.perf_counter() - started, **found)
