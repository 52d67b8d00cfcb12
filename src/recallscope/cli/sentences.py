"""The sentences of commands."""

from __future__ import annotations

from typing import Any

from recallscope.parts.data_files import sentences_next_to


def said(sentence: str, found: Any, /, **more: Any) -> str:
    """A sentence of sentences.toml about something.

    >>> said("long", "2.0 h", instead="take less of it")
    'this is predicted to take about 2.0 h; give --yes to run it anyway, or take less of it'
    """
    return sentences_next_to(__file__, "sentences.toml")[sentence].format(found=found, **more)
