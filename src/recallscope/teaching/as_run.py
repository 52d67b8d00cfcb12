"""Trainings on a user's facts as runs, for searches and sweeps: `run=Teach(facts, model)`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from recallscope.common.errors import ProblemError
from recallscope.common.status import Status
from recallscope.problem.problem import Problem
from recallscope.task.random import Role, generator
from recallscope.teaching.checkpoint import checkpoint_config, weights_key
from recallscope.teaching.facts import Facts
from recallscope.teaching.kept import Texts
from recallscope.teaching.taught import Taught
from recallscope.teaching.teach import teach


@dataclass(frozen=True)
class Teach:
    """Teaches facts to a checkpoint, as `run=` of `run`, `critical`, `fit`, `phase` and `sweep`.

    Each seed has an order of the facts, a sample of them if a problem has fewer than the file, and
    adapters. Records have recall of all facts that were taught, and as metrics: exposures to
    one half of a sample, facts lost again, steps, the rate, and `repeatable`, which is 0. Trainer
    promises no equal bits, so of two records of one problem and seed the first counts.

    Args:
        facts: `Facts` of a file, or a path.
        model: a folder with a checkpoint, or a file of GGUF.
        accumulate: in how many parts a batch is computed.
        precision: as in `teach`.
        keep: texts whose perplexity is measured before and after, as metrics.

    The key of a record has hashes of the facts and of the weights, not of their paths:

    >>> Teach("facts.jsonl", "SmolLM2-135M").problem(rank=16)  # doctest: +SKIP
    Problem(vocab=49152, samples=500, dim=576, length=8192, task='text', rank=16, ...)
    """

    version: ClassVar[int] = 1
    """Raised when the same problem and seed would be taught in another way."""

    facts: Facts | str | Path
    model: str | Path
    accumulate: int = 1
    precision: str = "auto"
    keep: Texts | None = None

    def __post_init__(self) -> None:
        """A worker may stand in another folder."""
        for name in ("facts", "model"):
            given = getattr(self, name)
            if isinstance(given, (str, Path)):
                object.__setattr__(self, name, Path(given).absolute())

    @cached_property
    def _facts(self) -> Facts:
        return self.facts if isinstance(self.facts, Facts) else Facts(self.facts)

    @cached_property
    def content(self) -> str:
        """A hash of the facts, the weights and all that decides on a training but the problem."""
        kept = None if self.keep is None else str(self.keep)
        parts = (self._facts.key, self._facts.chat, weights_key(self.model), self.precision, kept)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs; the content is hashed once."""
        self.content  # noqa: B018
        return {name: value for name, value in self.__dict__.items() if name != "_facts"}

    def problem(self, **fields: Any) -> Problem:
        """The problem that a search or a sweep starts from: the task text, with sizes of the model.

        Args:
            fields: facts, exposures, rank, rate and batch.
        """
        config = checkpoint_config(self.model).get_text_config()
        return Problem(
            vocab=config.vocab_size,
            samples=len(self._facts),
            dim=config.hidden_size,
            length=getattr(config, "max_position_embeddings", None) or 1,
            task="text",
            learner="trainer",
            content=self.content,
            **fields,
        )

    def __call__(self, problem: Problem, seed: int) -> dict[str, float]:
        """Teach as a problem says, and return recall and metrics."""
        if problem.task != "text" or problem["content"] != self.content:
            raise ProblemError(
                "the problem must be one of these facts and this model; make it by "
                "Teach(facts, model).problem(…)"
            )
        taught = teach(
            self._some(problem["facts"], seed),
            self.model,
            rank=problem["rank"] or None,
            exposures=problem["exposures"],
            batch=problem["batch"] or None,
            rate=problem["rate"] or None,
            accumulate=self.accumulate,
            precision=self.precision,
            keep=self.keep,
            seed=seed,
            progress=False,
        )
        if taught.status is not Status.OK:
            raise ProblemError(taught.reason)
        return _numbers(taught)

    def _some(self, count: int, seed: int) -> Facts:
        """So many of the facts: at one seed those of a larger number have them all."""
        facts = self._facts
        if not count or count == len(facts):
            return facts
        order = generator(seed, Role.FACTS, len(facts)).permutation(len(facts))
        return facts.subset(order[:count])


def _numbers(taught: Taught) -> dict[str, float]:
    numbers = {
        "recall_accuracy": taught.recall,
        "tests": taught.facts,
        "exposures_to_half": taught.exposures_to(0.5),
        "exposures_to_0.9": taught.exposures_to(0.9),
        "test_recall": taught.test_recall,
        "lost": sum(look.lost for look in taught.looks[-1:]),
        "kept_perplexity_before": taught.kept_before,
        "kept_perplexity_after": taught.kept_after,
        "used_rate": taught.rate,
        "used_batch": taught.batch,
        "steps": taught.steps,
        "repeatable": 0,
    }
    return {name: value for name, value in numbers.items() if value is not None}
