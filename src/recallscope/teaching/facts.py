"""Facts that a user gives: prompts with answers, checked line by line and mapped into memory."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from recallscope.common.checks import shown
from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing_explained
from recallscope.common.given_files import opened
from recallscope.teaching.arrow_cache import cached
from recallscope.teaching.fact_files import check_columns, rows_of, rows_of_table

_FORMAT = 1  # of the cache
_AT_ONCE = 1000  # rows of a batch
_MOST_TEXT = 2**16  # characters of a prompt or an answer
_MOST_COUNT = 10**6
_MOST_FAULTS = 1000  # lines, after which reading stops
_NAMED = 5  # lines of a fault
_COLUMNS = {
    "line": "int64",
    "prompt": "string",
    "answer": "string",
    "test_prompt": "string",
    "count": "int32",
}


@dataclass(frozen=True, repr=False)
class Facts:
    """Facts from a file, or from a Dataset of the library datasets.

    Every fact has a prompt and an answer. A space is put between the two, unless one of them has
    white space there. A `test_prompt` is another wording, on which recall is tested too. A `count`
    is how often the fact is seen at each exposure, 1 if not given; 0 is a fact that is only tested.

    Args:
        source: a path that ends in .jsonl, .csv or .parquet, or a Dataset.
        prompt: the name of a column; so are the next three.
        answer: what the model is to say.
        test_prompt: used if there is such a column.
        count: used if there is such a column.
        chat: whether prompts are put into the chat template of the tokenizer.

    Raises:
        ProblemError: the file cannot be read, or facts are faulty: an empty prompt or answer, or
            a prompt that is there twice. The error names lines.

    >>> import json, tempfile
    >>> facts = [{"prompt": f"The code of item {i} is", "answer": str(i * i)} for i in range(3)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "facts.jsonl"
    ...     _ = path.write_text("\\n".join(map(json.dumps, facts)))
    ...     Facts(path)
    3 facts of 'facts.jsonl'
    """

    source: Any
    _: KW_ONLY
    prompt: str = "prompt"
    answer: str = "answer"
    test_prompt: str = "test_prompt"
    count: str = "count"
    chat: bool = False

    def __post_init__(self) -> None:
        """Read and check everything now, not when a training has begun."""
        if not len(self.table):
            raise ProblemError(f"{self.called} must have one fact at least; it has none")
        if not self.counts.any():
            raise ProblemError(
                f"{self.called} must have a fact with a count above 0; all are only tested"
            )

    @property
    def called(self) -> str:
        """What errors call the source."""
        if isinstance(self.source, (str, Path)):
            return f"the file of facts {Path(self.source).name!r:.100}"
        return "the table of facts"

    @cached_property
    def key(self) -> str:
        """A hash of the content and of the names of its columns."""
        names = (self.prompt, self.answer, self.test_prompt, self.count)
        digest = hashlib.sha256(repr((_FORMAT, *names)).encode())
        if isinstance(self.source, (str, Path)):
            digest.update(Path(self.source).suffix.lower().encode())
            with opened(self.source, self.called) as file:
                while block := file.read(2**20):
                    digest.update(block)
        else:
            digest.update(str(getattr(self.source, "_fingerprint", None)).encode())
        return digest.hexdigest()[:32]

    @cached_property
    def table(self) -> Any:
        """A Dataset with the columns line, prompt, answer, test_prompt and count."""
        return cached(self.key, _COLUMNS, self._batches())

    @cached_property
    def counts(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """How often each fact is seen at each exposure."""
        return np.asarray(self.table.data.column("count").to_numpy(), dtype=np.int32)

    @cached_property
    def has_test_prompts(self) -> bool:
        """Whether another wording is given for any fact."""
        column = self.table.data.column("test_prompt")
        return bool(column.null_count < len(column))

    def subset(self, places: Iterable[int]) -> Facts:
        """Some of the facts, by their numbers from 0; lines are counted anew."""
        some = self.table.select([int(place) for place in places]).remove_columns("line")
        return Facts(some, chat=self.chat)

    def __getstate__(self) -> dict[str, Any]:
        """The source and how to read it: another process reads it for itself."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "_"}

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        name = self.called.removeprefix("the file of facts ")
        return f"{len(self):,} facts of {name}"

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        needed: tuple[str, ...] = (self.prompt, self.answer)
        optional = (self.test_prompt, self.count)
        for name, usual in zip(optional, ("test_prompt", "count"), strict=True):
            if name != usual:  # a name that was given must be there
                needed = (*needed, name)
        if isinstance(self.source, (str, Path)):
            yield from rows_of(Path(self.source), self.called, needed, optional)
            return
        with missing_explained("teach"):
            from datasets import Dataset
        if not isinstance(self.source, Dataset):
            raise ProblemError(
                "facts must be a path or a Dataset of the library datasets, "
                f"not {shown(self.source)}"
            )
        check_columns(self.source.column_names, self.called, needed, optional)
        yield from rows_of_table(self.source, self.called, needed, optional)

    def _batches(self) -> Iterator[dict[str, list[Any]]]:
        faults = Faults(self.called)
        seen = _Seen()
        batch: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for line, row in self._rows():
            values = self._checked(line, row, faults)
            for name, value in zip(_COLUMNS, values, strict=True):
                batch[name].append(value)
            seen.add(line, str(values[1]), str(values[2]))
            if len(batch["line"]) == _AT_ONCE:
                yield batch
                batch = {name: [] for name in _COLUMNS}
        seen.report(faults)
        faults.end()
        yield batch

    def _checked(self, line: int, row: dict[str, Any], faults: Faults) -> tuple[Any, ...]:
        """The values of a fact in the order of the columns; faults are noted."""
        prompt, answer = row.get(self.prompt), row.get(self.answer)
        for name, value in ((self.prompt, prompt), (self.answer, answer)):
            if not isinstance(value, str):
                faults.note(f"the {name} must be a text, not {shown(value)}", line)
            elif not value.strip():
                faults.note(f"the {name} is empty", line)
            elif len(value) > _MOST_TEXT:
                faults.note(f"the {name} has more than {_MOST_TEXT:,} characters", line)
        test_prompt = row.get(self.test_prompt)
        if test_prompt == "":  # an empty cell of CSV
            test_prompt = None
        if test_prompt is not None and not isinstance(test_prompt, str):
            faults.note(f"the {self.test_prompt} must be a text, not {shown(test_prompt)}", line)
        elif test_prompt is not None and len(test_prompt) > _MOST_TEXT:
            faults.note(f"the {self.test_prompt} has more than {_MOST_TEXT:,} characters", line)
        count = _whole(row.get(self.count))
        if not 0 <= count <= _MOST_COUNT:
            most, came = f"a whole number from 0 to {_MOST_COUNT:,}", shown(row[self.count])
            faults.note(f"the {self.count} must be {most}, not {came}", line)
            count = 0
        return line, str(prompt), str(answer), test_prompt, count


def _whole(count: object) -> int:
    """A count as a whole number: 1 if there is none, and -1 if it is something else."""
    if type(count) is int:
        return count
    if count is None or count == "":
        return 1
    if not isinstance(count, Real) or isinstance(count, bool):
        return -1
    return int(float(count)) if float(count).is_integer() else -1


class Faults:
    """What is wrong, by sentence, and the lines where it is."""

    def __init__(self, called: str) -> None:
        self._called = called
        self._lines: dict[str, list[int]] = {}
        self._number = 0

    def note(self, fault: str, line: int) -> None:
        """Note a fault; too many of them end the reading."""
        self._lines.setdefault(fault, []).append(line)
        self._number += 1
        if self._number >= _MOST_FAULTS:
            self.end()

    def end(self) -> None:
        """Raise if there was a fault."""
        if not self._lines:
            return
        listed = [f"{fault} in {_named(lines)}" for fault, lines in self._lines.items()]
        more = f"; and {len(listed) - 3} other faults" if len(listed) > 3 else ""
        least = "at least " * (self._number >= _MOST_FAULTS)
        number = f"{least}{self._number:,} faulty fact{'s' * (self._number > 1)}"
        raise ProblemError(
            f"{self._called} has {number}: {'; '.join(listed[:3])}{more}; correct them, or leave "
            "these lines out"
        )


def _named(lines: list[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    more = f" and {len(lines) - _NAMED:,} more" if len(lines) > _NAMED else ""
    return f"lines {', '.join(map(str, lines[:_NAMED]))}{more}"


class _Seen:
    """Finds prompts that are there twice, by hashes of 64 bits.

    Two of 10^7 prompts have the same hash with a probability of 3·10^-6, and another at each run.
    """

    def __init__(self) -> None:
        self._lines, self._prompts, self._answers = array("q"), array("q"), array("q")

    def add(self, line: int, prompt: str, answer: str) -> None:
        """Note a fact."""
        self._lines.append(line)
        self._prompts.append(hash(prompt))
        self._answers.append(hash(answer))

    def report(self, faults: Faults) -> None:
        """Note a fault for every prompt that was there before."""
        if not self._lines:
            return
        lines, prompts, answers = (
            np.frombuffer(each, dtype=np.int64)
            for each in (self._lines, self._prompts, self._answers)
        )
        order = np.argsort(prompts, kind="stable")
        again = np.flatnonzero(prompts[order[1:]] == prompts[order[:-1]])
        for first, second in zip(order[again], order[again + 1], strict=True):
            if answers[first] == answers[second]:
                fault = "a fact is there again (give it a count instead)"
            else:
                fault = "a prompt is there again with another answer"
            faults.note(fault, int(lines[second]))
