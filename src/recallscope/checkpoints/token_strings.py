"""The texts of tokens, as names of rows: from a tokenizer's files, or lines of text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recallscope.checkpoints.bounded_json import read_json
from recallscope.common.formatting import printable
from recallscope.parts.given_files import read_regular
from recallscope.problem import ProblemError

_MOST_BYTES = 2**26
_MOST_TOKENS = 2_000_000
_LONGEST = 40  # letters that are shown


def token_strings(path: Path, rows: int) -> list[str]:
    """The text of each row's token, as far as it is known, from a tokenizer.json or from lines."""
    if path.suffix.lower() == ".json":
        return _from_tokenizer(read_json(path, "tokenizer", _MOST_BYTES), path, rows)
    content = read_regular(path, "list of tokens", _MOST_BYTES)
    return content.decode("utf-8", errors="replace").split("\n")[:rows]


def shown_token(text: str) -> str:
    r"""A token as people read it: a leading space as ␣, nothing that a terminal would act on.

    >>> shown_token("Ġthe"), shown_token("▁the"), shown_token("a\x1b[2Jb")
    ('␣the', '␣the', 'a\\x1b[2Jb')
    """
    plain = text.replace("Ġ", "␣").replace("▁", "␣").replace(" ", "␣").replace("Ċ", "↵")
    safe = printable(plain[: _LONGEST + 1])
    return safe if len(safe) <= _LONGEST else f"{safe[: _LONGEST - 1]}…"


def _from_tokenizer(data: dict[str, Any], path: Path, rows: int) -> list[str]:
    model = data.get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else data
    named: dict[int, str] = {}
    if isinstance(vocab, dict):  # BPE and WordPiece, or a vocab.json
        named = {number: text for text, number in vocab.items() if type(number) is int}
    elif isinstance(vocab, list):  # Unigram: texts with their scores
        named = {
            number: each[0]
            for number, each in enumerate(vocab)
            if isinstance(each, list) and each and isinstance(each[0], str)
        }
    added = data.get("added_tokens")
    for each in added if isinstance(added, list) else []:
        if isinstance(each, dict) and type(each.get("id")) is int:
            named[each["id"]] = str(each.get("content", ""))
    if not named:
        raise ProblemError(f"the tokenizer {str(path)!r:.200} names no tokens")
    return [named.get(number, "") for number in range(min(rows, _MOST_TOKENS))]
