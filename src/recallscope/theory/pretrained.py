"""Facts taught to a pretrained model: how often each is seen until it is recalled.

Fitted to published runs of full fine-tuning and LoRA (`published_runs.csv`, made and judged by the
study published_runs). A fact is a prompt with an answer, and recall is asked by the trained words.

    recall = 1 / (1 + load^a + (Eh / E)^b)
    Eh = scale · (parameters / 10^9)^size + floor · batch / facts

E is the exposures of each fact. Eh is the exposures to one half. Its last term is a least number of
steps: few facts in large batches are few steps. The load is the bits of all facts over the bits
that the trained parameters can store; it is next to 0 in all runs that were fitted to.

Neither LoRA, nor its rank, nor the number of facts has a term in Eh: runs that were left out are
not predicted better with one. The learning rate has none either: each source had tuned its own.

How quickly facts are learned differs by source, as do facts, wording and the tuning of the rate; by
model and data within a source; and by run. The interval for a new user has all three. There are
four sources, so how much they differ is poorly known. A prior says that two in three are within a
factor of 1.4 of their mean.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from recallscope.common.shapes import Float
from recallscope.theory.laws.allen_zhu_li import PART as ALLEN_ZHU_LI
from recallscope.theory.laws.morris import PART as MORRIS
from recallscope.theory.laws.nichani import PART as NICHANI
from recallscope.theory.published import SATURATED, spanned
from recallscope.theory.question import Capacity, Ends, Question

_REFERENCE = 1e9  # parameters
_LARGEST_BATCH, _SMALLEST_BATCH, _STEPS_OF_EXPOSURE = 128, 8, 3


class Case(NamedTuple):
    """What the exposures to one half depend on.

    Attributes:
        parameters: of the whole model, adapted or not.
        facts: how many are taught.
        batch: facts of one step.

    >>> Case(parameters=1.35e8, facts=500, batch=128).facts
    500
    """

    parameters: float
    facts: float
    batch: float


def usual_batch(facts: int) -> int:
    """Facts of one step, if not given: 128, or fewer so that each exposure has three steps.

    >>> [usual_batch(facts) for facts in (5, 100, 10_000)]
    [8, 33, 128]
    """
    return min(_LARGEST_BATCH, max(_SMALLEST_BATCH, facts // _STEPS_OF_EXPOSURE))


class Constants(NamedTuple):
    """The fitted constants, and how well they are known.

    Attributes:
        log_scale, size, log_floor: of Eh.
        covariance: of these three.
        source, group, run: standard deviations of log Eh by source, by model and data, and by run.
        log_slope: the mean of log b.
        log_slope_error: its standard error.
        slope_source, slope_group, slope_run: as above, of log b.
    """

    log_scale: float
    size: float
    log_floor: float
    covariance: tuple[tuple[float, float, float], ...]
    source: float
    group: float
    run: float
    log_slope: float
    log_slope_error: float
    slope_source: float
    slope_group: float
    slope_run: float


CONSTANTS = Constants(
    log_scale=1.614,
    size=-0.135,
    log_floor=1.750,
    covariance=((0.0404, -0.0025, 0.0293), (-0.0025, 0.0046, 0.0002), (0.0293, 0.0002, 0.1619)),
    source=0.317,
    group=0.229,
    run=0.192,
    log_slope=1.475,
    log_slope_error=0.188,
    slope_source=0.305,
    slope_group=0.146,
    slope_run=0.111,
)
"""By 58 runs; the study published_runs fits them again."""
LOAD_EXPONENT = 2.3
"""Published by Nguyen for LoRA of models of 20 million to 1 billion parameters."""
LORA_BITS = Ends(0.37, 0.05, 2.8)
"""Bits that each parameter of an adapter stores at recall one half: published values.

The low one is the least that Nguyen has, the high one is for models of 2 and 8 million parameters.
The middle is their geometric mean. That they differ so much is the interval.
"""
SHAPE = 0.053
"""90 % of measured recalls are this near to the curve through a run's own two exposures."""
_QUANTILES = (201, 11, 21)  # of Eh, of b and of the load
_FIVE, _NINETY_FIVE = 0.05, 0.95
SIGMAS = 1.6449  # from the middle of a normal distribution to its 95 % quantile


