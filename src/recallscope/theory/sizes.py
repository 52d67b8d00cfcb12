"""The sizes of a problem, and which way each of them helps."""

from __future__ import annotations

SIZES = ("vocab", "samples", "dim", "length", "width")

GROWS = {"samples": True, "dim": True, "width": True, "vocab": False, "length": False}
"""Whether more of a size helps: then the smallest that will do is wanted, else the largest."""
