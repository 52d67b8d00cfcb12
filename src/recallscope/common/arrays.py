"""Names for arrays of numbers."""

from __future__ import annotations

import numpy as np

from recallscope.common.shapes import Float

Column = Float[np.ndarray, " n"]
"""A number for each of several things."""
Table = Float[np.ndarray, "n k"]
"""A row of numbers for each of several things."""
