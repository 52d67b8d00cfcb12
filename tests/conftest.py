from __future__ import annotations

import contextlib
import io
import json
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import settings
from xdist.scheduler.loadscope import LoadScopeScheduling

from recallscope.cli.main import main

# The tests of each of these files share a slow fixture: one worker runs all tests of the file.
SHARING = (
    "tests/measure/test_check.py",
    "tests/reproduction/test_statements.py",
    "tests/plot/test_figures.py",
    "tests/sweeps/test_on_ray.py",
    "tests/reproduction/test_reproduction.py",
    "tests/reproduction/test_report.py",
    "tests/browser/test_site.py",
)

# These start first. Otherwise one worker would run a long one at the end while others idle.
LONGEST = (
    *("test_tutorials.py", "test_readme.py", "test_critical.py", "test_statements.py"),
    *("test_notebook.py", "test_results.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Called by pytest, to sort what it found."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


class SharingScheduling(LoadScopeScheduling):
    """Any free worker takes the next test; the tests of a file in SHARING go to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return file if file in SHARING else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharingScheduling:
    """Called by pytest -n."""
    return SharingScheduling(config, log)


# Background jobs may ignore Ctrl-C, and child processes would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("exact", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("exact")


@pytest.fixture
def threads():
    """Set torch's number of threads for one test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def recallscope(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process: a new one takes seconds to import torch.

    The pages are run as a user would, in separate processes: see blocks.py.
    """
    out, err = io.StringIO(), io.StringIO()
    argv, sys.argv = sys.argv, ["recallscope", *arguments]
    code: Any = 0
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")  # as for a user; in tests they are errors
            main()
    except SystemExit as stopped:
        code = stopped.code
    finally:
        sys.argv = argv
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@pytest.fixture
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line."""
    return recallscope


@pytest.fixture
def config(tmp_path):
    """Writes the configuration of a transformer, and gives its path."""

    def write(content):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(content))
        return path

    return write
