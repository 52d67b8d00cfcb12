"""A training that is interrupted, and resumed from its checkpoint."""

from __future__ import annotations

import pytest

from recallscope.experiment import experiment


def stopped_and_resumed(problem, at, path, monkeypatch, seed=0):
    """The result of a training that was interrupted at a step, and of the rest of it."""
    monkeypatch.setattr("recallscope.training.loop._SECONDS_BETWEEN_SAVES", 0.0)

    def stop(done, total):
        if done == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        experiment.run(problem, seed, progress=stop, checkpoint=path)
    return experiment.run(problem, seed, checkpoint=path).result()
