"""What the page is given beside its code: tables of the theory, measured points, small examples."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import Any

import numpy as np

from recallscope import __version__
from recallscope.explorer.examples import EXAMPLES, example_arrays
from recallscope.problem import ACTIVATIONS
from recallscope.theory.accuracy import Accuracies
from recallscope.theory.end_answers import recorded
from recallscope.theory.label_pool import pool
from recallscope.theory.memory_recall import rival_draws
from recallscope.theory.output_cone import cone_rows
from recallscope.theory.simulations import simulations

_POOL = (64, 4096)  # the sizes that the law of the end was measured at
_POOL_DEGREE = 10  # off by less than 1e-9
_BITS = 2**30  # Sobol's numbers are whole multiples of 1 over this


def page_data() -> dict[str, Any]:
    """Everything, fit for JSON.

    >>> sorted(page_data())
    ['cones', 'draws', 'examples', 'measured', 'pool', 'simulated', 'trained', 'version']
    """
    measured = files("recallscope.explorer").joinpath("measured.json").read_text(encoding="utf-8")
    return {
        "version": __version__,
        "pool": _pool_series(),
        "cones": [
            {"vocab": vocab, "crowding": crowding.tolist(), "left": left.tolist()}
            for vocab, crowding, left in cone_rows()
        ],
        "draws": np.round(rival_draws() * _BITS).astype(int).tolist(),
        "simulated": _simulated(),
        "trained": _trained(),
        "measured": json.loads(measured),
        "examples": [example_arrays(example) for example in EXAMPLES],
    }


def _pool_series() -> dict[str, Any]:
    """The pool of a label as Chebyshev series in log V."""
    middle, half = np.log(_POOL).mean(), np.diff(np.log(_POOL))[0] / 2
    nodes = np.polynomial.chebyshev.chebpts1(_POOL_DEGREE + 1)
    values = np.array([pool(math.exp(middle + half * node)) for node in nodes])
    mean, variance = np.polynomial.chebyshev.chebfit(nodes, values, _POOL_DEGREE).T.tolist()
    return {"range": _POOL, "mean": mean, "variance": variance}


def _simulated() -> list[dict[str, Any]]:
    """The simulated problems, what was simulated, and what is predicted today."""
    known, found, predicted = simulations()
    rows = []
    for place in range(len(known.vocab)):
        alone = math.isinf(known.width[place])
        rows.append(
            {
                **{name: int(getattr(known, name)[place]) for name in _SIZES},
                "width": None if alone else int(known.width[place]),
                "activation": None if alone else ACTIVATIONS[known.activation[place]],
                "trigger_in_values": bool(known.marked[place]),
                "simulated": _accuracies(found, place),
                "predicted": _accuracies(predicted, place),
            }
        )
    return rows


_SIZES = ("vocab", "samples", "dim", "length")


def _accuracies(values: Accuracies, place: int) -> dict[str, float]:
    named = values._asdict().items()
    return {name: float(f"{column[place]:.9g}") for name, column in named}


def _trained() -> list[dict[str, Any]]:
    """The trainings that the law of the end was compared with."""
    names = ("learner", *_SIZES, "predicted", "recall")
    columns = [recorded("trained.csv")[name].tolist() for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
