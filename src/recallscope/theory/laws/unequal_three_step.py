"""Three gradient steps on facts of unequal frequency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recallscope.problem.frequencies import FREQUENCIES, frequencies_of
from recallscope.problem.naming import ARRAYS
from recallscope.problem.problem import Problem
from recallscope.theory import table_prediction
from recallscope.theory.law import NOTHING_GIVEN, Answer, Given, Law, LawKind, Ranges
from recallscope.theory.laws.tables import NEEDS_ARRAYS
from recallscope.theory.laws.three_step import untested_parts
from recallscope.theory.problem_arrays import no_form_for_parts
from recallscope.theory.recorded_error import RecordedError, error_near, recorded
from recallscope.theory.unequal_steps import Steps, UnequalFacts, three_steps

_MOST_DRAWS, _LEAST_DRAWS = 64, 8
_MULTIPLY_ADDS = 1e10  # of all draws, about
_PER_SECOND, _MOST_SECONDS = 4e9, 1200
_MOST_WORK = 2e9  # of one draw, where sizes are sought
_FREE = (*FREQUENCIES, "distractor_frequencies")
_OFTEN = 1000.0  # samples for each fact; as good as infinitely many


def _work(problem: Problem) -> float:
    """Multiply-adds of one training set: sums over tokens, and two reads of all facts."""
    return problem.vocab * problem.dim * (8.0 * problem.dim + 2.0 * problem.vocab)


def _draws(problem: Problem) -> int:
    return int(np.clip(_MULTIPLY_ADDS / _work(problem), _LEAST_DRAWS, _MOST_DRAWS))


def unequal_steps(problem: Problem, given: Given = NOTHING_GIVEN) -> list[Steps]:
    """Return the accuracy of each fact after three steps, for some embeddings and training sets.

    >>> problem = Problem(vocab=64, samples=512, dim=16, length=4, frequencies="zipf")
    >>> np.mean([steps.recall[:8].mean() for steps in unequal_steps(problem)]).round(1)
    np.float64(0.4)
    """
    table_prediction.check_memory(problem)
    draws = _draws(problem)
    tables = table_prediction.tables_of(problem, given.embeddings, draws)
    marked = frequencies_of(problem, problem.vocab)
    assert marked is not None
    even = np.full(problem.vocab, 1 / problem.vocab)
    others = marked if problem["distractor_frequencies"] == "same" else even
    draws_of_steps = []
    for place in range(draws):
        given.progress(place, draws)
        table, random = tables[place % len(tables)](), np.random.default_rng([45, place])
        outputs = np.asarray(table.outputs, dtype=float)
        labels = random.permutation(problem.vocab)
        facts = UnequalFacts(
            tokens=np.asarray(table.tokens, dtype=float),
            outputs=(outputs - outputs.mean(axis=0))[labels],
            trigger=np.asarray(table.trigger, dtype=float),
            marked=marked,
            others=others,
        )
        draws_of_steps.append(three_steps(facts, problem.samples, problem.length, random))
    return draws_of_steps


def _answer(problem: Problem, draws: list[Steps]) -> Answer:
    marked = frequencies_of(problem, problem.vocab)
    names = ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy")
    by_accuracy = {
        name: np.array([steps[which] @ marked for steps in draws])
        for which, name in enumerate(names)
    }
    per_fact = np.mean([steps.recall for steps in draws], axis=0)
    return Answer(
        accuracies={name: float(values.mean()) for name, values in by_accuracy.items()},
        errors={
            name: float(values.std(ddof=1)) / math.sqrt(len(values))
            for name, values in by_accuracy.items()
        },
        quantities={
            "recall_per_fact": float(per_fact.mean()),
            "facts_kept": float((per_fact > 0.5).sum()),
        },
    )


@dataclass(frozen=True)
class UnequalFrequencies(Law):
    """Three steps on facts of unequal frequency."""

    kind = LawKind.DERIVED
    priority = 45
    about = "predicted for facts of unequal frequency"
    origin = "Attention vectors and memories are drawn from their law, nothing fitted."
    step = 4.0
    close = 1.02
    tested: ClassVar[Ranges] = {
        "vocab": (64, 1024),
        "dim": (8, 256),
        "length": (2, 64),
        "samples per fact": (1, math.inf),
        "zipf_exponent": (0, 2),
    }

    def applies(self, problem: Problem) -> str | None:
        """Why the law says nothing of a problem; None if it does."""
        if dict(problem.declared).get("frequencies", "uniform") == "uniform":
            return "it is about facts of unequal frequency"
        if reason := no_form_for_parts(problem, _FREE):
            return reason
        for chosen, name in (
            (problem.regime != "limit", "finite steps"),
            (problem.width is not None, "an MLP"),
            (problem.trigger_in_values, "a trigger in the values"),
        ):
            if chosen:
                return f"no law of three steps for {name} with facts of unequal frequency"
        return None

    def predict(self, problems: Sequence[Problem], given: Given) -> list[Answer]:
        """An answer for each of the problems."""
        answers = []
        for place, problem in enumerate(problems):
            if ARRAYS.fullmatch(problem.embedding) and given.embeddings is None:
                answers.append(Answer(reason=NEEDS_ARRAYS))
                continue
            if (seconds := self.seconds(problem)) > _MOST_SECONDS:
                reason = f"no prediction: it would take about {seconds / 60:,.0f} minutes"
                answers.append(Answer(reason=f"{reason}; choose a smaller vocab or dim"))
                continue
            draws = unequal_steps(problem, given._part(place, 1, len(problems)))
            answers.append(_answer(problem, draws))
        return answers

    def recorded_error(
        self, problem: Problem, accuracy: str, expected: float
    ) -> RecordedError | None:
        """How far off it was near a problem."""
        rows = recorded("unequal_steps.csv")
        name, often = accuracy.removesuffix("_accuracy"), problem.samples / problem.vocab
        sizes = {name: float(getattr(problem, name)) for name in ("vocab", "dim", "length")}
        return error_near(
            sizes | {"often": min(often, _OFTEN)},
            expected,
            {**rows, "often": np.minimum(rows["samples"] / rows["vocab"], _OFTEN)},
            rows[f"predicted_{name}"],
            rows[f"measured_{name}"],
        )

    def solved(self, problem: Problem, size: str) -> tuple[float, float]:
        """The sizes at which a prediction takes some seconds at most."""
        ends = {"samples": (1, 1e6 * problem.vocab), "length": (2, 4096), "zipf_exponent": (0, 10)}
        low, high = ends.get(size, (4, 16_384))
        while size in ("vocab", "dim") and high > low:
            if _work(problem.replace(**{size: int(high)})) <= _MOST_WORK:
                break
            high /= 2
        return low, max(high, low)

    def seconds(self, problem: Problem) -> float:
        """About how long a prediction takes."""
        return _draws(problem) * _work(problem) / _PER_SECOND

    def explain(self, problem: Problem, answer: Answer) -> str:
        """A sentence or more on an answer."""
        quantities = answer.quantities
        return (
            f"Facts recalled more often than not: {quantities['facts_kept']:,.0f}, the most "
            f"frequent. Counted once each, {quantities['recall_per_fact']:.3f} of all facts are "
            "recalled."
        )

    def untested(self, problem: Problem) -> list[str]:
        """What else of a problem it was not compared at."""
        return untested_parts(problem)


PART = UnequalFrequencies()
