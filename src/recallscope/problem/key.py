"""Values as a text that is the same on every machine, and its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical(values: Mapping[str, Any]) -> str:
    """JSON with sorted names and no spaces: equal for equal values.

    >>> canonical({"dim": 8, "activation": None})
    '{"activation":null,"dim":8}'
    """
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def digest(text: str) -> str:
    """Thirty-two hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
