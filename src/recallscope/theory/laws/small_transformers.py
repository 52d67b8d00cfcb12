"""Small transformers trained from scratch: recall by bits for each parameter, and by exposures.

Fitted, with five constants, to trainings of eleven sizes on two tasks (`studies/
small_transformers.py`, docs/stock-transformers.md). Above chance recall is 1 / (1 + full + early):
`full` grows with the load, the bits of all facts for each trained parameter; `early` falls with
exposures.
"""

from __future__ import annotations

import numpy as np

from recallscope.common.shapes import Float
from recallscope.theory.law import LawKind
from recallscope.theory.published import law_of_models, refusal, unequal
from recallscope.theory.question import Capacity, Ends, Limit, Question
from recallscope.theory.recorded_error import error_near, recorded
from recallscope.theory.tested_range import beyond, beyond_by

CONSTANTS = (3.01, 5.14, 72.1, 1.75, 0.549)
"""Bits per parameter at half recall, and the steepness there. Exposures at half recall, the
steepness, and the exponent of the load with which they grow."""
TABLE = "small_transformers.csv"
_GOOD = 0.99
_TO_THE_END = 1e4  # exposures


def recall_at(
    constants: tuple[float, ...],
    load: Float[np.ndarray, " n"],
    exposures: Float[np.ndarray, " n"],
    bits: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Recall at a load, after so many exposures, of answers with so many bits.

    >>> one, often, bits = (np.array([each]) for each in (1.0, 1000.0, 6.0))
    >>> float(recall_at(CONSTANTS, one, often, bits)[0]) > 0.98
    True
    """
    most, sharp, early, late, harder = constants
    full = (load / most) ** sharp
    unseen = (early / exposures) ** late * load**harder
    chance = 2.0**-bits
    return chance + (1 - chance) / (1 + full + unseen)


def _capacity(question: Question) -> Capacity | str:
    if (reason := refusal(question)) is not None:
        return reason
    if question.method != "pretrain":
        return f"it is about training all parameters from scratch, not about {question.method}"
    rows = recorded(TABLE)
    known = {name: rows[name] for name in ("trained", "exposures", "bits")}
    known["bits per parameter"] = rows["facts"] * rows["bits"] / rows["trained"]
    load = question.facts * question.bits / question.trained
    sizes = {
        "trained": float(question.trained),
        "exposures": question.exposures,
        "bits": question.bits,
        "bits per parameter": load,
    }
    ranges = {name: (float(each.min()), float(each.max())) for name, each in known.items()}
    value = _recall(question, question.exposures)
    found = error_near(sizes, value, known, rows["expected"], rows["recall"])
    assert found is not None
    most = found.most * (1 + max(beyond_by(sizes[name], ranges[name]) for name in ranges))
    stored = [question.facts * each for each in (value, value - most, value + most)]
    facts = Ends(*(min(max(each, 0.0), question.facts) for each in stored))
    limit = Limit.NONE
    if value < _GOOD:
        often = _recall(question, _TO_THE_END)
        limit = Limit.EXPOSURES if often - value > 1 - often else Limit.CAPACITY
    return Capacity(
        recall=Ends(*map(question.recalled, facts)),
        facts=facts,
        limit=limit,
        extrapolated=[
            *unequal(question),
            *(said for name in ranges if (said := beyond(name, sizes[name], ranges[name]))),
        ],
        said=f"{load:.2g} bits per trained parameter, {question.exposures:,.0f} exposures",
    )


def _recall(question: Question, exposures: float) -> float:
    load = question.facts * question.bits / question.trained
    values = (np.array([each]) for each in (load, min(exposures, _TO_THE_END), question.bits))
    return float(recall_at(CONSTANTS, *values)[0])


PART = law_of_models(
    _capacity,
    LawKind.FITTED,
    priority=30,
    origin="Fitted to small transformers that were trained here, all parameters from scratch.",
)
