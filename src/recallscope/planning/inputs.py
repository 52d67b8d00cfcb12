"""Inputs of a plan: a model, a method, facts and data, and the question for laws."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.planning.shape import ModelShape
from recallscope.problem.frequencies import MOST_UNEQUAL
from recallscope.problem.problem import Problem
from recallscope.theory.question import PRECISIONS, Question

METHODS = ("pretrain", "full", "lora", "memory")
SOUGHT = ("facts", "rank", "exposures", "d_model")
"""Inputs that may be missing, and are then solved for."""

ALL = "all-linear"
SMALL = 10**6
"""Parameters of the largest models of which small transformers, trained here, are the measure."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """A model, how it learns, facts and data.

    `rank`, `facts` and `exposures` are None, and `shape.dim` is 0, where they are sought. `batch`
    is the facts of one step, of a pretrained model.
    """

    method: str
    shape: ModelShape
    facts: int | None
    exposures: float | None
    rank: int | None = None
    modules: tuple[str, ...] = ()
    answers: int | None = None
    context: int = 1
    zipf_exponent: float = 0.0
    learner: str = "adam"
    batch: int | None = None

    @property
    def pretrained(self) -> bool:
        """Whether it is about a pretrained model, as published runs taught facts to."""
        known = self.shape.dim > 0
        return self.method in ("full", "lora") and known and self.shape.parameters > SMALL

    def changed(self, name: str, value: float) -> Inputs:
        """The same with one of the sizes that may be sought; a known model in its proportions."""
        if name == "d_model":
            known = self.shape.dim > 0
            shape = self.shape.scaled(int(value)) if known else replace(self.shape, dim=int(value))
            return replace(self, shape=shape)
        changes: dict[str, Any] = {name: value if name == "exposures" else int(value)}
        return replace(self, **changes)

    def value(self, name: str) -> float | None:
        """One of the sizes that may be sought."""
        size: float | None = self.shape.dim if name == "d_model" else getattr(self, name)
        return size or None

    def question(self) -> Question:
        """Return the question for laws; every size is known."""
        facts, exposures = self.facts or 1, self.exposures or 1.0
        alone = self.method == "memory"
        return Question(
            method=self.method,
            facts=facts,
            answers=self.answers or max(facts, 2),
            exposures=exposures,
            trained=self.trained,
            context=self.context,
            zipf_exponent=self.zipf_exponent,
            precision=self.shape.precision,
            dim=self.shape.dim,
            layers=self.shape.layers,
            gated=self.shape.gated,
            partial=self.method == "lora" and set(self.modules) != set(self.shape.matrices()),
            width=self.shape.mlp if alone else self.shape.width,
            rank=self.rank if self.method in ("lora", "memory") else None,
            problem=self._problem(facts, exposures) if alone else None,
        )

    @property
    def to_the_end(self) -> bool:
        """Whether it is trained until nothing more is learnt, whatever the exposures."""
        return self.method == "memory" and self.context == 1

    @property
    def trained(self) -> int:
        """Parameters that are trained."""
        if self.method == "lora":
            return self.shape.adapter(self.rank or 1, self.modules)
        if self.method == "memory":
            inputs, outputs = self.shape.mlp or self.shape.dim, self.shape.dim
            rank = self.rank
            return inputs * outputs if rank is None else rank * (inputs + outputs - rank)
        return self.shape.parameters

    @property
    def flops(self) -> float:
        """About what training costs: 6 for each parameter and token, 4 where it stays as it is."""
        whole = self.trained if self.method == "memory" else self.shape.parameters
        tokens = (self.facts or 1) * (self.exposures or 1.0) * self.context
        return (4.0 * whole + 2.0 * self.trained) * tokens

    def _problem(self, facts: int, exposures: float) -> Problem | None:
        """The experiment of this package that it is: one attention layer, frozen embeddings."""
        plain = not self.zipf_exponent and self.shape.precision in PRECISIONS
        alike = self.answers in (None, facts) and self.rank is None
        if self.context == 1 or not (plain and alike):
            return None
        sizes: dict[str, Any] = {"vocab": facts, "samples": round(facts * exposures)}
        sizes |= {"dim": self.shape.dim, "length": self.context, "learner": self.learner}
        if self.shape.mlp is not None:
            sizes["width"] = self.shape.mlp
        with suppress(ProblemError):  # then no law for problems is asked
            return Problem.from_dict(sizes)
        return None


def missing_law(inputs: Inputs) -> tuple[str, str]:
    """Which law is missing where none answers, and the nearest question with an answer.

    >>> inputs = Inputs(method="full", shape=ModelShape(dim=64, precision="int4"), facts=100,
    ...                 exposures=1)
    >>> missing_law(inputs)[1]
    'the same model before it is quantised: --precision bfloat16'
    """
    if inputs.shape.precision not in PRECISIONS:
        return (
            f"recallscope has no law of quantised weights ({inputs.shape.precision}) yet; "
            "Allen-Zhu and Li report no loss by int8, and 0.7 bits per parameter with int4",
            "the same model before it is quantised: --precision bfloat16",
        )
    if inputs.zipf_exponent and inputs.pretrained:
        return (
            "recallscope has no law of unequal frequencies of facts for pretrained models yet",
            "the same facts, all seen equally often: --frequencies uniform",
        )
    if inputs.zipf_exponent and inputs.context == 1:
        return (
            f"facts of unequal frequency are at most {MOST_UNEQUAL:,} in a memory",
            "fewer facts, or all seen equally often: --frequencies uniform",
        )
    if inputs.zipf_exponent:
        return (
            "recallscope has no law of unequal frequencies with a context yet",
            "the same facts without a context: leave out --context",
        )
    if inputs.rank is not None:
        return (
            "no law here is about a memory of low rank with a context",
            "the same facts without a context: leave out --context",
        )
    if inputs.answers not in (None, inputs.facts):
        return (
            "no law here is about more or fewer answers than facts with a context",
            "facts without a context, or with an answer each: leave out --context or --answers",
        )
    return (
        f"no law here is about a memory trained by {inputs.learner} at these sizes",
        "the same memory without a context, trained to the end: leave out --context",
    )
