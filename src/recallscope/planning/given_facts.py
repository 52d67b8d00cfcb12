"""Facts of a user's file: how many there are, how many answers, how long they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing_explained

_TOKENS_OF_WORD = 1.3  # about: of English, by tokenizers of language models
_SAMPLE = 1000  # answers whose tokens are counted


@dataclass(frozen=True, kw_only=True)
class GivenFacts:
    """What a plan takes from a file of facts.

    Attributes:
        path: the file.
        facts: how many are taught.
        answers: how many different answers they have.
        answer_tokens: the mean length of an answer.
        counted: whether the tokenizer of the model counted them; else it is a guess by words.
    """

    path: Path
    facts: int
    answers: int
    answer_tokens: float
    counted: bool


def given_facts(path: str | Path, model: str | Path | None) -> GivenFacts:
    """Read a file of facts.

    Args:
        path: ends in .jsonl, .csv or .parquet, as for `teach`.
        model: a folder; its tokenizer.json counts tokens, if it has one.
    """
    from recallscope.teaching.facts import Facts

    facts = Facts(path)
    taught = facts.counts > 0
    column = facts.table.data.column("answer")
    answers = [str(column[int(place)]) for place in taught.nonzero()[0][:_SAMPLE]]
    different = len(column.filter(taught).unique())
    tokenizer = _tokenizer(model)
    if tokenizer is None:
        lengths = [_TOKENS_OF_WORD * len(answer.split()) for answer in answers]
    else:
        lengths = [len(tokenizer.encode(f" {answer.strip()}").ids) for answer in answers]
    return GivenFacts(
        path=Path(path),
        facts=int(taught.sum()),
        answers=max(different, 2),
        answer_tokens=sum(lengths) / len(lengths),
        counted=tokenizer is not None,
    )


def _tokenizer(model: str | Path | None) -> Any:
    path = None if model is None else Path(model) / "tokenizer.json"
    if path is None or not path.is_file():
        return None
    with missing_explained():
        from tokenizers import Tokenizer
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower type
        raise ProblemError(f"the tokenizer {path.name} cannot be read: {error!s:.100}") from None
