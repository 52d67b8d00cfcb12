"""Ablations: what changing one thing in a problem does, at the same seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Self

from recallscope.common.errors import ProblemError, did_you_mean
from recallscope.common.plain import plain
from recallscope.common.status import Status
from recallscope.experiment.record import Record
from recallscope.plot.result import Drawing, Result
from recallscope.problem.metrics import check_accuracy, metric_names
from recallscope.problem.problem import Problem
from recallscope.statistics.intervals import Interval
from recallscope.statistics.paired import paired_difference
from recallscope.theory.problem_arrays import form_of

_DIFFERENCE = ("difference", "low", "high")
_COUNTS = ("pairs", "failed", "infeasible", "tests")


class Arm(NamedTuple):
    """One side of a comparison: what it is called, what is run, and which accuracy is taken."""

    label: str
    problem: Problem
    accuracy: str


class Ablation(NamedTuple):
    """Two arms: the problem as it is given, and with one thing changed."""

    name: str
    a: Arm
    b: Arm
    note: str | None = None


class AblationOutcome(StrEnum):
    """Which arm is better, if either is seen to be."""

    A = "A higher"
    B = "B higher"
    NEITHER = "no difference seen"
    NOTHING = "no pair to compare"


@dataclass(frozen=True, kw_only=True)
class AblationResult:
    """The effect of a change: both means over the same seeds, and their difference, B minus A.

    `failed` and `infeasible` count the pairs left out because a run of them was that. `tests` is
    the number of samples each run was tested on.
    """

    ablation: Ablation
    pairs: int
    failed: int
    infeasible: int
    tests: int
    a: Interval | None = None
    b: Interval | None = None
    difference: Interval | None = None

    @property
    def verdict(self) -> AblationOutcome:
        """The verdict that the interval of the difference leaves."""
        if self.difference is None:
            return AblationOutcome.NOTHING
        if self.difference.low > 0:
            return AblationOutcome.B
        return AblationOutcome.A if self.difference.high < 0 else AblationOutcome.NEITHER

    @property
    def largest(self) -> float | None:
        """The largest difference, either way, that the interval does not exclude."""
        if self.difference is None:
            return None
        return max(abs(self.difference.low), abs(self.difference.high))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AblationResult:
        """The inverse of `to_dict`."""

        def arm(letter: str) -> Arm:
            problem = Problem.from_dict(data[f"problem_{letter}"])
            return Arm(data[letter], problem, data[f"accuracy_{letter}"])

        means = [[f"{end}_{letter}" for end in Interval._fields] for letter in "ab"]
        a, b, difference = (
            None if data[names[0]] is None else Interval(*(data[name] for name in names))
            for names in (*means, _DIFFERENCE)
        )
        made = Ablation(data["ablation"], arm("a"), arm("b"), data["note"])
        counts = {name: data[name] for name in _COUNTS}
        return cls(ablation=made, **counts, a=a, b=b, difference=difference)

    def row(self) -> dict[str, Any]:
        """One plain row for a table."""
        name, a, b, note = self.ablation
        cells: dict[str, Any] = {"ablation": name, "a": a.label, "b": b.label}
        for arm, letter, interval in ((a, "a", self.a), (b, "b", self.b)):
            cells |= {f"accuracy_{letter}": arm.accuracy, f"problem_{letter}": arm.problem.key}
            for end in Interval._fields:
                cells[f"{end}_{letter}"] = getattr(interval, end, None)
        cells |= dict(zip(_DIFFERENCE, self.difference or [None] * 3, strict=True))
        cells |= {"verdict": str(self.verdict), "largest_not_excluded": self.largest}
        return cells | {name: getattr(self, name) for name in _COUNTS} | {"note": note}

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON: the row, and both problems in full."""
        problems = self.ablation.a.problem, self.ablation.b.problem
        return self.row() | dict(zip(("problem_a", "problem_b"), plain(problems), strict=True))


