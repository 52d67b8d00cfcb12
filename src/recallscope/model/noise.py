"""Random numbers of torch itself, for dropout and first weights: made a function of the seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from recallscope.task.random import Role, words


@contextmanager
def seeded(seed: int, number: int, device: torch.device) -> Iterator[None]:
    """Within it torch draws from a seed and a number alone; its generators are left as they were.

    >>> with seeded(0, 1, torch.device("cpu")):
    ...     one = torch.rand(2)
    >>> with seeded(0, 1, torch.device("cpu")):
    ...     bool((torch.rand(2) == one).all())
    True
    """
    word = int(words(seed, Role.NOISE, start=number, stop=number + 1)[0])
    cuda = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        # Not `torch.manual_seed`, which reaches devices that are not restored.
        torch.default_generator.manual_seed(word)
        for gpu in cuda:
            with torch.cuda.device(gpu):
                torch.cuda.manual_seed(word)
        yield