class Spread(NamedTuple):
    """A normal distribution of a logarithm, with its standard deviation in two parts.

    Attributes:
        mean: the mean.
        shared: what all trainings of a user's model and data have in common: a probe learns it.
        own: what differs from one such training to the next.

    >>> Spread(mean=0.0, shared=0.3, own=0.4).deviation
    0.5
    """

    mean: float
    shared: float
    own: float

    @property
    def deviation(self) -> float:
        """The standard deviation in all."""
        return math.hypot(self.shared, self.own)


class Learning(NamedTuple):
    """How quickly facts will be learned, so far as it is known.

    Attributes:
        log_half: of Eh, the exposures to one half.
        log_slope: of b.
    """

    log_half: Spread
    log_slope: Spread

    @property
    def half(self) -> Ends:
        """Exposures to one half, if nothing else limits recall."""
        mean, away = self.log_half.mean, SIGMAS * self.log_half.deviation
        return Ends(*(math.exp(mean + each) for each in (0.0, -away, away)))


def log_half_at(case: Case, constants: Constants) -> float:
    """The logarithm of Eh.

    >>> few, many = (Case(parameters=1e9, facts=facts, batch=128) for facts in (100, 10_000))
    >>> log_half_at(few, CONSTANTS) > log_half_at(many, CONSTANTS)
    True
    """
    return math.log(sum(_terms(case, constants)))


def _terms(case: Case, constants: Constants) -> tuple[float, float]:
    """The exposures that learning takes, and those that the least number of steps takes."""
    learning = math.exp(constants.log_scale) * (case.parameters / _REFERENCE) ** constants.size
    return learning, math.exp(constants.log_floor) * case.batch / case.facts


def floor_share(case: Case, constants: Constants) -> float:
    """The part of Eh that is due to the least number of steps: a smaller batch would save it."""
    learning, floor = _terms(case, constants)
    return floor / (learning + floor)


def _gradient(case: Case, constants: Constants) -> Float[np.ndarray, " 3"]:
    """Derivatives of log Eh by its three constants."""
    floor = floor_share(case, constants)
    size = math.log(case.parameters / _REFERENCE)
    return np.array([1 - floor, (1 - floor) * size, floor])


def expected(case: Case, constants: Constants) -> Learning:
    """How quickly a new user's facts will be learned.

    >>> learning = expected(Case(parameters=1e9, facts=5000, batch=128), CONSTANTS)
    >>> learning.half.low < 5 < learning.half.high
    True
    """
    return Learning(
        Spread(
            log_half_at(case, constants),
            math.sqrt(_shared_covariance(case, case, constants)),
            constants.run,
        ),
        Spread(
            constants.log_slope,
            math.hypot(
                math.hypot(constants.slope_source, constants.slope_group),
                constants.log_slope_error,
            ),
            constants.slope_run,
        ),
    )


def _shared_covariance(first: Case, second: Case, constants: Constants) -> float:
    """Of log Eh of two trainings of the same model with facts from the same data."""
    known = _gradient(first, constants) @ np.array(constants.covariance)
    constant = float(known @ _gradient(second, constants))
    return constant + constants.source**2 + constants.group**2


def after_probe(
    case: Case, probed: Case, half: float, half_error: float, constants: Constants
) -> Spread:
    """log Eh of a training, after a sample of the facts was taught to the same model.

    Args:
        case: the training.
        probed: that of the sample.
        half: exposures to one half that the sample took.
        half_error: the standard error of their logarithm.
        constants: of the law.

    >>> case, probed = (Case(parameters=1e9, facts=facts, batch=64) for facts in (9000, 300))
    >>> after_probe(case, probed, 12.0, 0.05, CONSTANTS).deviation < expected(
    ...     case, CONSTANTS).log_half.deviation
    True
    """
    between = _shared_covariance(case, probed, constants)
    of_probe = _shared_covariance(probed, probed, constants) + constants.run**2 + half_error**2
    off = math.log(half) - log_half_at(probed, constants)
    left = _shared_covariance(case, case, constants) - between**2 / of_probe
    mean = log_half_at(case, constants) + between / of_probe * off
    return Spread(mean, math.sqrt(max(left, 0.0)), constants.run)


def slope_after_probe(slope: float, slope_error: float, constants: Constants) -> Spread:
    """log b of a training, after that of a sample was measured with an error of its logarithm."""
    before = expected(Case(_REFERENCE, 1, 1), constants).log_slope
    weight = before.shared**2 / (before.deviation**2 + slope_error**2)
    mean = before.mean + weight * (math.log(slope) - before.mean)
    return Spread(mean, before.shared * math.sqrt(1 - weight), before.own)


