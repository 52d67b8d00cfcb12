"""What claims need beside a run: measures of one problem at one seed, each by its name.

A measure returns plain numbers by name, which become the metrics of a record.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from recallscope.problem import Problem, ProblemError
from recallscope.record import Record

# torch is imported where it is needed: to list claims it is not.
if TYPE_CHECKING:
    from recallscope.models.instance import Instance
    from recallscope.models.transformer import Transformer

NOISES = ("mean_bias", "gradient_noise", "mlp_noise")
EARLY_STEPS, LATE_STEPS = 2, 100
STEP_SIZE = 30.0
"""Of ordinary descent: the scores of attention grow over tens of steps, not in one."""
LOCK_TESTS = 2048


def noises(problem: Problem, seed: int) -> dict[str, float]:
    """The three noises that the paper names, in the first gradient, each measured on its own.

    >>> found = noises(Problem(vocab=64, samples=256, dim=16, length=4, width=32), seed=0)
    >>> sorted(found) == sorted(NOISES)
    True
    """
    from recallscope.validation.monte_carlo import measure

    found = measure(problem, seed)
    return {name: found["one_step", name] for name in NOISES}


def training_on(problem: Problem, seed: int) -> dict[str, float]:
    """Attention after the first steps of ordinary training, and after a hundred.

    Both matrices learn together by full-batch descent in small steps. `lock` is how often attention
    is highest at the mark, on fresh samples, and `cosine` is that of the attention vector with the
    trigger.

    >>> found = training_on(Problem(vocab=32, samples=128, dim=16, length=4), seed=0)
    >>> found["early_lock"] < found["late_lock"]
    True
    """
    import torch

    from recallscope.models.instance import Instance
    from recallscope.models.transformer import Transformer

    instance = Instance.make(problem, seed)
    model = Transformer(instance)
    tokens, position, label = (
        torch.from_numpy(part).long() for part in instance.task.draw(0, int(problem.samples))
    )
    descent = torch.optim.SGD(model.parameters(), lr=STEP_SIZE)
    found: dict[str, float] = {}
    for step in range(1, LATE_STEPS + 1):
        descent.zero_grad()
        model.loss(tokens, position, label).backward()  # type: ignore[no-untyped-call]
        descent.step()
        if step == EARLY_STEPS:
            found |= _attention(model, instance, "early")
    return found | _attention(model, instance, "late")


def _attention(model: Transformer, instance: Instance, when: str) -> dict[str, float]:
    import torch

    tokens, position, _ = (
        torch.from_numpy(part).long() for part in instance.task.draw(0, LOCK_TESTS, "test")
    )
    with torch.no_grad():
        found = model.attention(tokens, position).argmax(dim=1) == position
        cosine = torch.cosine_similarity(model.W @ instance.end, instance.trigger, dim=0)
    return {f"{when}_lock": found.double().mean().item(), f"{when}_cosine": cosine.item()}


def decoders(problem: Problem, seed: int) -> dict[str, float]:
    """The share of tokens whose label each decoder tells from the first gradient."""
    from recallscope.validation.decoders import decoder_accuracy

    return decoder_accuracy(problem, seed)


MEASURES: dict[str, Callable[[Problem, int], dict[str, float]]] = {
    "decoders": decoders,
    "noises": noises,
    "training-on": training_on,
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
    values: dict[str, float] = {}
    reason = None
    try:
        values = MEASURES[name](problem, seed)
    except ProblemError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    finally:
        torch.set_num_threads(threads)
    return measure_record(name, problem, seed, values, reason, time.perf_counter() - started)
