"""Plans for pretrained models: exposures and steps to a recall, what limits it, what is forgotten.

The law is `theory.pretrained`, fitted to published runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from recallscope.common.plain import finite
from recallscope.planning.given_facts import GivenFacts
from recallscope.planning.in_words import counted
from recallscope.planning.inputs import ALL, Inputs
from recallscope.planning.teaching_picture import teaching_picture
from recallscope.plot.panels import Picture
from recallscope.plot.result import Drawing, Result
from recallscope.theory.prediction import Standing
from recallscope.theory.pretrained import (
    CONSTANTS,
    NO_LOAD,
    Case,
    Learning,
    after_probe,
    expected,
    exposures_to,
    facts_at,
    floor_share,
    load_of,
    recall_after,
    slope_after_probe,
)
from recallscope.theory.published_runs import Kept, kept_near, range_of
from recallscope.theory.question import Ends, Limit

_LEAST_SHARE = 0.2  # of the exposures to one half that a smaller batch may save
_SMALLER = 4  # times, of a batch
_MORE_RANK, _SPARE = 4, 2  # times the rank, and times the least that has space
_BEYOND = 1.1  # times the largest or the smallest: less counts as such a size
_SETTLED = 0.1  # of the exposures: less is no gain
_ROUNDS = 12  # of bits and facts that follow from each other


@dataclass(frozen=True, kw_only=True)
class Reached:
    """When recall reaches a value: 90 % intervals, infinite where it may never do.

    Attributes:
        recall: the value.
        exposures: of each fact.
        steps: updates of the optimiser.
    """

    recall: float
    exposures: Ends
    steps: Ends


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change: the exposures that it takes to the target, and its compute, as a factor.

    There is no factor where the target is not reached before it.
    """

    change: str
    exposures: Ends
    cost: float | None


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What came of teaching a sample of the facts to the model.

    Attributes:
        facts: of the sample.
        batch: of them in a step.
        steps: how many there were.
        exposures: of each of them.
        recall: of the sample at the end.
        half: exposures to one half, if the curve had come far enough to say.
        half_error: the standard error of its logarithm.
        slope: b of the curve.
        slope_error: the standard error of its logarithm.
        seconds: what it took.
    """

    facts: int
    batch: int
    steps: int
    exposures: float
    recall: float
    half: float | None
    half_error: float | None
    slope: float | None
    slope_error: float | None
    seconds: float


@dataclass(frozen=True, kw_only=True, repr=False)
class TeachingPlan(Result):
    """Exposures and steps until a pretrained model recalls facts, and what it may forget.

    Attributes:
        inputs: what was asked.
        status: tested if published runs had such sizes, else extrapolated.
        target: the recall that changes are judged by.
        reached: exposures and steps to one half, 0.9 and the target.
        recall: after the exposures asked for, if there are any.
        limit: whether the trained parameters limit recall.
        limit_from: the number of such facts from which on they keep recall below 0.9.
        rank: the least that does not limit recall, where none was given.
        kept: what published runs of such sizes kept of other abilities.
        changes: those that reach the target earlier.
        extrapolated: what is unlike all published runs.
        given: the file of facts, if it is one.
        probe: a sample of them that was taught, if there was one.

    >>> from recallscope import plan
    >>> answer = plan(model="examples/models/smollm2-135m.json", facts=500)
    >>> answer
    recall 0.5 after 8... (3... to 1...) exposures, 0.9 after 1... (...), tested
    """

    inputs: Inputs
    status: Standing
    target: float
    reached: list[Reached]
    recall: Ends | None
    limit: Limit
    limit_from: Ends
    rank: Ends | None = None
    kept: list[Kept] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    extrapolated: list[str] = field(default_factory=list)
    given: GivenFacts | None = None
    probe: Probe | None = None
    _in_json = (
        *(
            "status",
            "target",
            "reached",
            "recall",
            "limit",
            "limit_from",
            "rank",
            "kept",
            "changes",
        ),
        *("extrapolated", "given", "probe"),
    )

    @property
    def learning(self) -> Learning:
        """How quickly the facts are learned."""
        return learning_of(case_of(self.inputs), self.probe)

    @property
    def rank_to_teach(self) -> int | None:
        """The rank that was asked for, or the least that has space; None to train all."""
        return self.inputs.rank or (round(self.rank.value) if self.rank else None)

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        inputs, question = self.inputs, self.inputs.question()
        shown = super().to_dict() | {
            "asked": {
                "method": inputs.method,
                "facts": inputs.facts,
                "exposures": inputs.exposures,
                "rank": inputs.rank,
                "batch": inputs.batch,
                "answers": question.answers,
                "target_modules": list(inputs.modules),
                "precision": inputs.shape.precision,
            },
            "trained_parameters": None if self.rank else inputs.trained,
            "parameters": inputs.shape.parameters,
            "bits_per_fact": question.bits,
        }
        return dict(finite(shown))

    def rows(self) -> list[dict[str, Any]]:
        """One row for each recall."""
        sizes = {"method": self.inputs.method, "facts": self.inputs.facts}
        sizes |= {"rank": self.inputs.rank, "batch": self.inputs.batch}
        return [
            sizes
            | {"recall": each.recall}
            | {f"exposures_{name}": end for name, end in each.exposures._asdict().items()}
            | {f"steps_{name}": end for name, end in each.steps._asdict().items()}
            | {"status": str(self.status)}
            for each in self.reached
        ]

    def _words(self) -> str:
        first, second = (
            f"{each.recall:g} after {counted(each.exposures)}" for each in self.reached[:2]
        )
        return f"recall {first} exposures, {second}, {self.status}"

    def _drawing(self) -> Drawing:
        return Drawing("picture", self.picture())

    def picture(self) -> Picture:
        """The figure as data: the case among published runs, and recall over exposures."""
        load = NO_LOAD if self.rank else load_of(self.inputs.question())
        return teaching_picture(case_of(self.inputs), self.learning, load, self.inputs.exposures)


def case_of(inputs: Inputs) -> Case:
    """What the law takes of a question."""
    return Case(
        parameters=inputs.shape.parameters, facts=inputs.facts or 1, batch=inputs.batch or 1
    )


def learning_of(case: Case, probe: Probe | None) -> Learning:
    """How quickly facts will be learned: by the law, or by the law after a probe."""
    if probe is None or probe.half is None or probe.half_error is None:
        return expected(case, CONSTANTS)
    taught = case._replace(facts=probe.facts, batch=probe.batch)
    half = after_probe(case, taught, probe.half, probe.half_error, CONSTANTS)
    slope = expected(case, CONSTANTS).log_slope
    if probe.slope is not None and probe.slope_error is not None:
        slope = slope_after_probe(probe.slope, probe.slope_error, CONSTANTS)
    return Learning(half, slope)


def make_teaching_plan(
    inputs: Inputs,
    target: float,
    given: GivenFacts | None = None,
    probe: Probe | None = None,
) -> TeachingPlan:
    """Answer a question about a pretrained model.

    Args:
        inputs: the question.
        target: a recall that exposures are said for too, and changes are judged by.
        given: the file of facts, if it is one.
        probe: a sample of them that was taught, if there was one.
    """
    learning = learning_of(case_of(inputs), probe)
    rank = least_rank(inputs) if inputs.method == "lora" and inputs.rank is None else None
    load = NO_LOAD if rank else load_of(inputs.question())
    steps = (inputs.facts or 1) / (inputs.batch or 1)
    reached = []
    for recall in sorted({0.5, 0.9, target}):
        seen = exposures_to(recall, learning, load)
        reached.append(
            Reached(recall=recall, exposures=seen, steps=Ends(*(each * steps for each in seen)))
        )
    room = room_of(inputs)
    unlike = _untested(inputs)
    return TeachingPlan(
        inputs=inputs,
        status=Standing.EXTRAPOLATED if unlike else Standing.TESTED,
        target=target,
        reached=reached,
        recall=recall_after(inputs.exposures, learning, load) if inputs.exposures else None,
        limit=Limit.NONE if rank or (inputs.facts or 1) < room.low else Limit.CAPACITY,
        limit_from=room,
        rank=rank,
        kept=kept_near(inputs.method, inputs.shape.parameters, inputs.facts or 1),
        changes=_changes(inputs, load, target, probe),
        extrapolated=unlike,
        given=given,
        probe=probe,
    )


def room_of(inputs: Inputs) -> Ends:
    """How many facts keep recall at 0.9, however often they are seen: the middle, low, high.

    The more facts, the more bits has each, unless they have a given number of answers.
    """
    room = facts_at(0.9, inputs.question())
    if inputs.answers is not None:
        return room
    found = []
    for end in Ends._fields:
        facts = getattr(room, end)
        for _ in range(_ROUNDS):
            asked = replace(inputs.question(), answers=max(round(facts), 2))
            facts = getattr(facts_at(0.9, asked), end)
        found.append(facts)
    return Ends(*found)


def least_rank(inputs: Inputs) -> Ends:
    """The rank from which on an adapter does not keep recall below 0.9; the high end is sure."""
    room = facts_at(0.9, replace(inputs, rank=1).question())
    facts = inputs.facts or 1
    return Ends(*(float(max(math.ceil(facts / each), 1)) for each in (room[0], room[2], room[1])))


def _untested(inputs: Inputs) -> list[str]:
    """What no published run had."""
    case, unlike = case_of(inputs), []
    for name, what in (("parameters", "parameters"), ("facts", "facts"), ("batch", "in a batch")):
        size, tested = getattr(case, name), range_of(name)
        if size > _BEYOND * tested.high:
            unlike.append(f"{size / tested.high:.2g} times as many {what} as in any")
        elif size < tested.low / _BEYOND:
            unlike.append(f"{tested.low / size:.2g} times fewer {what} than in any")
    return unlike


def _changes(inputs: Inputs, load: Ends, target: float, probe: Probe | None) -> list[Change]:
    """What reaches the target earlier, by the middle estimate or by the high one."""
    now, changes = exposures_to(target, learning_of(case_of(inputs), probe), load), []
    batch = max((inputs.batch or 1) // _SMALLER, 1)
    if floor_share(case_of(inputs), CONSTANTS) > _LEAST_SHARE and batch < (inputs.batch or 1):
        changes.append((f"{batch} facts in a batch", replace(inputs, batch=batch)))
    if inputs.rank is not None and (inputs.facts or 1) >= room_of(inputs).low:
        rank = max(_MORE_RANK * inputs.rank, round(_SPARE * least_rank(inputs).value))
        changes.append((f"a rank of {rank}", replace(inputs, rank=rank)))
        if inputs.question().partial:
            every = replace(inputs, modules=tuple(inputs.shape.matrices()))
            changes.append((f"adapters on all matrices (--target-modules {ALL})", every))
    found = []
    for words, after in changes:
        load_after = load_of(after.question()) if load.value else NO_LOAD
        seen = exposures_to(target, learning_of(case_of(after), probe), load_after)
        if _earlier(seen.value, now.value) or _earlier(seen.high, now.high):
            times = seen.value / now.value * after.flops / inputs.flops
            cost = times if math.isfinite(now.value) else None
            found.append(Change(change=words, exposures=seen, cost=cost))
    return found


def _earlier(after: float, now: float) -> bool:
    return after < (1 - _SETTLED) * now
