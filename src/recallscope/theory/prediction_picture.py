"""The figure of a prediction: accuracies with bars, and noises by stage."""

from __future__ import annotations

from collections.abc import Mapping

from recallscope.plotting.labels import accuracy_label
from recallscope.plotting.panels import Kind, Panel, Picture, Series


def prediction_picture(
    caption: str,
    bars: str,
    accuracies: Mapping[str, tuple[float, float]],
    noise: Mapping[str, Mapping[str, float]],
) -> Picture:
    """Each accuracy with how far its bar reaches either way, which `bars` explains."""
    shown = Series(
        label=bars,
        kind=Kind.MEASURED,
        x=[accuracy_label(name) for name in accuracies],
        y=[value for value, _ in accuracies.values()],
        low=[max(value - reach, 0) for value, reach in accuracies.values()],
        high=[min(value + reach, 1) for value, reach in accuracies.values()],
    )
    noises = [
        Series(
            label=stage.replace("_", " "),
            kind=Kind.MEASURED,
            x=[term.replace("_", " ") for term, variance in terms.items() if variance],
            y=[variance for variance in terms.values() if variance],
        )
        for stage, terms in noise.items()
    ]
    return Picture(
        caption=f"{caption} Noise: variances in units of the squared signal.",
        panels=[
            Panel(title="accuracy", x="", y="predicted accuracy", series=[shown]),
            Panel(title="noise by stage", x="", y="variance", series=noises, log_y=True),
        ],
    )
