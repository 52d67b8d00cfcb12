"""The answer of `plan`, tried at a scale that is trained here in minutes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_duration
from recallscope.common.interrupts import clean_up_needed
from recallscope.common.progress_bar import ProgressCallback
from recallscope.common.status import Status
from recallscope.experiment.experiment import run
from recallscope.model.kinds.huggingface import save_weights
from recallscope.model.parameters import parameters_of
from recallscope.model.setup import Setup
from recallscope.planning.asking import ask
from recallscope.planning.experiments import adapts, fields_of, smaller
from recallscope.planning.inputs import Inputs
from recallscope.planning.plan_result import Plan
from recallscope.planning.verification import Verification, what_is_trained
from recallscope.problem.problem import Problem
from recallscope.statistics.intervals import mean_interval
from recallscope.theory.question import Ends
from recallscope.three_step.cost import predict_cost

BUDGET = 180.0  # seconds of one core that all trainings are predicted to take, at most
_MOST, _SEEDS, _TESTS = 200.0, 4, 4096  # seconds that no further seed may pass, and most of each
_BASE_SEED, _BASE_STEPS, _BASE_EXPOSURES, _BASE_BATCH, _BASE_RATE = 10**6, 300, 150, 256, 0.3
"""Of the training on other facts: its fewest steps; its rate, as a fraction of that of a LoRA."""


class _Chosen(NamedTuple):
    inputs: Inputs
    problem: Problem
    tests: int
    base: Problem | None  # of the training on other facts
    base_seconds: float
    seconds: float  # of each seed
    seeds: int


def verified(
    plan: Plan, progress: ProgressCallback, say: Callable[[str], None] = lambda line: None
) -> Plan:
    """The plan with a verification, or with the reason why there is none.

    Args:
        plan: the plan.
        progress: called with (seconds done, seconds in all), as predicted.
        say: called with what will be trained and an estimate, before it begins.
    """
    try:
        chosen = _chosen(plan)
        total = chosen.base_seconds + chosen.seeds * chosen.seconds
        trained = what_is_trained(chosen.inputs, plan.inputs)
        seeds = f"{chosen.seeds} seed{'s' if chosen.seeds > 1 else ''}"
        say(f"trains {trained}: {seeds}, about {format_duration(total)}")
        with clean_up_needed(), tempfile.TemporaryDirectory() as folder:
            seen = _trained(chosen, plan.laws[0].law, folder, progress)
            return replace(plan, verification=seen)
    except ProblemError as error:
        return replace(plan, unverified=str(error))


def _chosen(plan: Plan) -> _Chosen:
    """The largest of which two seeds fit the budget, or the smallest."""
    if not plan.laws:
        raise ProblemError("no law answers, so there is no plan to compare a training with")
    chosen, least = None, 0.0
    for inputs in smaller(plan.inputs):
        problem = Problem.from_dict(fields_of(inputs))
        tests = _TESTS if inputs.zipf_exponent else min(inputs.facts or 1, _TESTS)
        parameters_of(problem)  # an error says what is missing
        per_seed, base, first = predict_cost(problem, test_samples=tests).seconds, None, 0.0
        if adapts(inputs):
            base = _on_other_facts(problem)
            first = predict_cost(base, test_samples=tests).seconds
        least = least or first + per_seed
        # One seed rather than none.
        if first + 2 * per_seed > BUDGET and (chosen is not None or first + per_seed > BUDGET):
            break
        if ask(inputs):
            seeds = min(int((BUDGET - first) / per_seed), _SEEDS)
            chosen = _Chosen(inputs, problem, tests, base, first, per_seed, seeds)
    if chosen is None:
        raise ProblemError(
            f"even the smallest scaled-down model that could learn would take about "
            f"{format_duration(least)}; --export FILE writes the run at full size"
        )
    return chosen


def _on_other_facts(problem: Problem) -> Problem:
    rate = problem["learning_rate"] * (_BASE_RATE if problem["rank"] else 1)
    batch = min(problem["facts"], _BASE_BATCH)
    steps = max(_BASE_STEPS, round(_BASE_EXPOSURES * problem["facts"] / batch))
    base = problem.replace(rank=0, target_modules="", learning_rate=rate)
    return base.replace(batch=batch, steps=steps)


def _trained(chosen: _Chosen, law: str, folder: str, progress: ProgressCallback) -> Verification:
    """Train it, at every seed for which there is time."""
    started = time.monotonic()
    problem, total = chosen.problem, chosen.base_seconds + chosen.seeds * chosen.seconds
    base_recall = None

    def update(before: float, seconds: float) -> Callable[[int, int], None]:
        return lambda done, steps: progress(before + seconds * done / max(steps, 1), total)

    if chosen.base is not None:
        how: dict[str, Any] = {
            "test_samples": chosen.tests,
            "progress": update(0, chosen.base_seconds),
        }
        setup = Setup(problem=chosen.base, seed=_BASE_SEED, dtype="float32", **how)
        outcome = chosen.base.part("learner").learn(setup)
        save_weights(outcome.module, folder)
        base_recall = outcome.numbers["recall_accuracy"]
        problem = problem.replace(config="", checkpoint=folder)
    recalls: list[float] = []
    for seed in range(chosen.seeds):
        so_far = time.monotonic() - started
        show = update(chosen.base_seconds + seed * chosen.seconds, chosen.seconds)
        record = run(problem, seed, test_samples=chosen.tests, progress=show)
        if record.status is not Status.OK or record.recall_accuracy is None:
            raise ProblemError(f"the training with seed {seed} broke off: {record.reason}")
        recalls.append(record.recall_accuracy)
        now = time.monotonic() - started
        if now + (now - so_far) > _MOST:
            break
    answers = ask(chosen.inputs)
    planned = {
        answer.law: answer.capacity.recall
        for answer in answers
        if answer is answers[0] or answer.law == law
    }
    recall = Ends(*mean_interval(recalls, [chosen.tests] * len(recalls)))
    return Verification(
        inputs=chosen.inputs,
        steps=dict(problem.declared).get("steps"),
        seeds=list(range(len(recalls))),
        recalls=recalls,
        recall=recall,
        planned=planned,
        inside={name: ends.low <= recall.value <= ends.high for name, ends in planned.items()},
        base_recall=base_recall,
        seconds=time.monotonic() - started,
    )