@dataclass(frozen=True, kw_only=True, repr=False)
class Ablations(Result):
    """The effects of several changes to one problem, and the records of all runs."""

    problem: Problem
    seeds: int
    results: list[AblationResult]
    records: list[Record] = field(default_factory=list, compare=False)
    _in_json = ("problem", "seeds")

    def rows(self) -> list[dict[str, Any]]:
        """A row for each change."""
        return [result.row() for result in self.results]

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON; the records are not in it."""
        return super().to_dict() | {"ablations": plain(self.results)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; without records."""
        return super().from_dict({**data, "results": data["ablations"]})

    def _words(self) -> str:
        text = "; ".join(
            f"{result.ablation.name}: {result.verdict}"
            + (
                ""
                if result.difference is None
                else f", B − A = {result.difference.mean:.4f} ({result.difference.low:.4f} to "
                f"{result.difference.high:.4f})"
            )
            for result in self.results
        )
        return f"{len(self.results)} ablations at {self.seeds} seeds: {text}"

    def _drawing(self) -> Drawing:
        return Drawing("ablation", [result.to_dict() for result in self.results])


def ablate(name: str, problem: Problem, accuracy: str = "recall_accuracy") -> Ablation:
    """The arms of an ablation of a problem, by name.

    >>> made = ablate("embedding", Problem(vocab=512, samples=8192, dim=64, length=32))
    >>> made.a.label, made.b.label, made.note
    ('sphere', 'orthogonal', 'orthogonal embeddings need a dim above vocab: 513 instead of 64')
    """
    check_accuracy(accuracy, metric_names(problem))
    if name not in _CHANGES:
        raise ProblemError(
            f"an ablation is one of {', '.join(ABLATIONS)}, not {name!r}"
            + did_you_mean(name, ABLATIONS)
        )
    other = accuracy
    if name == "steps":
        other = "first_gradient_accuracy"
        if accuracy != "recall_accuracy":
            raise ProblemError(
                "the steps ablation compares recall after three steps with that of the first "
                f"gradient, and has no other accuracy; leave {accuracy} out"
            )
    a, b, changes = _CHANGES[name](problem)
    changed = problem.replace(**changes)
    note = None
    if changed.dim != problem.dim:
        note = f"{b} embeddings need a dim above vocab: {changed.dim} instead of {problem.dim}"
    return Ablation(name, Arm(a, problem, accuracy), Arm(b, changed, other), note)


def applicable(problem: Problem, accuracy: str = "recall_accuracy") -> list[Ablation]:
    """All ablations that make sense for a problem.

    >>> problem = Problem(vocab=512, samples=8192, dim=64, length=32)
    >>> [made.name for made in applicable(problem)]
    ['embedding', 'trigger', 'steps', 'batch', 'gaussian']
    """
    made = []
    for name in ABLATIONS:
        try:
            made.append(ablate(name, problem, accuracy))
        except ProblemError:
            continue
    if not made:
        ablate(ABLATIONS[0], problem, accuracy)  # says what is wrong
    return made


def named(names: Sequence[str], problem: Problem, accuracy: str) -> list[Ablation]:
    """The ablations of these names, each once; all that make sense if none is named."""
    if not names:
        return applicable(problem, accuracy)
    return [ablate(name, problem, accuracy) for name in dict.fromkeys(names)]


def plan(ablations: Sequence[Ablation], seeds: int, first: int = 0) -> list[tuple[Problem, int]]:
    """The runs that ablations need, each once: all arms at the same seeds.

    >>> problem = Problem(vocab=64, samples=512, dim=16, length=4)
    >>> runs = plan([ablate("batch", problem), ablate("steps", problem)], seeds=2)
    >>> [(problem.samples, seed) for problem, seed in runs]
    [(512, 0), (512, 1), (inf, 0), (inf, 1)]
    """
    problems = dict.fromkeys(
        arm.problem for ablation in ablations for arm in (ablation.a, ablation.b)
    )
    return [(problem, first + turn) for problem in problems for turn in range(seeds)]


