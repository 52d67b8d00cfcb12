"""A job that is one call into torch, for `faults.py`; here, where workers can import it."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class OneProduct:
    """Multiply two matrices of so many rows; 10,000 take some 20 s on one core."""

    rows: int

    def run(self) -> float:
        matrix = torch.ones(self.rows, self.rows)
        return float((matrix @ matrix)[0, 0])
