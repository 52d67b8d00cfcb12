"""A user's function in searches, sweeps and diagrams."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sound_stores import is_sound

import recallscope
from recallscope import CriticalSearch, Problem, ProblemError, Record, Store
from recallscope.experiment.cell import Cell, Settings
from recallscope.problem.axes import Axis
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.schema import KeyedRecord

PROBLEM = Problem(vocab=64, samples=1, dim=32, length=4)
TESTS = 1000


def planted(problem: Problem, seed: int):
    """An accuracy that crosses a half at N = 30 d, with the noise of its tests."""
    truth = 1 / (1 + (30 * problem.dim / problem.samples) ** 2)
    return np.random.default_rng(seed).binomial(TESTS, truth) / TESTS, TESTS


def with_metrics(problem: Problem, seed: int):
    accuracy, tests = planted(problem, seed)
    return {"at_5": accuracy, "tests": tests, "loss": 1.5, "curve": [3.0, 2.0, seed]}


def test_the_search_finds_where_it_crosses_on_every_executor(tmp_path) -> None:
    found = {
        executor: recallscope.critical(
            PROBLEM, "samples", 0.5, run=planted, executor=executor, store=tmp_path / executor
        )
        for executor in ("serial", "processes")
    }
    serial = found["serial"]
    assert found["processes"].to_dict() == serial.to_dict()
    assert serial.low < 960 < serial.high
    assert (serial.theory, serial.without_theory) == (None, "no closed form for planted")
    again = recallscope.critical(PROBLEM, "samples", 0.5, run=planted, store=tmp_path / "serial")
    assert again.to_dict() == serial.to_dict()
    assert len(list(Store(tmp_path / "serial").records())) == serial.evaluations
    assert is_sound(Store(tmp_path / "serial"))


def test_named_metrics_are_kept_searched_and_drawn(tmp_path) -> None:
    found = recallscope.critical(
        PROBLEM, "samples", 0.5, "at_5", run=with_metrics, store=tmp_path / "facts"
    )
    assert found.low < 960 < found.high
    record = next(Store(tmp_path / "facts").records())
    assert record.metrics["curve"] == [3.0, 2.0, record.seed]
    assert record.test_samples == TESTS
    axes = Axis("dim", (16, 32)), Axis("samples", (64, 4096))
    diagram = recallscope.phase(PROBLEM, *axes, 2, accuracy="at_5", run=with_metrics)
    assert [cell.predicted for cell in diagram.cells] == [None] * 4
    assert diagram.without_theory == f"no closed form for {diagram.own}"
    law = recallscope.fit(PROBLEM, "samples", [Axis("dim", (16, 32, 64))], run=planted)
    power = law.law.exponents["dim"]
    assert power.low < 1 < power.high
    done = recallscope.sweep(
        [(PROBLEM, seed) for seed in range(3)], tmp_path / "swept", run=with_metrics, name="mine"
    )
    assert done.by_status == {"ok": 3}


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (0.5, "must return an accuracy and the number of its tests"),
        ((0.5, 0), "tests must be a whole number from 1"),
        ((1.5, 10), "recall_accuracy of broken must be a number from 0 to 1, not 1.5"),
        ({"recall_accuracy": 0.5}, "without the number of tests"),
        ({"loss": "low"}, "the metric loss must be a number"),
        ({"loss": ""}, "the metric loss must be a number"),
        ({}, "must return an accuracy and the number of its tests"),
        ((True, 10), "recall_accuracy of broken must be a number, not True"),
        ((0.5, True), "tests of broken must be a number, not True"),
        ({"right": np.bool_(True)}, "right of broken must be a number, not True; .* 1.0 or 0.0"),
        ((0.3333, 10), "is 0.3333, which is no whole number out of 10 tests; give the number"),
        ({"dim": 7.0, "loss": 1.0}, "a metric is called 'dim', which a table of records has"),
        ({"seed": 7.0}, "a metric is called 'seed'"),
        ({"device": 7.0}, "a metric is called 'device'"),
        (None, "must return"),
    ],
)
def test_invalid_results_of_a_function_are_refused(returned, sentence, tmp_path) -> None:
    def broken(problem, seed):
        return returned

    with pytest.raises(ProblemError, match=sentence):
        recallscope.sweep([(PROBLEM, 0)], tmp_path / "facts", run=broken)


def test_a_fraction_may_be_rounded_to_float32(tmp_path) -> None:
    counts = [(1, 3), (7, 10), (333, 1000), (123_457, 999_983), (0, 7), (7, 7)]

    def single(problem, seed):
        right, tests = counts[seed]
        return np.float32(right) / np.float32(tests), tests

    cells = [(PROBLEM, seed) for seed in range(len(counts))]
    assert recallscope.sweep(cells, tmp_path / "facts", run=single).by_status == {"ok": 6}


def test_records_of_others_may_have_any_metric(tmp_path) -> None:
    record = recallscope.run(PROBLEM, 0, test_samples=64)
    old = dataclasses.replace(record, metrics={"dim": 7.0, "seed": 8.0})
    store = Store(tmp_path / "facts")
    store.append([KeyedRecord(CellKeys(Settings(test_samples=64))(Cell(PROBLEM, 0)), old)])
    assert is_sound(store)
    (read,) = store.records()
    assert read.metrics == {"dim": 7.0, "seed": 8.0}
    assert Record.from_dict(read.to_dict()) == read


def test_mistakes_come_back_from_workers_and_crashes_are_records(tmp_path) -> None:
    def broken(problem, seed):
        return 0.5

    def crashes(problem, seed):
        raise RuntimeError("out of luck")

    with pytest.raises(ProblemError, match="must return an accuracy"):
        recallscope.sweep([(PROBLEM, 0)], tmp_path / "a", run=broken, executor="processes")
    done = recallscope.sweep([(PROBLEM, 0)], tmp_path / "b", run=crashes)
    assert done.by_status == {"failed": 1}
    (record,) = Store(tmp_path / "b").records()
    assert record.reason == "RuntimeError: out of luck"
    with pytest.raises(ProblemError, match="a name of a letter"):
        recallscope.critical(PROBLEM, run=lambda problem, seed: (0.5, 10), name="1 x")


def test_a_search_takes_results_without_records() -> None:
    search = CriticalSearch(PROBLEM, "samples", 0.5, own="mine")
    while not search.done:
        search.tell([(problem, seed, *planted(problem, seed)) for problem, seed in search.ask()])
    found = search.result()
    assert found.low < 960 < found.high
    for given, sentence in (
        ((PROBLEM, 0, 0.5), "without the number of tests an accuracy means nothing"),
        ((PROBLEM, 0, 0.5, None), "tests must be a whole number from 1"),
        ((PROBLEM, 0, 2.0, 10), "an accuracy is a number from 0 to 1, not 2.0"),
        ((PROBLEM, 0, 0.3333, 10), "no whole number out of 10 tests"),
    ):
        with pytest.raises(ProblemError, match=sentence):
            search.tell([given])


SCRIPT = """
import sys, time
import recallscope
from recallscope import Problem

