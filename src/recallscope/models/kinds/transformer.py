"""The model of the paper: one attention layer, alone or before a frozen random MLP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.models.kind import Model

if TYPE_CHECKING:
    from recallscope.models.instance import Instance
    from recallscope.models.transformer import Transformer


def _build(instance: Instance) -> Transformer:
    from recallscope.models.transformer import Transformer

    return Transformer(instance)


PART = Model(build=_build, closed_form=True)
