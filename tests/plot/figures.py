"""Every kind of figure, from made-up data: easy cases and narrow ranges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from made_up_report import statements

from recallscope.plot import ablation, check, critical, phase_diagram, phase_map, scaling
from recallscope.plot.picture import picture_figure

PROBLEM = {
    **{"vocab": 512, "samples": None, "dim": 96, "length": 16, "width": None},
    **{"activation": None, "embedding": "sphere", "trigger_in_values": False},
}


class FigureKind(NamedTuple):
    """One of the modules, and data for it."""

    module: Any
    name: str
    data: Any

    def figure(self, **options):
        return getattr(self.module, f"{self.name}_figure")(self.data, **options)

    def caption(self):
        return getattr(self.module, f"{self.name}_caption")(self.data)

    def panels(self):
        return getattr(self.module, f"{self.name}_panels")(self.data)

    def draw(self, axes):
        getattr(self.module, f"draw_{self.name}")(axes, self.data)


def searched(sizes=(300, 600, 1000, 1400, 2000, 4000), **changes) -> dict[str, Any]:
    """A critical search."""
    middle = sizes[len(sizes) // 2]
    rate = [1 / (1 + (middle / size) ** 3) for size in sizes]
    curve = [
        {"size": size, "accuracy": r, "low": r - 0.05, "high": r + 0.04, "runs": 2, "tests": 8192}
        for size, r in zip(sizes, rate, strict=True)
    ]
    grid = np.geomspace(sizes[0], sizes[-1], 50).tolist()
    theory = [{"size": size, "accuracy": 1 / (1 + (middle / size) ** 3.2)} for size in grid]
    return {
        **{"problem": PROBLEM, "quantity": "samples", "target": 0.5, "accuracy": "recall_accuracy"},
        **{"value": middle, "low": int(0.96 * middle), "high": int(1.04 * middle), "reason": None},
        **{"curve": curve, "evaluations": 12, "failures": 0, "infeasible": 0},
        **{"theory": middle, "theory_curve": theory, **changes},
    }


def law(dims=(32, 48, 64, 96, 128), lengths=(16, 64, 256), **changes) -> dict[str, Any]:
    """A law of two sizes with its collapse."""
    panels = []
    for name, sizes, power in (("dim", dims, -1.4), ("length", lengths, 0.8)):
        values = [1e4 * (size / sizes[0]) ** power for size in sizes]
        points = [
            {"x": x, "value": y, "log_sd": 0.05, "bound": 0, "theory": 1.1 * y}
            for x, y in zip(sizes, values, strict=True)
        ]
        points[-1]["bound"] = 1
        line = [{"x": x, "value": y} for x, y in zip(sizes, values, strict=True)]
        panels.append({"size": name, "points": points, "line": line})
    rng = np.random.default_rng(0)
    ratios = np.exp(rng.normal(0, 0.5, 80))
    return {
        **{"quantity": "samples", "target": 0.5, "accuracy": "recall_accuracy", "status": "ok"},
        "advice": "One power law fits all that was measured.",
        "exponents": {
            "dim": {"value": -1.4, "low": -1.52, "high": -1.31, "theory": -1.38},
            "length": {"value": 0.8, "low": 0.71, "high": 0.92, "theory": None},
        },
        "goodness": {"p_value": 0.3, "reached": 6, "bounds": 2},
        "panels": panels,
        "collapse": {"law": 0.031, "raw": 0.212, "seeds": 0.024},
        "collapse_points": [
            {"problem": at % 7, "ratio": ratio, "accuracy": 1 / (1 + ratio**-3)}
            for at, ratio in enumerate(ratios.tolist())
        ],
        "points": [PROBLEM | {"evaluations": 40}],
        **changes,
    }


def compared(shift=0.2, rows=4) -> list[dict[str, Any]]:
    """Ablations; the last one lost all its pairs."""
    names = ("embedding", "trigger in the values", "mlp", "steps", "first gradient")
    found = [
        {
            **{"ablation": names[at % 5], "a": "sphere embeddings", "b": "Gaussian embeddings"},
            **{"mean_a": 0.5, "low_a": 0.47, "high_a": 0.53},
            **{"mean_b": 0.5 + shift, "low_b": 0.46 + shift, "high_b": 0.55 + shift},
            **{"difference": shift, "low": 0.8 * shift, "high": 1.3 * shift, "verdict": "B higher"},
            **{"pairs": 16, "failed": 0, "infeasible": 0, "tests": 4096, "note": "" if at else "x"},
            **{"problem_a": PROBLEM | {"samples": 2048}, "problem_b": PROBLEM},
            "accuracy_a": "recall_accuracy",
        }
        for at in range(rows)
    ]
    lost = {name: None for name in found[-1] if name.startswith(("mean", "low", "high", "diff"))}
    found[-1] |= lost | {"verdict": "no pair to compare", "failed": 16}
    return found


def checked(scale=1.0) -> dict[str, Any]:
    """A check of five noises; a small scale makes all of them nearly level."""
    noises = [
        *(
            ("first_gradient", "interference"),
            ("attention", "gradient_noise"),
            ("attention", "signal"),
        ),
        *(("recall", "kernel_interference"), ("recall", "mean_bias")),
    ]
    factors = np.array([0.5, 0.71, 1, 1.41, 2])
    comparisons = []
    for at, (stage, term) in enumerate(noises):
        for place, size in enumerate(("vocab", "samples", "dim")):
            level = 0.02 * 3.0 ** -(at % 5)
            predicted = level * factors ** (scale * (place - 1))
            comparisons.append(
                {
                    **{"stage": stage, "term": term, "size": size},
                    "values": (64 * factors).tolist(),
                    "measured": (1.02 * predicted).tolist(),
                    "errors": (0.05 * scale * predicted).tolist(),
                    "predicted": predicted.tolist(),
                    "verdict": "fail" if (at, place) == (1, 1) else "pass",
                }
            )
    return {
        "problem": PROBLEM | {"samples": 2048, "width": 256, "activation": "relu"},
        "seeds": 64,
        "failed": [{"stage": "attention", "term": "gradient_noise"}],
        "comparisons": comparisons,
    }


def diagram(xs=None, ys=None, length=16, **changes) -> dict[str, Any]:
    """A phase diagram with a fine line of theory."""
    xs = np.geomspace(32, 256, 20).round().tolist() if xs is None else list(xs)
    ys = np.geomspace(64, 8192, 20).round().tolist() if ys is None else list(ys)

    def crossing(x):
        return 8e4 * length / 16 / x

    cells = []
    for y in ys:
        for x in xs:
            predicted = float(1 / (1 + (crossing(x) / y) ** 2))
            mean = predicted + (0.04 if x > 200 and y < 200 else 0.002)
            kind = ("recall", "interference") if x < 100 else ("recall", "sampling")
            kind = ("attention", "mean_bias") if y < 300 and x < 150 else kind
            cells.append(
                {
                    **{"x": x, "y": y, "mean": mean, "predicted": predicted},
                    "disagrees": abs(mean - predicted) > 0.02,
                    **{"stage": kind[0], "term": kind[1], "tests": 4096, "failed": 0},
                }
            )
    wrong = sum(cell["disagrees"] for cell in cells)
    fine = np.geomspace(xs[0], xs[-1], 200).tolist()
    return {
        **{"problem": PROBLEM | {"samples": None, "dim": None, "length": length}},
        **{"x": {"name": "dim", "values": xs}, "y": {"name": "samples", "values": ys}},
        **{"accuracy": "recall_accuracy", "target": 0.5, "seeds": 8, "cells": cells},
        "boundary": [
            {"x": x, "value": crossing(x), "low": crossing(x) / 1.1, "high": crossing(x) * 1.1}
            for x in xs
        ],
        "theory_line": [{"x": x, "value": crossing(x)} for x in fine],
        "disagreement": {"count": wrong, "of": len(cells), "tolerance": 0.01},
        "without_theory": None,
        **changes,
    }


NARROW = [40.0, 41.0, 42.0, 43.0]
KINDS = {
    "critical": FigureKind(critical, "critical", searched()),
    "critical of a narrow range": FigureKind(critical, "critical", searched((1000, 1010, 1030))),
    "critical without a crossing": FigureKind(
        critical, "critical", searched(value=None, low=None, high=None, reason="beyond the range")
    ),
    "scaling": FigureKind(scaling, "scaling", law()),
    "scaling of narrow ranges": FigureKind(scaling, "scaling", law((60, 64), (100, 101, 103))),
    "ablation": FigureKind(ablation, "ablation", compared()),
    "ablation of no effect": FigureKind(ablation, "ablation", compared(1e-4, 2)),
    "check": FigureKind(check, "check", checked()),
    "check of level noises": FigureKind(check, "check", checked(1e-3)),
    "phase diagram": FigureKind(phase_diagram, "phase_diagram", [diagram()]),
    "two phase diagrams": FigureKind(
        phase_diagram, "phase_diagram", [diagram(), diagram(length=64)]
    ),
    "narrow phase diagram": FigureKind(phase_diagram, "phase_diagram", [diagram(NARROW, NARROW)]),
    "phase map": FigureKind(phase_map, "phase_map", diagram()),
    "narrow phase map": FigureKind(phase_map, "phase_map", diagram(NARROW, NARROW)),
}


def pictures():
    """The figures of statements, by name."""
    return {
        statement.name: lambda statement=statement, found=found, **options: picture_figure(
            found.picture, statement.title, **options
        )
        for statement, found in statements()
        if statement.name in ("products", "families", "rude")
    }
