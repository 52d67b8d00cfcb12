"""Recall while the Trainer of transformers trains: a callback that changes nothing in it."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from recallscope.common.checks import whole_number
from recallscope.common.csv_files import write_csv
from recallscope.common.errors import ProblemError
from recallscope.common.extras import missing_explained
from recallscope.common.given_files import read_regular
from recallscope.common.new_files import write_whole
from recallscope.common.status import Status
from recallscope.task.random import Role, generator
from recallscope.teaching.facts import Facts
from recallscope.teaching.kept import Texts, kept_texts, tokens_of
from recallscope.teaching.recall import Recalled, perplexity, recall
from recallscope.teaching.taught import Look, Taught, TaughtFact
from recallscope.teaching.tokens import Tokens

with missing_explained("teach"):
    from transformers import TrainerCallback

_FEWEST, _LOOKS = 5, 20  # looks of a training, after one before it
_PART = 0.025
"""Of the work of the training, all looks together. Passes without gradients are less efficient
than their number of operations says: this is half of the 5 % of the time that they may take."""
_PASSES = 3  # of a training, as forward passes: forward, and backward twice as long
_SMALLEST, _LARGEST = 32, 4096  # facts of a sample
_MOST_HISTORY = 2**28  # bytes
HISTORY, STEPS, FACTS = "recall.jsonl", "recall-steps.csv", "recall-facts.csv"
"""Files of the Trainer's output folder."""


