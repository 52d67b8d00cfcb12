"""The colours of the page: those of all figures, as variables of its style."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

from recallscope.plot.style import COLOUR_MAP, COLOURS, GREY, NOISES

_STEPS = 17  # of the colour map; the page draws straight lines between them


def colour_variables() -> str:
    """The variables, as a rule of a style sheet.

    >>> colour_variables().split()[:4]
    [':root', '{', '--colour-0:', '#0072B2;']
    """
    scale = colormaps[COLOUR_MAP](np.linspace(0, 1, _STEPS))
    colours = {
        **{f"colour-{place}": colour for place, colour in enumerate(COLOURS)},
        "grey": GREY,
        **{f"noise-{name}": colour for name, (colour, _) in NOISES.items()},
        "scale": " ".join(map(to_hex, scale)),
    }
    return f":root {{ {' '.join(f'--{name}: {colour};' for name, colour in colours.items())} }}"