def compare(ablation: Ablation, records: Iterable[Record]) -> AblationResult:
    """Return the effect of a change, from the records of both arms; others are passed over.

    A pair in which a run failed or was infeasible is left out and counted.

    >>> from recallscope import run
    >>> made = ablate("steps", Problem(vocab=128, samples=1024, dim=64, length=8))
    >>> comparison = compare(made, [run(*arm) for arm in plan([made], seeds=4)])
    >>> comparison.verdict, comparison.pairs
    (<AblationOutcome.A: 'A higher'>, 4)
    """
    records = list(records)
    runs_a, runs_b = (
        {record.seed: record for record in records if record.problem == arm.problem}
        for arm in (ablation.a, ablation.b)
    )
    if runs_a.keys() != runs_b.keys() or not runs_a:
        alone = sorted(runs_a.keys() ^ runs_b.keys())
        raise ProblemError(
            f"the arms of {ablation.name} must be run at the same seeds, but "
            + (f"seed {alone[0]} is in one only" if alone else "there are no runs of them")
        )
    pairs = [(runs_a[seed], runs_b[seed]) for seed in sorted(runs_a)]
    fine = [pair for pair in pairs if all(run.status is Status.OK for run in pair)]
    failed = sum(any(run.status is Status.FAILED for run in pair) for pair in pairs)
    accuracies_a = [a.accuracy(ablation.a.accuracy) for a, _ in fine]
    accuracies_b = [b.accuracy(ablation.b.accuracy) for _, b in fine]
    tests = [size for _, size in accuracies_a]
    if len({size for _, size in accuracies_a + accuracies_b}) > 1:
        raise ProblemError(f"the runs of {ablation.name} must be tested on equally many samples")
    counted: dict[str, Any] = {
        "ablation": ablation,
        "pairs": len(fine),
        "failed": failed,
        "infeasible": len(pairs) - len(fine) - failed,
        "tests": tests[0] if tests else 0,
    }
    if not fine:
        return AblationResult(**counted)
    paired = paired_difference(
        [rate for rate, _ in accuracies_a], [rate for rate, _ in accuracies_b], tests
    )
    return AblationResult(**counted, a=paired.first, b=paired.second, difference=paired.difference)


Change = tuple[str, str, dict[str, Any]]
"""Names of both arms, and the fields that are changed in the second."""


def _embedding(problem: Problem) -> Change:
    dim = max(problem.dim, problem.vocab + 1)
    family = _random_family(problem, "embedding")
    return family, "orthogonal", {"embedding": "orthogonal", "dim": dim}


def _mlp(problem: Problem) -> Change:
    if problem.width is None:
        raise ProblemError("the mlp ablation takes the MLP away, and there is none; give a width")
    return f"{problem.activation} MLP, m={problem.width}", "attention alone", {"width": None}


def _trigger(problem: Problem) -> Change:
    names = ["in keys alone", "in values too"]
    here, there = names[::-1] if problem.trigger_in_values else names
    return here, there, {"trigger_in_values": not problem.trigger_in_values}


def _batch(problem: Problem) -> Change:
    if math.isinf(problem.samples):
        raise ProblemError(
            "the batch ablation replaces the batch by the population, and samples are inf already; "
            "give a finite number"
        )
    return f"N={problem.samples}", "population", {"samples": math.inf}


def _gaussian(problem: Problem) -> Change:
    family = _random_family(problem, "gaussian")
    if family == "gaussian":
        raise ProblemError(
            "the gaussian ablation makes embeddings gaussian, and they are so already; "
            "give another embedding"
        )
    return family, "gaussian", {"embedding": "gaussian"}


def _random_family(problem: Problem, name: str) -> str:
    if form_of(problem.embedding) not in ("sphere", "gaussian"):
        raise ProblemError(
            f"the {name} ablation changes random embeddings, not {problem.embedding}; "
            "give sphere, gaussian or rademacher"
        )
    return problem.embedding


_CHANGES: dict[str, Callable[[Problem], Change]] = {
    "embedding": _embedding,
    "mlp": _mlp,
    "trigger": _trigger,
    "steps": lambda problem: ("three steps", "first gradient", {}),
    "batch": _batch,
    "gaussian": _gaussian,
}
ABLATIONS = tuple(_CHANGES)
