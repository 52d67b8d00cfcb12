"""Types of arrays that name their axes, as in `Float[np.ndarray, "V d"]`.

They are for readers and type checkers. When the code is run they are nothing, and jaxtyping need
not be installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtyping import Bool, Complex, Float, Int, Int64, Shaped, UInt, UInt8, UInt64
else:

    class Shaped:
        """Any array."""

        def __class_getitem__(cls, shape: object) -> Any:
            return Any

    Bool = Complex = Float = Int = Int64 = UInt = UInt8 = UInt64 = Shaped

__all__ = ["Bool", "Complex", "Float", "Int", "Int64", "Shaped", "UInt", "UInt8", "UInt64"]
