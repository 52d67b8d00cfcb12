"""The phase map of the attention-MLP over m and d, from closed forms: docs/phase.png.

phase_diagram/phase
"""

from pathlib import Path

import numpy as np

from recallscope import Problem, phase_map
from recallscope.plot.phase_map import phase_map_figure
from recallscope.plot.style import save


def main() -> None:
    problem = Problem(vocab=4096, samples=200_000, dim=1, length=64, width=1, activation="relu")
    plane = phase_map(
        problem, x=("dim", np.geomspace(16, 2048, 120)), y=("width", np.geomspace(16, 65536, 120))
    )
    title = "Closed forms at V=4096, N=200,000, L=64, ReLU MLP, sphere embeddings"
    docs = Path(__file__).parents[3] / "docs"
    save(phase_map_figure(plane.figure_data(), title, width=3.25), docs / "phase.png")


if __name__ == "__main__":
    main()
