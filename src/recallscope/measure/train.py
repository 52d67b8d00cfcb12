"""One training, watched from the first step to the last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from recallscope.common.errors import ProblemError
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.experiment.experiment import run
from recallscope.measure.training_curve import TrainingCurve
from recallscope.problem.given_embeddings import Embeddings
from recallscope.problem.problem import Problem


def train(
    problem: Problem,
    seed: int = 0,
    *,
    test_samples: int = 4096,
    dtype: str = "float32",
    device: str = "cpu",
    embeddings: Embeddings | None = None,
    checkpoint: str | Path | None = None,
    watch: Callable[[Mapping[str, float]], None] | None = None,
    progress: ProgressCallback | bool = True,
) -> TrainingCurve:
    """Train once, and return the training curve.

    Args:
        problem: what to learn and how; its learner must be one that trains.
        seed: which instance.
        test_samples: fresh samples to test on at the end.
        dtype: 'float32', or 'float64' for twice the time and memory.
        device: where torch computes.
        embeddings: your own arrays, if the problem names them.
        checkpoint: a file from which to resume, and to which to save every few seconds.
        watch: called with loss, recall, attention, mass and cosine at every evaluation.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (steps done, steps in all).

    Returns:
        The record at the end, and loss, attention and recall along the way.

    Raises:
        ProblemError: a learner without steps, or a checkpoint of another problem or without a
            folder.

    >>> problem = Problem(vocab=32, samples=256, dim=24, length=4, learner="gd", steps=100)
    >>> training = train(problem)
    >>> training.record.recall_accuracy > 0.9, training.rows()[0]["attention"] < 0.5
    (True, True)
    """
    if "curve_loss" not in problem.part("learner").metrics:
        raise ProblemError(
            f"the learner {problem.learner} takes no steps that could be watched; "
            "choose gd, sgd, adam, adamw, muon or polar, or use run"
        )
    if checkpoint is not None and not Path(checkpoint).absolute().parent.is_dir():
        raise ProblemError(f"there is no folder for the checkpoint {str(checkpoint)!r:.200}")
    with shown_progress(progress, f"train by {problem.learner}") as show:
        record = run(
            problem,
            seed,
            test_samples=test_samples,
            dtype=dtype,
            device=device,
            embeddings=embeddings,
            checkpoint=None if checkpoint is None else Path(checkpoint),
            watch=watch,
            progress=show,
        )
    return TrainingCurve(record=record)
