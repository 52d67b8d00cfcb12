"""The sizes that closed forms are functions of."""

from __future__ import annotations

SIZES = ("vocab", "samples", "dim", "length", "width")
