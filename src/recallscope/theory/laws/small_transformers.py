"""Small transformers: recall by bits for each trained parameter, exposures and examples.

Fitted to trainings from scratch and after a first training, in full or by LoRA (the study
planner, docs/stock-transformers.md). Above chance recall is
1 / (1 + full + early): `full` grows with the load, the bits of all facts for each trained
parameter; `early` falls with exposures, and with the examples of the whole training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from recallscope.common.shapes import Bool, Float
from recallscope.problem.frequencies import frequent_fraction
from recallscope.theory.law import LawKind
from recallscope.theory.published import LawOfModels, refusal
from recallscope.theory.question import Capacity, Ends, Limit, Question
from recallscope.theory.recorded_error import SMALL_MODELS, error_near, recorded
from recallscope.theory.tested_range import beyond, beyond_by


class Constants(NamedTuple):
    """The fitted constants.

    Attributes:
        load: bits per trained parameter at which half of the facts are recalled, in the end.
        steepness: of recall there.
        early: `early` at a load, dim and context of 1, one exposure and one example.
        exposures, examples, crowding, dim, layers, rank, bits, context: exponents of `early` in
            exposures of a fact, examples of a training, the load, dimension and layers of the
            model, the rank of a LoRA, bits of a fact, and context.
        gated, full, lora, partial: how many times larger `early` is with gated MLPs, where a
            trained model learns more, and with a LoRA of some matrices only.
        space: what part of `load` is left to a LoRA of some matrices only.

    >>> CONSTANTS.load > 1
    True
    """

    load: float
    steepness: float
    early: float
    exposures: float
    examples: float
    crowding: float
    dim: float
    layers: float
    rank: float
    bits: float
    context: float
    gated: float
    full: float
    lora: float
    partial: float
    space: float


CONSTANTS = Constants(
    load=2.922,
    steepness=5.8,
    early=3.007e9,
    exposures=-1.63,
    examples=-0.8871,
    crowding=0.9186,
    dim=-1.158,
    layers=0.7616,
    rank=-1.104,
    bits=-1.370,
    context=1.386,
    gated=0.6209,
    full=0.6372,
    lora=0.8973,
    partial=26.2,
    space=0.7993,
)
_GOOD = 0.99
_TO_THE_END = 1e4  # exposures
_CLASSES = 25  # of frequency, at most
_WIDENS = 0.5  # for each factor of e beyond: so do errors grow from smaller models to larger ones


def recall_at(
    constants: Constants, sizes: Mapping[str, Any], slower: Any = 1.0, space: Any = 1.0
) -> Float[np.ndarray, "*n"]:
    """Recall of facts of such sizes, numbers or arrays, which are named as the exponents are.

    `early` is larger by a factor `slower`, and so many facts fit as if `load` had a factor `space`.

    >>> sizes = {"load": 1.0, "exposures": 1000.0, "examples": 1e6, "dim": 24.0, "bits": 6.0,
    ...          "context": 1.0, "layers": 1.0, "rank": 1.0}
    >>> float(recall_at(CONSTANTS, sizes)) > 0.98
    True
    """
    early = constants.early * slower * sizes["load"] ** constants.crowding
    with np.errstate(over="ignore"):  # by next to no exposures nothing is learnt
        for name in ("exposures", "examples", "dim", "layers", "rank", "bits", "context"):
            early = early * sizes[name] ** getattr(constants, name)
    full = (sizes["load"] / (space * constants.load)) ** constants.steepness
    chance = 2.0 ** -sizes["bits"]
    return chance + (1 - chance) / (1 + full + early)


def classes_of(facts: int, exponent: float) -> tuple[Float[np.ndarray, " k"], ...]:
    """Facts by frequency: how many there are in each class, and what part of all samples.

    >>> count, fraction = classes_of(1000, 1.0)
    >>> round(float(count.sum())), round(float(fraction.sum()), 3)
    (1000, 1.0)
    >>> bool(fraction[0] / count[0] > fraction[-1] / count[-1])
    True
    """
    if not exponent:
        return np.array([float(facts)]), np.ones(1)
    ends = np.unique(np.geomspace(1, facts, min(_CLASSES, facts)).round())
    fractions = [frequent_fraction(float(end), facts, exponent) for end in ends]
    return np.diff(ends, prepend=0.0), np.diff(fractions, prepend=0.0)


def sizes_of(question: Question) -> dict[str, float]:
    """The sizes of a question that the law is about."""
    return {
        "load": question.facts * question.bits / question.trained,
        "exposures": question.exposures,
        "examples": question.facts * question.exposures,
        "dim": float(question.dim),
        "layers": float(question.layers),
        "rank": float(question.rank or 1),
        "bits": question.bits,
        "context": float(question.context),
    }


def recalled(constants: Constants, question: Question, exposures: float) -> tuple[float, float]:
    """Return the recalled fraction of what is asked, and of the facts."""
    count, fraction = classes_of(question.facts, question.zipf_exponent)
    sizes = sizes_of(question) | {"examples": question.facts * exposures}
    seen = sizes | {"exposures": exposures * fraction * question.facts / count}
    slower = getattr(constants, question.method, 1.0) * constants.gated**question.gated
    space = 1.0
    if question.partial:
        slower, space = slower * constants.partial, constants.space
    recall = recall_at(constants, seen, slower, space)
    return float(fraction @ recall), float(count @ recall) / question.facts


def spread_near(sizes: Mapping[str, float], value: float, alike: Bool[np.ndarray, " n"]) -> float:
    """How far off 90 % of trainings near such sizes were, of those that are alike."""
    rows = recorded(SMALL_MODELS)
    known = {name: rows[name] for name in sizes}
    error = error_near(sizes, value, known, rows["expected"], rows["recall"], alike)
    assert error is not None
    return error.most


def _around(value: float, most: float) -> Ends:
    return Ends(value, max(value - most, 0.0), min(value + most, 1.0))


@dataclass(frozen=True)
class SmallTransformers(LawOfModels):
    """A law with fitted constants."""

    kind = LawKind.FITTED
    priority = 32
    origin = "Fitted to small transformers that were trained here."

    def capacity(self, question: Question) -> Capacity | str:
        """Recall and the facts that are stored, as trainings near it had them."""
        if (reason := refusal(question)) is not None:
            return reason
        sizes = sizes_of(question) | {"trained": float(question.trained)}
        value, stored = recalled(CONSTANTS, question, min(question.exposures, _TO_THE_END))
        rows = recorded(SMALL_MODELS)
        known = (rows["method"] == question.method) & (rows["partial"] == question.partial)
        # Trainings of the first study had another rate and other models than the planned ones.
        most = spread_near(sizes, value, known & (rows["study"] != "first"))
        ranges = {name: (rows[name][known].min(), rows[name][known].max()) for name in sizes}
        most *= 1 + _WIDENS * max(beyond_by(sizes[name], ranges[name]) for name in sizes)
        limit = Limit.NONE
        if value < _GOOD:
            often = recalled(CONSTANTS, question, _TO_THE_END)[0]
            limit = Limit.EXPOSURES if often - value > 1 - often else Limit.CAPACITY
        return Capacity(
            recall=_around(value, most),
            facts=Ends(*(question.facts * fraction for fraction in _around(stored, most))),
            limit=limit,
            extrapolated=[
                unlike for name in sizes if (unlike := beyond(name, sizes[name], ranges[name]))
            ],
            said=(
                f"{sizes['load']:.2g} bits per trained parameter, {question.exposures:,.0f} "
                "exposures"
            ),
        )


PART = SmallTransformers()