NO_LOAD = Ends(0.0, 0.0, 0.0)
"""Of parameters that could store any number of facts."""


def load_of(question: Question) -> Ends:
    """Bits of all facts over the bits that the trained parameters store: the middle, low, high.

    >>> one, many = (Question(method="lora", facts=facts, answers=1024, exposures=1, trained=10**6)
    ...              for facts in (100, 1000))
    >>> load_of(many).value == 10 * load_of(one).value
    True
    """
    room = room_for(question)
    return Ends(*(question.facts / facts for facts in (room.value, room.high, room.low)))


def room_for(question: Question) -> Ends:
    """How many such facts leave recall at one half, however often they are seen."""
    if question.method == "lora":
        return Ends(*(bits * question.trained / question.bits for bits in LORA_BITS))
    laws = {"allen-zhu-li": ALLEN_ZHU_LI, "nichani": NICHANI, "morris": MORRIS}
    # Capacities of training from scratch: no other is published of whole models.
    often = replace(question, method="pretrain", exposures=SATURATED)
    answers = {name: law.capacity(often) for name, law in laws.items()}
    return spanned(
        {name: each for name, each in answers.items() if isinstance(each, Capacity)}, often
    ).facts


def facts_at(target: float, question: Question) -> Ends:
    """Up to how many such facts recall may reach a target, if they are seen often enough.

    >>> question = Question(method="lora", facts=100, answers=1024, exposures=1, trained=10**6)
    >>> facts_at(0.5, question) == room_for(question)
    True
    """
    part = (1 / target - 1) ** (1 / LOAD_EXPONENT)
    return Ends(*(part * facts for facts in room_for(question)))


def recall_after(exposures: float, learning: Learning, load: Ends) -> Ends:
    """Recall after so many exposures, with a 90 % interval that has the error of the form too.

    >>> learning = expected(Case(parameters=1e9, facts=5000, batch=128), CONSTANTS)
    >>> recall_after(1e4, learning, NO_LOAD).low > 0.9
    True
    """
    log_half, slope, limit = _grid(learning, load)
    with np.errstate(over="ignore"):
        early = np.exp(slope * (log_half - math.log(exposures)))
    value, low, high = _quantiles(1 / (1 + limit + early))
    return Ends(value, max(low - SHAPE, 0.0), min(high + SHAPE, 1.0))


def exposures_to(target: float, learning: Learning, load: Ends) -> Ends:
    """Exposures until recall reaches a target, with a 90 % interval; infinite if it never does.

    >>> learning = expected(Case(parameters=1e9, facts=5000, batch=128), CONSTANTS)
    >>> half, most = (exposures_to(target, learning, NO_LOAD) for target in (0.5, 0.9))
    >>> half.value < most.value < most.high
    True
    """
    log_half, slope, limit = _grid(learning, load)
    left = 1 / target - 1 - limit
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = np.exp(log_half - np.log(left) / slope)
    return _quantiles(np.where(left > 0, reached, math.inf))


def _grid(learning: Learning, load: Ends) -> tuple[Float[np.ndarray, " n"], ...]:
    """Equally probable values of log Eh, of b and of load^a, each with all others."""
    halves, slopes, loads = (_normal_quantiles(count) for count in _QUANTILES)
    log_half = learning.log_half.mean + learning.log_half.deviation * halves
    slope = np.exp(learning.log_slope.mean + learning.log_slope.deviation * slopes)
    limit = np.zeros(1)
    if load.value:
        deviation = math.log(load.high / load.low) / (2 * SIGMAS)
        limit = np.exp(LOAD_EXPONENT * (math.log(load.value) + deviation * loads))
    mesh = np.meshgrid(log_half, slope, limit, indexing="ij")
    return tuple(each.ravel() for each in mesh)


@cache
def _normal_quantiles(count: int) -> Float[np.ndarray, " n"]:
    normal = NormalDist()
    return np.array([normal.inv_cdf((place + 0.5) / count) for place in range(count)])


def _quantiles(values: Float[np.ndarray, " n"]) -> Ends:
    ranked = np.sort(values)
    places = (0.5, _FIVE, _NINETY_FIVE)
    return Ends(*(float(ranked[int(place * len(ranked))]) for place in places))
