"""What the explorer says of random problems, compared with what Python says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from recallscope import predict
from recallscope.problem.problem import ACTIVATIONS, Problem
from recallscope.theory.accuracy import analyse
from recallscope.theory.choosing import extrapolated
from recallscope.theory.finding import TURNS
from recallscope.theory.noise import budget
from recallscope.theory.problem_arrays import arrays_of
from recallscope.theory.simulations import recorded_error

ACCURACIES = ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy")
NO_SIGNAL = 1e12  # a noise above this means no signal: its size is rounding error
AT_ONCE = 250
ERRORS = 20  # the number of recorded errors that are compared: each takes a while


def draw_problems(count: int, seed: int) -> list[Problem]:
    """Problems of all sizes and options that have closed forms."""
    random = np.random.default_rng(seed)

    def size(low: float, high: float) -> int:
        return round(math.exp(random.uniform(math.log(low), math.log(high))))

    problems = []
    for _ in range(count):
        vocab, dim = size(2, 1e6), size(1, 4096)
        embedding = str(random.choice(["sphere", "gaussian", "rademacher", "orthogonal"]))
        if embedding == "orthogonal":
            vocab = min(vocab, 20000)
            dim = vocab + size(1, 3000)
        samples = (
            size(1, 1e8) if random.random() < 0.5 else max(1, round(vocab * size(1, 5e3) / 50))
        )
        width = None if random.random() < 0.4 else size(1, 1e5)
        problems.append(
            Problem(
                vocab=vocab,
                samples=math.inf if random.random() < 0.05 else samples,
                dim=dim,
                length=1 if random.random() < 0.03 else size(1, 2000),
                width=width,
                activation=None if width is None else str(random.choice(ACTIVATIONS)),
                embedding=embedding,
                trigger_in_values=bool(random.random() < 0.4),
            )
        )
    return problems


def draw_trained(count: int, seed: int) -> list[Problem]:
    """Problems within and around the sizes that the law of trained models covers."""
    random = np.random.default_rng(seed)
    problems = []
    for _ in range(count):
        vocab = round(math.exp(random.uniform(math.log(60), math.log(2100))))
        learner = str(random.choice(sorted([*TURNS, "converged"])))
        dim = round(math.exp(random.uniform(math.log(5), math.log(126))))
        mlp = learner == "converged" and random.random() < 0.4
        problems.append(
            Problem(
                vocab=vocab,
                samples=max(
                    1, round(vocab * math.exp(random.uniform(math.log(0.2), math.log(33))))
                ),
                dim=dim,
                length=round(math.exp(random.uniform(math.log(2), math.log(130)))),
                width=max(1, round(dim * random.uniform(0.7, 9))) if mlp else None,
                learner=learner,
            )
        )
    return problems


def plain(problem: Problem) -> dict[str, Any]:
    """A problem as the page takes it."""
    names = ("vocab", "dim", "length", "width", "activation", "embedding", "trigger_in_values")
    return {name: getattr(problem, name) for name in names} | {
        "samples": None if math.isinf(problem.samples) else problem.samples,
        "learner": problem.learner,
    }


IN_PAGE = """(problems) => problems.map((given) => {
  const problem = { ...given, samples: given.samples ?? Infinity };
  const found = recallscope.predict(problem);
  if (found.reason) return found;
  const error = recallscope.recordedError(problem, "recall_accuracy", found.recall_accuracy);
  return { ...found, error, extrapolated: recallscope.extrapolated(problem) };
})"""

END_IN_PAGE = "(problems) => problems.map((problem) => recallscope.predictEnd(problem))"


def in_page(page: Any, script: str, problems: list[Problem]) -> list[dict[str, Any]]:
    """What the page says of problems."""
    given = [plain(problem) for problem in problems]
    starts = range(0, len(given), AT_ONCE)
    return [each for at in starts for each in page.evaluate(script, given[at : at + AT_ONCE])]


def compare(problems: list[Problem], found: list[dict[str, Any]]) -> dict[str, Any]:
    """The largest differences, and where they are."""
    worst: dict[str, tuple[float, str]] = {}
    counted = {"problems": len(problems), "with closed forms": 0, "no signal": 0}

    def note(what: str, difference: float, problem: Problem) -> None:
        if not difference <= worst.get(what, (-1.0, ""))[0]:
            worst[what] = (difference, repr(problem))

    s = arrays_of(problems)
    with np.errstate(all="ignore"):
        here = analyse(s)
        noise = budget(s, here)
    for place, (problem, there) in enumerate(zip(problems, found, strict=True)):
        known = all(np.isfinite(values[place]) for values in here.accuracies)
        note("reason", float(known != (there["reason"] is None)), problem)
        if not known or there["reason"] is not None:
            continue
        counted["with closed forms"] += 1
        for name in ACCURACIES:
            note(name, abs(getattr(here.accuracies, name)[place] - there[name]), problem)
        for stage, terms in noise.items():
            for term, variances in terms.items():
                variance, other = variances[place], there["noise"][stage][term]
                if min(variance, other) > NO_SIGNAL:
                    counted["no signal"] += 1
                    continue
                note(f"{stage} {term}", abs(variance - other) / max(1.0, variance), problem)
        note("extrapolated", float(extrapolated(problem) != there["extrapolated"]), problem)
    for problem, there in list(zip(problems, found, strict=True))[:ERRORS]:
        error = recorded_error(problem)
        note("recorded error", abs(error.most - there["error"]["most"]), problem)
    return {**counted, "worst": worst}


def compare_end(problems: list[Problem], found: list[dict[str, Any]]) -> dict[str, Any]:
    """The same for the law of trained models."""
    worst, laws = (0.0, ""), 0
    for problem, there in zip(problems, found, strict=True):
        here = predict(problem)
        if there["reason"] is not None:  # beyond the sizes that were measured
            continue
        if here.reason is not None:
            return {"reason": (here.reason, there["reason"], repr(problem))}
        laws += 1
        numbers = {"recall_accuracy": here.recall_accuracy}
        numbers |= {name: factor.value for name, factor in here.factors.items()}
        difference = max(abs(value - there[name]) for name, value in numbers.items())
        worst = max(worst, (difference, repr(problem)))
    return {"problems": len(problems), "with a law": laws, "worst": worst}
