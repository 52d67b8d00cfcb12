"""Texts that a model should still predict well after it was taught."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.common.given_files import read_regular
from recallscope.teaching.fact_files import ENDINGS, rows_of

_MOST_BYTES = 2**24
_MOST_TEXTS = 1000
_MOST_TOKENS = 512  # of a text
_MOST_CHARACTERS = 2**14  # of a text: enough for its tokens

Texts = str | Path | Sequence[str]


def kept_texts(keep: Texts | None) -> list[str]:
    """Texts from a .txt with empty lines between them, from the column text of a table, or a list.

    >>> kept_texts(["One text.", "Another."])
    ['One text.', 'Another.']
    """
    if keep is None:
        return []
    texts: list[Any]
    called = "the texts to keep"
    if not isinstance(keep, (str, Path)):
        texts = list(keep)
    elif Path(keep).suffix.lower() in ENDINGS:
        called = f"the file of texts {Path(keep).name!r:.100}"
        texts = []
        for _, row in rows_of(Path(keep), called, ("text",), ()):
            texts.append(row["text"])
            if len(texts) == _MOST_TEXTS:
                break
    else:
        called = f"the file of texts {Path(keep).name!r:.100}"
        content = read_regular(keep, "file of texts", _MOST_BYTES)
        try:
            texts = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n\n")
        except UnicodeDecodeError:
            raise ProblemError(f"{called} must be UTF-8; save it in that encoding") from None
    if not all(isinstance(text, str) for text in texts):
        raise ProblemError(f"{called} must have texts only")
    found = [text.strip()[:_MOST_CHARACTERS] for text in texts if text.strip()]
    if not found:
        raise ProblemError(f"{called} must have one text at least; it has none")
    return found[:_MOST_TEXTS]


def tokens_of(texts: Sequence[str], tokenizer: Any, context: int) -> list[list[int]]:
    """The first tokens of each text, where there are two at least."""
    if not texts:
        return []
    rows = tokenizer(list(texts))["input_ids"]
    return [row[: min(context, _MOST_TOKENS)] for row in rows if len(row) > 1]
