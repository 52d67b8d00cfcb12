"""Which cases of a test the fast lane runs: the first ones; the slow lane runs the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_after_first(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """The cases of a test; the fast lane runs the first ones only."""
    return [
        case
        if place < count
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for place, case in enumerate(cases)
    ]
