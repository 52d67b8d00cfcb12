"""Words for how something ended, each with a sentence of advice."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Advised(StrEnum):
    """A member is a word, and has a sentence on what it means and what to do about it."""

    _advice: str

    def __new__(cls, word: str, advice: str = "") -> Self:
        member = str.__new__(cls, word)
        member._value_, member._advice = word, advice
        return member

    @property
    def advice(self) -> str:
        """One sentence on what it means and what to do about it."""
        return self._advice
