"""The small examples of the page: arrays for the three steps, which the page computes."""

from __future__ import annotations

from typing import Any, NamedTuple

from recallscope.models.embeddings import draw_embeddings
from recallscope.parts.data_files import data_next_to
from recallscope.problem import Problem
from recallscope.tasks.recall import RecallTask, Samples


class Example(NamedTuple):
    """One seed of a small problem, and what it shows."""

    title: str
    shows: str
    problem: Problem
    seed: int = 1
    tests: int = 256


EXAMPLES = tuple(
    Example(each["title"], " ".join(each["shows"].split()), Problem(**each["sizes"]))
    for each in data_next_to(__file__, "examples.toml")["example"]
)


def example_arrays(example: Example) -> dict[str, Any]:
    """All inputs of the three steps, as plain lists."""
    problem, seed = example.problem, example.seed
    drawn = draw_embeddings(problem, seed)
    task = RecallTask(problem.vocab, problem.length, seed)
    return {
        "title": example.title,
        "shows": example.shows,
        "problem": {name: getattr(problem, name) for name in ("vocab", "samples", "dim", "length")},
        "seed": seed,
        "tokens": drawn.tokens.tolist(),
        "outputs": drawn.outputs.tolist(),
        "trigger": drawn.trigger.tolist(),
        "permutation": task.permutation.tolist(),
        "samples": _plain(task.draw(0, int(problem.samples))),
        "tests": _plain(task.draw(0, example.tests, "test")),
    }


def _plain(samples: Samples) -> list[dict[str, Any]]:
    rows = zip(*(field.tolist() for field in samples), strict=True)
    return [dict(zip(("tokens", "position", "label"), row, strict=True)) for row in rows]