def train(problem, seed):
    import numpy as np
    time.sleep(0.4)
    truth = 1 / (1 + (30 * problem.dim / problem.samples) ** 2)
    return np.random.default_rng(seed).binomial(1000, truth) / 1000, 1000

found = recallscope.critical(
    Problem(vocab=64, samples=1, dim=32, length=4), "samples", 0.5, run=train,
    executor=sys.argv[1], workers=2, store=sys.argv[2], precision=0.02, budget=16,
)
print(found.low, found.value, found.high, found.evaluations)
"""


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["processes", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_script_that_is_killed_resumes(executor, tmp_path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), executor, str(tmp_path / "facts")]
    first = subprocess.Popen(command)
    store, deadline = Store(tmp_path / "facts"), time.monotonic() + 120
    while not (Path(tmp_path / "facts").exists() and store.statuses()):
        assert first.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    known = len(store.statuses())
    again = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    expected = recallscope.critical(PROBLEM, "samples", 0.5, run=planted, precision=0.02, budget=16)
    ends = (expected.low, expected.value, expected.high, expected.evaluations)
    assert tuple(map(int, again.stdout.split())) == ends
    assert known < expected.evaluations == len(store.statuses())


class Trainer:
    def __call__(self, problem: Problem, seed: int):
        return planted(problem, seed)

    def run(self, problem: Problem, seed: int):
        return planted(problem, seed)


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (functools.partial(planted), "planted"),
        (functools.partial(functools.partial(planted)), "planted"),
        (lambda problem, seed: planted(problem, seed), "lambda"),
        (Trainer(), "Trainer"),
        (Trainer().run, "run"),
    ],
)
def test_whatever_can_be_called_is_an_experiment_and_has_a_name(run, name) -> None:
    found = recallscope.critical(PROBLEM, "samples", 0.5, run=run, budget=8, progress=False)
    assert found.own == name
    assert found.evaluations == 8


def test_an_accuracy_needs_no_longer_name() -> None:
    def short(problem: Problem, seed: int):
        accuracy, tests = planted(problem, seed)
        return {"accuracy": accuracy, "tests": tests}

    (record,) = recallscope.run(PROBLEM.replace(samples=960), seeds=1, run=short).records
    assert record.recall_accuracy == planted(PROBLEM.replace(samples=960), 0)[0]


def test_a_caption_says_nothing_of_a_model_that_was_not_run() -> None:
    found = recallscope.critical(PROBLEM, "samples", 0.5, run=planted, budget=8, progress=False)
    caption = found._drawing().caption()
    assert caption.startswith("experiment planted, V=64, d=32, L=4.")
    assert "attention" not in caption
    diagram = recallscope.phase(PROBLEM, "dim=16,32", "samples=64,4096", seeds=2, run=planted)
    assert diagram._drawing().caption().startswith("experiment planted, ")


def test_help_lists_every_argument() -> None:
    for function in (recallscope.critical, recallscope.fit, recallscope.phase, recallscope.run):
        text = inspect.getdoc(function)
        for name in inspect.signature(function).parameters:
            assert f"\n    {name}: " in text, (function.__name__, name)


def test_a_result_goes_into_pandas_and_into_a_paper(tmp_path) -> None:
    found = recallscope.critical(PROBLEM, "samples", 0.5, run=planted, budget=8, progress=False)
    assert found.to_pandas().to_dict("records") == found.rows()
    assert r"samples & recall\_accuracy & 0.5 & " in found.to_latex()
