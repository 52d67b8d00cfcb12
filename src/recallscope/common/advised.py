"""Words for how something ended, each with a sentence of advice."""

from __future__ import annotations

from enum import StrEnum

from recallscope.parts.data_files import data_next_to


class Advised(StrEnum):
    """A member is a word, and has a sentence on what it means and what to do about it."""

    @property
    def advice(self) -> str:
        """One sentence on what it means and what to do about it."""
        return str(data_next_to(__file__, "advice.toml")[type(self).__name__][self])
