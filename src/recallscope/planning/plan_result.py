"""The answer to an engineer's question: recall, what limits it, and what to change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from recallscope.common.errors import ProblemError
from recallscope.common.plain import finite
from recallscope.planning.asking import LawAnswer, ask, largest_tested
from recallscope.planning.inputs import SOUGHT, Inputs, missing_law
from recallscope.planning.levers import Lever, LeverTable, lever_table, levers
from recallscope.planning.picture import plan_picture
from recallscope.planning.solving import Solved, solve_for
from recallscope.planning.verification import Verification
from recallscope.plot.panels import Picture
from recallscope.plot.result import Drawing, Result
from recallscope.theory.prediction import Standing
from recallscope.theory.question import Ends, Limit


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Result):
    """The answers of laws for a model, a method, facts and data.

    Attributes:
        inputs: what was asked, with the size that was solved for.
        status: tested, extrapolated or none.
        laws: the answers of the best law of each kind; the first counts.
        solved: the size that was missing.
        levers: changes that raise recall, the most for their cost first.
        table: recall over the two best of them.
        reason: which law is missing, if none answers.
        nearest: the nearest question that can be answered then.
        verification: a scaled-down model that was trained, if that was asked for.
        unverified: why there is none then.

    >>> from recallscope import plan
    >>> answer = plan(method="memory", d_model=64, facts=500, exposures=1000)
    >>> round(answer.recall.value, 2), str(answer.limit)
    (1.0, 'none')
    """

    inputs: Inputs
    status: Standing = Standing.NONE
    laws: list[LawAnswer] = field(default_factory=list)
    solved: Solved | None = None
    levers: list[Lever] = field(default_factory=list)
    table: LeverTable | None = None
    reason: str | None = None
    nearest: str | None = None
    verification: Verification | None = None
    unverified: str | None = None
    _in_json = (
        *("status", "recall", "limit", "solved", "levers", "table", "laws", "reason", "nearest"),
        *("verification", "unverified"),
    )

    @property
    def recall(self) -> Ends | None:
        """The fraction of facts that are recalled, with its interval."""
        return self.laws[0].capacity.recall if self.laws else None

    @property
    def limit(self) -> Limit | None:
        """The limit of recall."""
        return self.laws[0].capacity.limit if self.laws else None

    @property
    def beyond(self) -> float:
        """How many times more parameters the model has than anything tested here."""
        return _whole(self.inputs) / largest_tested()

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        question = self.inputs.question()
        sizes = {name: self.inputs.value(name) for name in SOUGHT}
        shown = super().to_dict() | {
            "asked": {
                "method": self.inputs.method,
                **sizes,
                "answers": question.answers,
                "context": self.inputs.context,
                "target_modules": list(self.inputs.modules),
                "precision": self.inputs.shape.precision,
                "frequencies": "zipf" if self.inputs.zipf_exponent else "uniform",
                "zipf_exponent": self.inputs.zipf_exponent,
            },
            "trained_parameters": self.inputs.trained,
            "parameters": _whole(self.inputs),
            "bits_per_fact": question.bits,
            "times_beyond_tested": self.beyond,
        }
        return dict(finite(shown))

    def rows(self) -> list[dict[str, Any]]:
        """One row for each law that answers."""
        sizes = {name: self.inputs.value(name) for name in SOUGHT}
        return [
            {"method": self.inputs.method, **sizes, "law": law.law, "kind": law.kind}
            | law.capacity.recall._asdict()
            | {"limit": str(law.capacity.limit), "status": str(self.status)}
            for law in self.laws
        ] or [{"method": self.inputs.method, **sizes, "reason": self.reason}]

    def _words(self) -> str:
        if self.recall is None:
            return f"no answer: {self.reason}"
        value, low, high = self.recall
        return f"recall {value:.2f} ({low:.2f} to {high:.2f}), {self.status}"

    def _drawing(self) -> Drawing:
        return Drawing("picture", self.picture())

    def picture(self) -> Picture:
        """The figure as data: recall against facts, and against what helps most."""
        if not self.laws:
            return Picture(caption=f"No law answers: {self.reason}.")
        helping = [lever.name for lever in self.levers]
        return plan_picture(self.inputs, self.laws[0], self.status, helping)


def _whole(inputs: Inputs) -> int:
    return inputs.trained if inputs.method == "memory" else inputs.shape.parameters


def make_plan(
    inputs: Inputs,
    sought: str | None,
    target: float,
    progress: Callable[[int], None] = lambda done: None,
) -> Plan:
    """Answer a question; one size may be sought."""
    solved = None
    if sought is not None:
        middle = inputs.changed(sought, {"rank": 8, "d_model": 64}.get(sought, 1000))
        if not ask(middle):
            return no_plan(middle)
        solved = solve_for(inputs, sought, target, progress)
        inputs = inputs.changed(sought, solved.closest)
    answers = ask(inputs)
    if not answers:
        return no_plan(inputs)
    helping = levers(inputs)
    far = answers[0].extrapolated
    return Plan(
        inputs=inputs,
        status=Standing.EXTRAPOLATED if far else Standing.TESTED,
        laws=answers,
        solved=solved,
        levers=helping,
        table=lever_table(inputs, helping),
    )


def no_plan(inputs: Inputs) -> Plan:
    """A plan without an answer: which law is missing."""
    reason, nearest = missing_law(inputs)
    return Plan(inputs=inputs, reason=reason, nearest=nearest)


def check_sought(inputs: Inputs, sought: str | None) -> str | None:
    """The size to solve for: the one that is missing, or the one named; none if all are known."""
    ranked = inputs.method == "lora" or (inputs.method == "memory" and sought == "rank")
    wanted = ["facts", "d_model"] + (["rank"] if ranked else [])
    if not inputs.to_the_end:
        wanted.insert(1, "exposures")
    missing = [name for name in wanted if inputs.value(name) is None]
    spelt = {name: f"--{name.replace('_', '-')}" for name in SOUGHT}
    if sought is not None:
        name = sought.replace("-", "_")
        if name not in wanted:
            raise ProblemError(
                f"--solve-for is one of {', '.join(wanted)} with the method {inputs.method}, "
                f"not {sought!r:.40}"
            )
        left = [spelt[size] for size in missing if size != name]
        if left:
            raise ProblemError(f"to solve for {name}, give {' and '.join(left)} too")
        return name
    if len(missing) > 1:
        raise ProblemError(
            f"give all but one of {', '.join(spelt[size] for size in missing)}: "
            "the one that is missing is solved for"
        )
    return missing[0] if missing else None
