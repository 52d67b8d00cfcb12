"""K_d(V): how many dimensions the cone of a label lacks, among V random outputs in d dimensions.

    memories/output_cones    # adds the missing rows of theory/output_cones.csv

A fact is held if its hidden vector h in R^d has (u_0 − u_y)·h ≥ 0 for every label y. The squared
distance of a normal vector from this cone and the number of labels that its projection is level
with have the same mean, K_d(V); the second varies less and is the one recorded. Outputs are drawn
from the sphere, centred and whitened: the end of training does not depend on a linear map of them.
"""

from __future__ import annotations

import csv
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

TABLE = Path(__file__).parents[3] / "src/recallscope/theory/output_cones.csv"
SMALL = 128  # labels up to which the table is finer, and its cells more exact
VOCAB = (8, 16, 32, 64, SMALL, 256, 1024, 4096, 16384, 65536)
DIM = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
MOST_NUMBERS = 2**22  # of a table of outputs
NEAR = 48  # rivals looked at first: those with the highest scores
PER_TABLE = 100  # facts read with one table of outputs


def outputs_of(rng: np.random.Generator, vocab: int, dim: int) -> np.ndarray:
    """Random outputs on the sphere, centred and whitened."""
    rows = rng.standard_normal((vocab, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    whitened, _ = np.linalg.qr(rows - rows.mean(axis=0))
    return whitened * math.sqrt(vocab / dim)


def rivals_level(rng: np.random.Generator, outputs: np.ndarray) -> int:
    """How many rivals the projection of one normal vector on a random label's cone is level with.

    The projection leaves out the part in the polar cone, which non-negative least squares finds;
    rivals that its rest does not yet obey are added until none is left.
    """
    vocab, dim = outputs.shape
    normal, own = rng.standard_normal(dim), int(rng.integers(vocab))
    most = min(NEAR + 1, vocab)
    near = np.argpartition(-(outputs @ normal), most - 1)[:most]
    while True:
        near = near[near != own]
        edges = (outputs[near] - outputs[own]).T
        weights, _ = nnls(edges, normal, maxiter=100 * vocab)
        scores = outputs @ (normal - edges @ weights)
        above = np.flatnonzero(scores > scores[own] + 1e-7 * max(1.0, abs(scores[own])))
        above = np.setdiff1d(above, [*near, own])
        if not len(above):
            return int((weights > 1e-10).sum())
        near = np.concatenate([near, above[np.argsort(-scores[above])][:NEAR]])


def measured(cell: tuple[int, int]) -> list[float]:
    """K_d(V) and its standard error, over tables of outputs."""
    vocab, dim = cell
    rng = np.random.default_rng([37, vocab, dim])
    tables = 200 if vocab <= SMALL else 50
    means = []
    for _ in range(tables):
        outputs = outputs_of(rng, vocab, dim)
        means.append(np.mean([rivals_level(rng, outputs) for _ in range(PER_TABLE)]))
    return [vocab, dim, float(np.mean(means)), float(np.std(means, ddof=1) / math.sqrt(tables))]


def main() -> None:
    """Every cell of the table."""
    cells = [
        (vocab, dim)
        for vocab in VOCAB
        for dim in (DIM if vocab <= SMALL else DIM[::2])
        if dim < vocab - 1 and vocab * dim <= MOST_NUMBERS
    ]
    with TABLE.open() as file:
        done = {(int(row["vocab"]), int(row["dim"])) for row in csv.DictReader(file)}
    cells = [cell for cell in cells if cell not in done]
    with ProcessPoolExecutor(2) as pool, TABLE.open("a", newline="") as file:
        writer = csv.writer(file)
        for vocab, dim, cone, error in pool.map(measured, cells):
            writer.writerow([vocab, dim, f"{cone:.4f}", f"{error:.4f}"])
            file.flush()


if __name__ == "__main__":
    main()
