"""Small transformers: recall by bits for each trained parameter, exposures and examples.

Fitted to trainings from scratch and after a first training, in full or by LoRA (`studies/
small_transformers.py`, `studies/planner.py`, docs/stock-transformers.md). Above chance recall is
1 / (1 + full + early): `full` grows with the load, the bits of all facts for each trained
parameter; `early` falls with exposures, and with the examples of the whole training.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from recallscope.common.frequencies import frequent_fraction
from recallscope.common.shapes import Float
from recallscope.theory.law import LawKind
from recallscope.theory.published import law_of_models, refusal
from recallscope.theory.question import Capacity, Ends, Limit, Question
from recallscope.theory.recorded_error import error_near, recorded
from recallscope.theory.tested_range import beyond, beyond_by


class Constants(NamedTuple):
    """What was fitted.

    Attributes:
        load: bits per trained parameter at which half of the facts are recalled, in the end.
        steepness: of recall there.
        early: `early` at a load, dim and context of 1, one exposure and one example.
        exposures, examples, crowding, dim, bits, context: exponents of `early` in exposures of a
            fact, examples of a training, the load, the dimension, bits of a fact, and context.
        full, lora: how many times larger `early` is after a first training.

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
    bits: float
    context: float
    full: float
    lora: float


CONSTANTS = Constants(3.0, 5.5, 1e7, -1.6, -0.59, 0.86, -1.5, -1.15, 1.15, 1.0, 1.0)
TABLE = "small_transformers.csv"
_GOOD = 0.99
_TO_THE_END = 1e4  # exposures
_CLASSES = 25  # of frequency, at most


def recall_at(
    constants: Constants, sizes: Mapping[str, Float[np.ndarray, "*n"]], method: str = "pretrain"
) -> Float[np.ndarray, "*n"]:
    """Recall of facts of such sizes, which are named as the exponents are.

    >>> sizes = {"load": 1.0, "exposures": 1000.0, "examples": 1e6, "dim": 24.0, "bits": 6.0,
    ...          "context": 1.0}
    >>> float(recall_at(CONSTANTS, sizes)) > 0.98
    True
    """
    early = constants.early * getattr(constants, method, 1.0) * sizes["load"] ** constants.crowding
    for name in ("exposures", "examples", "dim", "bits", "context"):
        early = early * sizes[name] ** getattr(constants, name)
    full = (sizes["load"] / constants.load) ** constants.steepness
    chance = 2.0 ** -sizes["bits"]
    return chance + (1 - chance) / (1 + full + early)


def classes_of(facts: int, exponent: float) -> tuple[Float[np.ndarray, " k"], ...]:
    """Facts by frequency: how many there are in each class, and what part of all samples.

    >>> count, asked = classes_of(1000, 1.0)
    >>> round(count.sum()), round(asked.sum(), 3), bool(asked[0] / count[0] > asked[-1] / count[-1])
    (1000, 1.0, True)
    """
    if not exponent:
        return np.array([float(facts)]), np.ones(1)
    ends = np.unique(np.geomspace(1, facts, min(_CLASSES, facts)).round())
    asked = [frequent_fraction(float(end), facts, exponent) for end in ends]
    return np.diff(ends, prepend=0.0), np.diff(asked, prepend=0.0)


def sizes_of(question: Question) -> dict[str, float]:
    """The sizes of a question that the law is about."""
    return {
        "load": question.facts * question.bits / question.trained,
        "exposures": question.exposures,
        "examples": question.facts * question.exposures,
        "dim": float(question.dim),
        "bits": question.bits,
        "context": float(question.context),
    }


def recalled(constants: Constants, question: Question, exposures: float) -> tuple[float, float]:
    """What is recalled: the fraction of what is asked, and of the facts."""
    count, asked = classes_of(question.facts, question.zipf_exponent)
    sizes = sizes_of(question) | {"examples": question.facts * exposures}
    seen = sizes | {"exposures": exposures * asked * question.facts / count}
    found = recall_at(constants, seen, question.method)
    return float(asked @ found), float(count @ found) / question.facts


def _capacity(question: Question) -> Capacity | str:
    if (reason := refusal(question)) is not None:
        return reason
    rows = recorded(TABLE)
    sizes = sizes_of(question) | {"trained": float(question.trained)}
    known = {name: rows[name] for name in sizes}
    alike = (rows["method"] == "pretrain") == (question.method == "pretrain")
    ranges = {name: (each[alike].min(), each[alike].max()) for name, each in known.items()}
    value, stored = recalled(CONSTANTS, question, min(question.exposures, _TO_THE_END))
    found = error_near(sizes, value, known, rows["expected"], rows["recall"], alike)
    assert found is not None
    most = found.most * (1 + max(beyond_by(sizes[name], ranges[name]) for name in ranges))
    limit = Limit.NONE
    if value < _GOOD:
        often = recalled(CONSTANTS, question, _TO_THE_END)[0]
        limit = Limit.EXPOSURES if often - value > 1 - often else Limit.CAPACITY
    return Capacity(
        recall=_around(value, most),
        facts=Ends(*(question.facts * each for each in _around(stored, most))),
        limit=limit,
        extrapolated=[said for name in ranges if (said := beyond(name, sizes[name], ranges[name]))],
        said=f"{sizes['load']:.2g} bits per trained parameter, {question.exposures:,.0f} exposures",
    )


def _around(value: float, most: float) -> Ends:
    return Ends(value, max(value - most, 0.0), min(value + most, 1.0))


PART = law_of_models(
    _capacity,
    LawKind.FITTED,
    priority=32,
    origin="Fitted to small transformers that were trained here.",
)
