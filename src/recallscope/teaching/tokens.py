"""Facts as tokens: prompts and answers in one row, and batches of them for a model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.task.examples import IGNORED
from recallscope.teaching.arrow_cache import cached
from recallscope.teaching.facts import Facts, Faults

if TYPE_CHECKING:
    import torch

_FORMAT = 1  # of the cache
_AT_ONCE = 1000  # facts
_COLUMNS = {"ids": "list<int32>", "length": "int32", "answer": "int32"}


@dataclass(frozen=True, repr=False)
class Tokens:
    """The tokens of every fact, in one wording: those of the prompt, then those of the answer.

    The prompt has the tokens that it has alone: generation starts from these.

    Args:
        facts: whose tokens.
        tokenizer: one of transformers.
        context: the most tokens that the model takes.
        tested: the other wording, `test_prompt`, where there is one.
    """

    facts: Facts
    tokenizer: Any
    context: int
    tested: bool = False

    @cached_property
    def table(self) -> Any:
        """A Dataset with ids, their number, and how many of them are the answer's."""
        parts = (_FORMAT, self.facts.key, self.facts.chat, self.context, self.tested)
        digest = hashlib.sha256(repr((*parts, _identity(self.tokenizer))).encode())
        return cached(digest.hexdigest()[:32], _COLUMNS, self._batches())

    @cached_property
    def lengths(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """How many tokens each fact has, prompt and answer."""
        return np.asarray(self.table.data.column("length").to_numpy(), dtype=np.int32)

    @cached_property
    def answers(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """How many of them are the answer's."""
        return np.asarray(self.table.data.column("answer").to_numpy(), dtype=np.int32)

    def ids(self, fact: int) -> list[int]:
        """The tokens of one fact."""
        row: list[int] = self.table[int(fact)]["ids"]
        return row

    def _batches(self) -> Iterator[dict[str, list[Any]]]:
        faults = Faults(self.facts.called)
        for rows in self.facts.table.iter(_AT_ONCE):
            prompts, answers = rows["prompt"], rows["answer"]
            if self.tested:
                others = zip(rows["test_prompt"], prompts, strict=True)
                prompts = [other or prompt for other, prompt in others]
            pairs = _tokenised(self.tokenizer, prompts, answers, self.facts.chat)
            batch: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
            for line, (before, after) in zip(rows["line"], pairs, strict=True):
                length = len(before) + len(after)
                if not before:
                    faults.note("the tokenizer makes no token of the prompt", line)
                if not after:
                    faults.note("the tokenizer makes no token of the answer", line)
                if length >= self.context:  # one is left for the end
                    most = f"the {self.context:,} tokens of the model's context"
                    faults.note(f"prompt and answer are longer than {most}", line)
                batch["ids"].append([*before, *after])
                batch["length"].append(length)
                batch["answer"].append(len(after))
            yield batch
        faults.end()


def _identity(tokenizer: Any) -> tuple[str, ...]:
    """What makes two tokenizers the same."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    content = backend.to_str() if backend is not None else repr(sorted(tokenizer.get_vocab()))
    template = getattr(tokenizer, "chat_template", None)
    return type(tokenizer).__name__, content, repr(template), repr(tokenizer.special_tokens_map)


def _tokenised(
    tokenizer: Any, prompts: Sequence[str], answers: Sequence[str], chat: bool
) -> Iterator[tuple[list[int], list[int]]]:
    """The tokens of each prompt, and those of the answer behind it."""
    if chat:
        if not getattr(tokenizer, "chat_template", None):
            raise ProblemError("the tokenizer has no chat template; leave chat out")
        prompts = [
            tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
            )
            for prompt in prompts
        ]
    answers = [
        answer if chat or prompt[-1:].isspace() or answer[0].isspace() else f" {answer}"
        for prompt, answer in zip(prompts, answers, strict=True)
    ]
    wholes = [prompt + answer for prompt, answer in zip(prompts, answers, strict=True)]
    special = not chat  # the template has written them
    # Masks would take as long as the tokens.
    alone = {"return_attention_mask": False, "return_token_type_ids": False}
    before = tokenizer(list(prompts), add_special_tokens=special, **alone)["input_ids"]
    both = tokenizer(wholes, add_special_tokens=special, **alone)["input_ids"]
    ends = {tokenizer.eos_token_id, tokenizer.sep_token_id} if special else set()
    for prompt, whole, answer in zip(before, both, answers, strict=True):
        while prompt and prompt[-1] in ends:  # of tokenizers that close every text
            prompt.pop()
        while whole and whole[-1] in ends:
            whole.pop()
        if whole[: len(prompt)] == prompt:
            yield prompt, whole[len(prompt) :]
        else:  # the last token of the prompt and the first of the answer would be one
            yield prompt, tokenizer(answer, add_special_tokens=False)["input_ids"]


@dataclass(frozen=True)
class Batch:
    """Facts for one forward pass; logits are needed at `positions` only.

    `labels` has a column for each position, with what follows there in the answer or `IGNORED`.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    labels: torch.Tensor


def batch_of(rows: Sequence[Sequence[int]], answers: Sequence[int]) -> Batch:
    """Rows of tokens as a batch, filled up at the right, where no causal model looks.

    >>> batch = batch_of([[5, 6, 7, 8], [5, 9]], [2, 1])
    >>> batch.ids.tolist(), batch.positions.tolist(), batch.labels.tolist()
    ([[5, 6, 7, 8], [5, 9, 0, 0]], [0, 1, 2], [[-100, 7, 8], [9, -100, -100]])
    """
    import torch

    width = max(map(len, rows))
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    labels = torch.full((len(rows), width), IGNORED, dtype=torch.long)
    for place, (row, answer) in enumerate(zip(rows, answers, strict=True)):
        ids[place, : len(row)] = torch.tensor(row)
        start = len(row) - answer
        labels[place, start - 1 : len(row) - 1] = ids[place, start : len(row)]
    positions = (labels != IGNORED).any(dim=0).nonzero()[:, 0]
    return Batch(ids, positions, labels[:, positions])
