"""Memory that does not grow with the batch, and sizes that must fit."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from recallscope import Problem, predict_cost

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")

SCRIPT = """
import json, re, sys
from pathlib import Path
from recallscope import Problem, run
record = run(Problem(**json.loads(sys.argv[1])))
# Not getrusage: its peak counts the process this one was forked from.
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(json.dumps({"status": record.status, "peak": peak, "engine": record.provenance.engine}))
"""


def measured(problem):
    """Run in a separate process, and return its peak memory."""
    command = [sys.executable, "-c", SCRIPT, json.dumps(problem.to_dict())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["status"] == "ok"
    return result["peak"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_batch():
    peaks = [
        measured(Problem(vocab=1024, samples=samples, dim=64, length=16))
        for samples in (10**5, 10**6)
    ]
    assert peaks[1] < 1.05 * peaks[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [
        Problem(vocab=4096, samples=20_000, dim=128, length=64),
        Problem(vocab=30_000, samples=20_000, dim=128, length=64),
        Problem(vocab=4096, samples=4096, dim=64, length=16, regime="literal", eta=1, gamma=1),
        Problem(vocab=1024, samples=8192, dim=128, length=16, width=4096, activation="gelu"),
        Problem(vocab=4096, samples="inf", dim=128, length=16, width=1024),
        Problem(vocab=1024, samples=64, dim=16, length=30_000),
    ],
    ids=str,
)
def test_predicted_memory_is_enough_and_not_far_too_much(problem):
    predicted = predict_cost(problem).memory_bytes
    assert predicted / 3 < measured(problem) < 1.1 * predicted


@pytest.mark.slow
def test_two_hundred_thousand_facts_fit_in_three_gibibytes():
    problem = Problem(vocab=200_000, samples=2_000_000, dim=128, length=64)
    assert measured(problem) < 3 * 2**30
