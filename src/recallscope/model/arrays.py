"""Names for the arrays that are handed on in all of learning; n is a number of samples."""

from __future__ import annotations

from torch import Tensor

from recallscope.common.shapes import Bool, Float, Int64

Tokens = Int64[Tensor, "n L"]
"""The tokens of each sample."""
Numbers = Int64[Tensor, " n"]
"""A token, a position or a label of each sample."""
Flags = Bool[Tensor, " n"]
"""Yes or no for each sample."""
PerSample = Float[Tensor, " n"]
"""A number of each sample."""
Attention = Float[Tensor, "n L"]
"""A number for each position of each sample."""
Rows = Float[Tensor, "n d"]
"""A vector for each sample, such as what attention read."""
Features = Float[Tensor, "n m"]
"""The keys under which the memory stores each sample."""
Table = Float[Tensor, "V d"]
"""An embedding of each token, or of each label."""
Vector = Float[Tensor, " d"]
"""One vector, such as the direction of attention."""
Memory = Float[Tensor, "d m"]
"""A value matrix; m is d for attention alone."""
Scores = Float[Tensor, " V"]
"""A number for each token of the vocabulary."""
Bonus = Float[Tensor, ""]
"""The trigger's addition to the score of a token."""
KeyWeights = Float[Tensor, " V+1"]
"""A number for each token, and last one for the trigger."""
