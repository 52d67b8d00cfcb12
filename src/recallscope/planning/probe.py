"""A probe: a sample of a user's facts, taught to the user's model until one half is recalled.

How quickly facts are learned differs by model and data more than by anything that a law knows. A
sample shows it at a small part of the cost, and before its half almost nothing is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_number
from recallscope.common.progress_bar import ProgressCallback
from recallscope.common.shapes import Float
from recallscope.common.status import Status
from recallscope.planning.in_words import counted
from recallscope.planning.inputs import Inputs
from recallscope.planning.teaching_plan import Probe, TeachingPlan, make_teaching_plan
from recallscope.task.random import Role, generator
from recallscope.theory.pretrained import CONSTANTS, NO_LOAD, Case, expected, exposures_to
from recallscope.theory.question import Ends

if TYPE_CHECKING:
    from recallscope.teaching.facts import Facts

MINUTES = 15.0
_MOST_FACTS, _FEWEST_FACTS, _SMALLEST_BATCH = 128, 16, 16
_ENOUGH = 0.5  # of the sample
_SEEN = 0.1  # of the sample: a curve that ends below says nothing of its half
_LOOKS = 2  # in an exposure; each takes a third of what a half of one does
_LONGER = 2.0  # times what the high end of the law expects
_SEED = 0


class Curve(NamedTuple):
    """Exposures to one half and the slope of one training, with standard errors of logarithms."""

    half: float
    half_error: float
    slope: float
    slope_error: float


def probed(
    plan: TeachingPlan,
    model: str | Path | None,
    minutes: float | None = None,
    rate: float | None = None,
    progress: ProgressCallback = lambda done, total: None,
    say: Callable[[str], None] = lambda line: None,
) -> TeachingPlan:
    """The plan after a sample of its facts was taught to its model.

    Args:
        plan: of a file of facts.
        model: the folder of the model, or a file of GGUF.
        minutes: how long it may take at most, without reading the model; 15 if None.
        rate: the learning rate; usual for the method if None.
        progress: called with steps done and in all.
        say: called with what it will cost, before it starts.
    """
    from recallscope.teaching.facts import Facts  # with torch, which a plan does not need
    from recallscope.teaching.teach import teach

    inputs, minutes = plan.inputs, MINUTES if minutes is None else minutes
    if plan.given is None or model is None or Path(model).suffix == ".json":
        raise ProblemError(
            "a probe teaches your facts to your model: give --facts FILE, and as --model the "
            "folder of the checkpoint, or its file of GGUF"
        )
    facts = Facts(plan.given.path)
    number = sample_size(inputs.facts or 1)
    batch = sample_batch(inputs, number)
    case = Case(parameters=inputs.shape.parameters, facts=number, batch=batch)
    half = exposures_to(_ENOUGH, expected(case, CONSTANTS), NO_LOAD)
    steps = math.ceil(number / batch)  # of an exposure
    say(
        f"probe: {number:,} of {inputs.facts:,} facts, {batch} in a batch, about "
        f"{counted(Ends(*(each * steps for each in half)))} steps until one half is recalled; "
        f"it ends after {format_number(minutes)} minutes at the latest"
    )
    taught = teach(
        _sample(facts, number),
        model,
        rank=plan.rank_to_teach,
        exposures=math.ceil(_LONGER * half.high),
        batch=batch,
        rate=rate,
        every=max(1, steps // _LOOKS),
        sample=number,
        until=_ENOUGH,
        minutes=minutes,
        seed=_SEED,
        progress=progress,
    )
    if taught.status is not Status.OK:
        raise ProblemError(f"the probe failed: {taught.reason}")
    curve = None
    if taught.looks[-1].recall >= _SEEN:
        curve = fitted(
            [look.exposures for look in taught.looks],
            [look.recall for look in taught.looks],
            number,
        )
    probe = Probe(
        facts=number,
        batch=batch,
        steps=taught.steps,
        exposures=taught.exposures,
        recall=taught.looks[-1].recall,
        half=None if curve is None else curve.half,
        half_error=None if curve is None else curve.half_error,
        slope=None if curve is None else curve.slope,
        slope_error=None if curve is None else curve.slope_error,
        seconds=taught.seconds,
    )
    return make_teaching_plan(inputs, plan.target, plan.given, probe)


def sample_size(facts: int) -> int:
    """How many facts a probe has: half of them, at most 128.

    >>> [sample_size(facts) for facts in (10, 125, 50_000)]
    [10, 62, 128]
    """
    return min(facts, max(_FEWEST_FACTS, min(_MOST_FACTS, facts // 2)))


def sample_batch(inputs: Inputs, number: int) -> int:
    """A batch with which an exposure has as many steps as in the training, or fewer."""
    alike = round((inputs.batch or 1) * number / (inputs.facts or 1))
    return min(number, max(alike, _SMALLEST_BATCH))


def fitted(exposures: Sequence[float], recall: Sequence[float], facts: int) -> Curve:
    """The curve 1 / (1 + (Eh/E)^b) of a training that may have ended before its half.

    Each fact is first recalled between two looks, or after the last. So facts are independent,
    which looks at the same facts are not. Facts that were lost again count as recalled.

    Args:
        exposures: at each look, from 0.
        recall: what it found.
        facts: how many were asked.

    >>> at = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    >>> curve = fitted(at, [0.0, *(1 / (1 + (8.0 / each) ** 4) for each in at[1:])], 1000)
    >>> abs(curve.half - 8.0) < 0.3, abs(curve.slope - 4.0) < 0.5, curve.half_error < 0.05
    (True, True, True)
    """
    seen = np.maximum.accumulate(np.array(recall)) * facts
    first = np.diff(seen, append=float(facts))  # between each look and the next, or never
    last = exposures[-1]
    log_half = np.linspace(math.log(last / 20), math.log(last * 20), 401)[:, None]
    log_slope = np.linspace(math.log(0.7), math.log(30), 201)[None, :]
    log_likelihood: Float[np.ndarray, "h b"] = np.zeros((401, 201))
    before: Any = 0.0
    for place, count in enumerate(first):
        after: Any = 1.0
        if place + 1 < len(exposures):
            odds = np.exp(log_slope) * (log_half - math.log(exposures[place + 1]))
            after = 1 / (1 + np.exp(np.minimum(odds, 700.0)))
        if count:
            log_likelihood = log_likelihood + count * np.log(np.maximum(after - before, 1e-300))
        before = after
    weight = np.exp(log_likelihood - log_likelihood.max())
    half, half_error = _moments(log_half[:, 0], weight.sum(axis=1))
    slope, slope_error = _moments(log_slope[0], weight.sum(axis=0))
    return Curve(math.exp(half), half_error, math.exp(slope), slope_error)


def _moments(
    values: Float[np.ndarray, " n"], weight: Float[np.ndarray, " n"]
) -> tuple[float, float]:
    """Mean and standard deviation."""
    mean = float(np.average(values, weights=weight))
    return mean, math.sqrt(float(np.average((values - mean) ** 2, weights=weight)))


def _sample(facts: Facts, number: int) -> Facts:
    """A fixed sample of the facts that are taught."""
    taught = facts.counts.nonzero()[0]
    random = generator(_SEED, Role.FACTS, len(taught))
    return facts.subset(sorted(random.choice(taught, size=number, replace=False)))
