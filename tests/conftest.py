from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import settings
from xdist.scheduler.loadscope import LoadScopeScheduling

# Files whose tests share something that takes long to make: one worker has all of its tests.
SHARING = ("tests/test_check.py", "tests/test_paper.py")


class SharingScheduling(LoadScopeScheduling):
    """Tests go wherever there is room, but for those of files that share something."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return file if file in SHARING else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharingScheduling:
    """Called by pytest -n."""
    return SharingScheduling(config, log)


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
