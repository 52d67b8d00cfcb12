"""The small examples of the page: arrays for the three steps, which the page computes."""

from __future__ import annotations

from typing import Any, NamedTuple

from recallscope.model.embeddings import draw_embeddings
from recallscope.problem.problem import Problem
from recallscope.task.recall import RecallTask, Samples


class Example(NamedTuple):
    """One seed of a small problem, and what it shows."""

    title: str
    shows: str
    problem: Problem
    seed: int = 1
    tests: int = 256


EXAMPLES = (
    Example(
        "Space for all facts",
        (
            "12 facts in 32 dimensions, short sequences, each fact seen 20 "
            "times. Attention finds the trigger, and every fact is recalled."
        ),
        Problem(vocab=12, samples=240, dim=32, length=4),
    ),
    Example(
        "Too few dimensions",
        (
            "24 facts in 6 dimensions. There is enough data, each fact is "
            "seen 20 times, and attention mostly finds the trigger. But "
            "tokens overlap, so every stored fact also contributes to the "
            "answers of others."
        ),
        Problem(vocab=24, samples=480, dim=6, length=4),
    ),
    Example(
        "Long sequences, few samples",
        (
            "The 12 facts and 32 dimensions of the first example, but each "
            "sequence has 12 tokens, and there are only 16 sequences. The "
            "first memory consists mostly of distractors. So attention learns "
            "little, and often looks at the wrong token."
        ),
        Problem(vocab=12, samples=16, dim=32, length=12),
    ),
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
