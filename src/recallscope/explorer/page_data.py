"""The data of the page: tables of the theory, measured points, small examples."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from recallscope import __version__
from recallscope.explorer.examples import EXAMPLES, example_arrays
from recallscope.theory.choosing import law_named
from recallscope.theory.label_pool import pool
from recallscope.theory.memory_recall import rival_draws
from recallscope.theory.output_cone import cone_rows

_LAWS = ("three-step", "trained", "converged")  # laws that the page computes
_SIZES = ("vocab", "samples", "dim", "length")
_POOL_DEGREE = 10  # off by less than 1e-9
_BITS = 2**30  # Sobol's numbers are whole multiples of 1 over this


def page_data() -> dict[str, Any]:
    """Everything, fit for JSON.

    >>> sorted(page_data())
    ['cones', 'draws', 'examples', 'measured', 'pool', 'simulated', 'tested', 'trained', 'version']
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
        "tested": {name: dict(law_named(name).tested) for name in _LAWS},
        "measured": json.loads(measured),
        "examples": [example_arrays(example) for example in EXAMPLES],
    }


def _pool_series() -> dict[str, Any]:
    """The pool of a label as Chebyshev series in log V."""
    ends = law_named("converged").tested["vocab"]
    middle, half = np.log(ends).mean(), np.diff(np.log(ends))[0] / 2
    nodes = np.polynomial.chebyshev.chebpts1(_POOL_DEGREE + 1)
    values = np.array([pool(math.exp(middle + half * node)) for node in nodes])
    mean, variance = np.polynomial.chebyshev.chebfit(nodes, values, _POOL_DEGREE).T.tolist()
    return {"range": ends, "mean": mean, "variance": variance}


def _simulated() -> list[dict[str, Any]]:
    """The simulated problems, with simulated and predicted accuracies."""
    fields = (*_SIZES, "width", "activation", "trigger_in_values")
    return [
        {
            **{name: getattr(problem, name) for name in fields},
            "simulated": _short(measured),
            "predicted": _short(predicted),
        }
        for problem, predicted, measured in law_named("three-step").comparisons()
    ]


def _short(accuracies: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.9g}") for name, value in accuracies.items()}


def _trained() -> list[dict[str, Any]]:
    """The trainings that the law for the end of training was compared with."""
    return [
        {
            "learner": problem.learner,
            **{name: getattr(problem, name) for name in _SIZES},
            "predicted": predicted["recall_accuracy"],
            "recall": measured["recall_accuracy"],
        }
        for problem, predicted, measured in law_named("trained").comparisons()
        if problem.width is None
    ]