class RecallCallback(TrainerCallback):  # type: ignore[misc]
    """Watches which facts a model recalls while it is trained.

    It sees a fixed sample of the facts at 5 to 20 steps, and all facts at the end. The looks are
    planned to take at most 5 % of the time in all but the shortest trainings. The training is the
    same as without it, to the bit. The output folder of the Trainer gets `recall-steps.csv` and
    `recall-facts.csv`; a training that is resumed from a checkpoint goes on with its curve.
    `result` has everything.

    Exposures are passes of the Trainer over its data, times the mean count of the facts. Facts with
    a count of 0 are asked at the end and stand in the table; recall is that of the others.

    Args:
        facts: what to ask, as `Facts` or a path.
        every: steps between looks. All facts are asked at each of them, unless `sample` says less.
        sample: how many facts are asked at each look.
        keep: texts whose perplexity is measured too: a list, a .txt with empty lines between texts,
            or a table with the column text.
        tokenizer: that of the model, if the Trainer has none.
        seed: which facts are in the sample.

    It is given to a Trainer as `callbacks=[callback]`; before the training it has seen nothing:

    >>> from datasets import Dataset
    >>> facts = Facts(Dataset.from_list([{"prompt": "Two and two are", "answer": "four"}]))
    >>> callback = RecallCallback(facts, every=100)
    >>> callback.looks
    []
    """

    def __init__(
        self,
        facts: Facts | str | Path,
        *,
        every: int | None = None,
        sample: int | None = None,
        keep: Texts | None = None,
        tokenizer: Any = None,
        seed: int = 0,
    ) -> None:
        self.facts = facts if isinstance(facts, Facts) else Facts(facts)
        self._every = None if every is None else whole_number("every", every, 1)
        self._size = None if sample is None else whole_number("sample", sample, 1)
        self._texts = kept_texts(keep)
        self._tokenizer = tokenizer
        self._seed = seed
        self._looks: list[tuple[Look, Any]] = []  # with the facts of the sample that are recalled
        self._result: Taught | None = None

    @property
    def result(self) -> Taught:
        """What came of the training; an error before its end."""
        if self._result is None:
            raise ProblemError("the training has not ended yet, so it has no result")
        return self._result

    @property
    def looks(self) -> list[Look]:
        """The curve up to now."""
        return [look for look, _ in self._looks]

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Choose the sample, read the curve of a training that is resumed, and look."""
        model, tokenizer = given["model"], self._tokenizer or given.get("processing_class")
        if tokenizer is None:
            raise ProblemError("the Trainer has no tokenizer; give RecallCallback(…, tokenizer=…)")
        self._started, self._result = time.perf_counter(), None
        context = context_of(model, tokenizer)
        self._tokens = Tokens(self.facts, tokenizer, context)
        self._others = Tokens(self.facts, tokenizer, context, tested=True)
        self._kept = tokens_of(self._texts, tokenizer, context)
        batch = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        self._plan(state.max_steps, state.max_steps * batch)
        self._history = Path(args.output_dir) / HISTORY
        self._before: float | None = None
        self._after: float | None = None
        self._looks = self._read_history(state.global_step) if state.global_step else []
        if not self._looks:
            self._before = self._kept_all(args, model)
        if state.is_world_process_zero:
            self._history.parent.mkdir(parents=True, exist_ok=True)
            lines = [self._head(), *(_line(*look) for look in self._looks)]
            write_whole(self._history, "curve of recall", "".join(lines))
        if not self._looks:
            self._look(args, state, model)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Look, if it is time; the end has a look of its own."""
        if state.global_step in self._steps and state.global_step < state.max_steps:
            self._look(args, state, given["model"])

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Ask for all facts, and write the tables."""
        model = given["model"]
        start = time.perf_counter()
        with _precision(args, model):
            found = _by_all(model, self._tokens, np.arange(len(self.facts)))
        others = None
        if self.facts.has_test_prompts:
            with _precision(args, model):
                others = _by_all(model, self._others, np.arange(len(self.facts)))
        self._after = self._kept_all(args, model)
        sampled = Recalled(found.right[self._sample], found.loss[self._sample])
        if not self._looks or self._looks[-1][0].step < state.global_step:
            self._add(args, state, model, sampled, start)
        missing: list[TaughtFact] = []

        def rows() -> Iterator[dict[str, Any]]:
            """The table, row by row: ten million facts are too many to be held at once."""
            for fact in self._fact_rows(found, others):
                if fact.count and not fact.recalled:
                    missing.append(fact)
                yield asdict(fact)

        folder = self._history.parent
        if state.is_world_process_zero:
            write_csv(rows(), folder / FACTS)
        else:
            deque(rows(), maxlen=0)
        self._result = self._taught(args, state, model, missing, others)
        if state.is_world_process_zero:
            write_csv(self._result.step_rows(), folder / STEPS)

    def _plan(self, steps: int, examples: int) -> None:
        """Choose steps and facts: from sizes alone, so that a resumed training has the same.

        Args:
            steps: of the training.
            examples: of all its batches, taken to be as long as the facts.
        """
        self._seen = np.flatnonzero(self.facts.counts)
        count = len(self._seen)
        self._looked, size, looks = self._kept, count, _LOOKS
        if self._every is None and self._size is None:
            budget = _PART * _PASSES * examples / (2 if self._kept else 1)  # in facts
            smallest = min(count, _SMALLEST)
            looks = int(np.clip(budget // smallest - 1, _FEWEST, _LOOKS))
            budget /= looks + 1
            size = int(np.clip(budget, smallest, _LARGEST))
            if self._kept:
                ends = np.cumsum([len(text) for text in self._kept])
                most = budget * float(self._tokens.lengths.mean())
                self._looked = self._kept[: max(1, int(np.searchsorted(ends, most, "right")))]
        self._steps = {round(steps * place / looks) for place in range(1, looks + 1)} - {0}
        if self._every is not None:
            self._steps = set(range(self._every, steps + 1, self._every))
        size = min(count, self._size or size)
        random = generator(self._seed, Role.FACTS, count)
        self._sample = np.sort(random.choice(self._seen, size=size, replace=False))

    def _look(self, args: Any, state: Any, model: Any) -> None:
        start = time.perf_counter()
        with _precision(args, model):
            found = _by_all(model, self._tokens, self._sample)
        self._add(args, state, model, found, start)

    def _add(self, args: Any, state: Any, model: Any, found: Recalled, start: float) -> None:
        """Note what a look has found."""
        kept = None
        if self._looked:
            with _precision(args, model):
                kept = perplexity(model, self._looked)
        known = np.zeros(len(self._sample), dtype=bool)
        for _, right in self._looks:
            known |= right
        look = Look(
            step=state.global_step,
            exposures=float(state.epoch or 0.0) * float(self.facts.counts[self._seen].mean()),
            recall=float(found.right.mean()),
            loss=float(found.loss.mean()),
            lost=int((known & ~found.right).sum()),
            kept_perplexity=kept,
            seconds=time.perf_counter() - start,
        )
        self._looks.append((look, found.right))
        if state.is_world_process_zero:
            with self._history.open("a", encoding="utf-8") as file:
                file.write(_line(look, found.right))

    def _kept_all(self, args: Any, model: Any) -> float | None:
        if not self._kept:
            return None
        with _precision(args, model):
            return perplexity(model, self._kept)

    def _head(self) -> str:
        """What two curves must have in common."""
        head = {"facts": self.facts.key, "sample": len(self._sample), "seed": self._seed}
        return json.dumps(head | {"kept_before": self._before}) + "\n"

    def _read_history(self, step: int) -> list[tuple[Look, Any]]:
        """The curve of the training that is resumed, up to the step of its checkpoint."""
        if not self._history.exists():
            return []
        content = read_regular(self._history, "curve of recall", _MOST_HISTORY)
        whole = content[: content.rfind(b"\n") + 1]  # a process may end while it writes
        try:
            head, *lines = [json.loads(line) for line in whole.splitlines()]
            self._before = head["kept_before"]
            same = json.loads(self._head()) == head
            read = [(Look(**line["look"]), _unpacked(line["right"], head)) for line in lines]
        except (ValueError, LookupError, TypeError) as error:
            raise ProblemError(
                f"{str(self._history)!r:.200} is no curve of recall ({error!s:.100}); remove it"
            ) from None
        if not same:
            raise ProblemError(
                f"{str(self._history)!r:.200} is the curve of other facts, another sample or "
                "another seed; give the Trainer another output folder"
            )
        return [(look, right) for look, right in read if look.step <= step]

    def _fact_rows(self, found: Recalled, others: Recalled | None) -> Iterator[TaughtFact]:
        first: dict[int, float] = {}
        lost = np.zeros(len(self._sample), dtype=int)
        before = np.zeros(len(self._sample), dtype=bool)
        for look, right in self._looks:
            for fact in self._sample[right]:
                first.setdefault(int(fact), look.exposures)
            lost += before & ~right
            before = right
        times = dict(zip(self._sample.tolist(), lost.tolist(), strict=True))
        number = 0
        for rows in self.facts.table.iter(1000):
            for line, prompt, answer, other, count in zip(*rows.values(), strict=True):
                yield TaughtFact(
                    line=line,
                    prompt=prompt,
                    answer=answer,
                    count=count,
                    tokens=int(self._tokens.answers[number]),
                    recalled=bool(found.right[number]),
                    loss=float(found.loss[number]),
                    test_recalled=bool(others.right[number]) if others and other else None,
                    first_recalled=first.get(number),
                    times_lost=times.get(number),
                )
                number += 1

    def _taught(
        self, args: Any, state: Any, model: Any, missing: list[TaughtFact], others: Recalled | None
    ) -> Taught:
        tested = None
        if others is not None:
            worded = np.asarray(self.facts.table.data.column("test_prompt").is_valid())
            tested = others.right[worded & (self.facts.counts > 0)]
        configs = list(getattr(model, "peft_config", {}).values())
        number = len(self._seen)
        return Taught(
            status=Status.OK,
            reason="",
            facts=number,
            sample=len(self._sample),
            recall=1 - len(missing) / number,
            test_recall=None if tested is None or not len(tested) else float(tested.mean()),
            exposures=self.looks[-1].exposures,
            steps=state.global_step,
            batch=args.train_batch_size * args.gradient_accumulation_steps * args.world_size,
            rate=args.learning_rate,
            rank=getattr(configs[0], "r", None) if configs else None,
            parameters=sum(each.numel() for each in model.parameters()),
            trained_parameters=sum(p.numel() for p in model.parameters() if p.requires_grad),
            kept_before=self._before,
            kept_after=self._after,
            looks=tuple(self.looks),
            missing=tuple(sorted(missing, key=lambda fact: -fact.loss)),
            seconds=time.perf_counter() - self._started,
        )

    def end_as(self, status: Status, reason: str) -> Taught:
        """The result with another end, for trainings that broke off."""
        self._result = replace(self.result, status=status, reason=reason)
        return self._result


def context_of(model: Any, tokenizer: Any) -> int:
    """The most tokens that a model takes."""
    config = model.config.get_text_config()
    places = getattr(config, "max_position_embeddings", None) or 2**20
    return int(min(places, getattr(tokenizer, "model_max_length", None) or places))


@contextmanager
def _precision(args: Any, model: Any) -> Iterator[None]:
    """The precision that the Trainer trains in."""
    kind = torch.bfloat16 if args.bf16 else torch.float16 if args.fp16 else None
    device = next(model.parameters()).device.type
    with torch.autocast(device, dtype=kind, enabled=kind is not None):
        yield


def _by_all(model: Any, tokens: Tokens, facts: Any) -> Recalled:
    """Recall of facts, each by one of the processes that train together."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return recall(model, tokens, facts)
    mine = slice(torch.distributed.get_rank(), None, torch.distributed.get_world_size())
    found = recall(model, tokens, facts[mine])
    both = torch.zeros(2, len(facts), dtype=torch.float64)
    both[0, mine], both[1, mine] = torch.tensor(found.right).double(), torch.tensor(found.loss)
    both = both.to(next(model.parameters()).device)
    torch.distributed.all_reduce(both)  # a sum, in which one process has each
    right, loss = both.cpu().numpy()
    return Recalled(right > 0.5, loss)


def _line(look: Look, right: Any) -> str:
    return json.dumps({"look": asdict(look), "right": np.packbits(right).tobytes().hex()}) + "\n"


def _unpacked(text: str, head: dict[str, Any]) -> Any:
    packed = np.frombuffer(bytes.fromhex(text), dtype=np.uint8)
    return np.unpackbits(packed, count=head["sample"]).astype(bool)
