from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from hypothesis import settings

settings.register_profile("exact", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("exact")


@pytest.fixture
def threads():
    """Set torch's number of threads for one test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line as a user would, in a process of its own."""

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "recallscope", *arguments],
            capture_output=True,
            text=True,
            timeout=300,
        )

    return call
