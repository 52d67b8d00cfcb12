"""What is in a key: values, versions of parts and how it is run, but not what is measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from deltalake import DeltaTable
from made_parts import changed
from sound_stores import is_sound, rows_of

import recallscope
from recallscope import Problem, ProblemError, Store, critical, run, sweep
from recallscope.common.source import Source
from recallscope.experiment.cell import OwnExperiment, Settings
from recallscope.problem import registry
from recallscope.problem.given_embeddings import Embeddings
from recallscope.sweeps.store import cell_keys as keys
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.schema import KeyedRecord

P = Problem(vocab=16, samples=32, dim=8, length=2)
MEASURED = P.replace(metrics="recall-at-k")
HOW = {"test_samples": 64}


@pytest.fixture
def another_version(monkeypatch):
    """Raise the version of a part, or change it in another way."""

    def change(kind, name, **changes):
        part = changed(registry.part(kind, name), **changes)
        monkeypatch.setitem(registry._loaded, (kind, name), part)

    return change


def values(records):
    """The results of runs, by cell."""
    numbers = ("recall_accuracy", "attention_accuracy", "score_signal", "first_value_cosine")
    return {
        (each.problem.replace(metrics=()), each.seed): [getattr(each, name) for name in numbers]
        for each in records
        if each.measure is None
    }


def test_a_metric_is_added_to_records(tmp_path):
    sweep([(P, seed) for seed in range(4)], tmp_path, **HOW)
    before = values(Store(tmp_path).records())
    again = sweep([(MEASURED, seed) for seed in range(5)], tmp_path, **HOW)
    assert (again.known, again.ran) == (0, 5)
    assert sweep([(MEASURED, seed) for seed in range(5)], tmp_path, **HOW).ran == 0
    assert sweep([(P, seed) for seed in range(5)], tmp_path, **HOW).ran == 0
    records = list(Store(tmp_path).records())
    assert values(records).items() > before.items()
    assert [len(each.metrics) for each in records] == [1] * 5
    assert is_sound(Store(tmp_path))


def test_a_record_with_more_metrics_answers_for_fewer(tmp_path):
    sweep([(MEASURED, 0)], tmp_path, **HOW)
    found = sweep([(P, 0)], tmp_path, **HOW)
    assert (found.ran, found.rows()[0]["runs"]) == (0, 1)
    three = MEASURED.replace(k=3)
    assert sweep([(three, 0)], tmp_path, **HOW).ran == 1  # another thing to measure


def test_a_part_that_changed_is_run_again_and_both_records_stay(tmp_path, another_version):
    sweep([(P, 0)], tmp_path, **HOW)
    another_version("learner", "three-step", version=2)
    found = sweep([(P, 0)], tmp_path, **HOW)
    assert (found.ran, found.rows()[0]["runs"]) == (1, 1)
    assert is_sound(Store(tmp_path))
    assert rows_of(Store(tmp_path)) == 2


def test_a_search_finds_records_that_measure_more(tmp_path):
    how = {**HOW, "budget": 8, "store": tmp_path}
    first = critical(MEASURED, "samples", accuracy="recall-at-k", **how)
    again = critical(MEASURED, "samples", accuracy="recall-at-k", **how)
    assert again.to_dict() == first.to_dict()
    ran = []
    critical(P, "samples", callback=ran.append, **how)
    count = len(ran)
    critical(P, "samples", callback=ran.append, **how)
    assert len(ran) == count


def test_a_metric_that_changed_is_measured_again(tmp_path, another_version):
    sweep([(MEASURED, 0)], tmp_path, **HOW)
    another_version("metric", "recall-at-k", version=2)
    assert sweep([(MEASURED, 0)], tmp_path, **HOW).ran == 1
    assert sweep([(MEASURED, 0)], tmp_path, **HOW).ran == 0
    (record,) = Store(tmp_path).records()
    assert record.provenance.part_versions["recall-at-k"] == 2


def test_a_version_is_a_whole_number(tmp_path):
    metric = changed(registry.part("metric", "recall-at-k"), name="mine", version="2")
    with pytest.raises(ProblemError, match=r"the version of the metric mine .* from 1 to 999999"):
        sweep([(P.replace(metrics=metric), 0)], tmp_path, **HOW)


def test_values_that_do_not_come_back_stop_the_sweep(tmp_path):
    record = replace(run(P, 0, **HOW), recall_accuracy=0.015625)
    store = Store(tmp_path)
    store.append([KeyedRecord(CellKeys(Settings(**HOW))((P, 0)), record)])
    with pytest.raises(ProblemError, match=r"recall_accuracy came back as .* has 0.015625"):
        sweep([(MEASURED, 0)], tmp_path, **HOW)
    assert [each.recall_accuracy for each in store.records()] == [0.015625]


def test_a_crash_while_metrics_are_added_loses_nothing(tmp_path, monkeypatch):
    sweep([(P, seed) for seed in range(3)], tmp_path, **HOW)
    before = values(Store(tmp_path).records())

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("recallscope.sweeps.store.store.Store.compact_if_many", crash)
        with pytest.raises(KeyboardInterrupt):
            sweep([(MEASURED, seed) for seed in range(3)], tmp_path, **HOW)
    assert values(Store(tmp_path).records()) == before
    assert sweep([(MEASURED, seed) for seed in range(3)], tmp_path, **HOW).ran == 0
    assert len(Store(tmp_path).statuses()) == 3


def test_another_version_is_another_key_and_the_same_numbers(another_version):
    """Randomness depends on seed, role and sizes, and never on a key."""
    cells = [(P, 3), (P.replace(learner="gd", steps=5), 3), (P.replace(width=12), 3)]
    keys, records = CellKeys(Settings()), [run(*cell, **HOW) for cell in cells]
    before = [keys(cell) for cell in cells]
    for kind, name in (("learner", "three-step"), ("learner", "gd"), ("task", "recall")):
        another_version(kind, name, version=7)
    assert not set(before) & {CellKeys(Settings())(cell) for cell in cells}
    assert values(records) == values(run(*cell, **HOW) for cell in cells)


@pytest.mark.slow
def test_a_changed_default_is_another_key_in_a_copy_of_the_package(tmp_path):
    """In the copy trainings have 999 steps by default; a record of 1000 is no longer theirs."""
    shutil.copytree(Path(recallscope.__file__).parent, tmp_path / "src" / "recallscope")
    fields = tmp_path / "src/recallscope/training/learner.py"
    text = fields.read_text()
    assert text.count("        1000,\n") == 1
    fields.write_text(text.replace("        1000,\n", "        999,\n"))
    code = (
        "import json; from recallscope import Problem\n"
        "from recallscope.experiment.cell import Settings\n"
        "from recallscope.sweeps.store.cell_keys import CellKeys\n"
        "p = Problem(vocab=16, samples=32, dim=8, length=2, learner='converged')\n"
        "gd = Problem(vocab=16, samples=32, dim=8, length=2, learner='gd')\n"
        "k = CellKeys(Settings())\n"
        "print(json.dumps([k((q, 0)).hex() for q in (p, gd, gd.replace(steps=1000))]))"
    )

    def keys(source):
        env = os.environ | {"PYTHONPATH": str(source)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    here, there = keys(Path(recallscope.__file__).parents[1]), keys(tmp_path / "src")
    assert here[0] == there[0]
    assert here[1] != there[1]
    assert here[1] == here[2] == there[2]


def test_keys_are_fixed():
    """Whoever changes one, as by a new field of a part, has all records run again."""
    key = CellKeys(Settings(test_samples=64))
    assert key((P, 5)).hex() == KEY_OF_P
    coin = OwnExperiment(name="coin", source=Source("0123456789abcdef", {}), function=print)
    measured = CellKeys(Settings(own=coin))
    assert measured((MEASURED, 5)).hex() == KEY_OF_A_MEASURE


KEY_OF_P = "f014f7b24148419149a6054f31340f6f0000000000000005"
KEY_OF_A_MEASURE = "4e98a1a93d6339c4fd976fbbdbb3752d0000000000000005"


def test_a_merge_reports_conflicts_and_brings_metrics(tmp_path, command):
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    sweep([(P, seed) for seed in range(3)], here, **HOW)
    forged = replace(run(P, 1, **HOW), recall_accuracy=0.015625)
    there.append([KeyedRecord(CellKeys(Settings(**HOW))((P, 1)), forged)])
    sweep([(MEASURED, 0), (P, 9)], there, **HOW)
    before = values(here.records())
    done = command("records", "--store", here.place, "merge", there.place)
    assert done.returncode == 1
    assert "1 records of" in done.stdout
    assert "1 that are here too brought metrics" in done.stdout
    assert "1 that are here too have other values there" in done.stdout
    assert values(here.records()) == before | values(run(P, 9, **HOW) for _ in range(1))
    assert [each.seed for each in here.records() if each.metrics] == [0]
    assert here.merge(there).added == 0
    assert is_sound(here)


def test_arrays_are_kept_once_by_their_content(tmp_path):
    random = np.random.default_rng(0)
    arrays = Embeddings(
        tokens=random.standard_normal((16, 8)),
        outputs=random.standard_normal((16, 8)),
        trigger=random.standard_normal(8),
        end=random.standard_normal(8),
    )
    problem = P.replace(embedding=arrays.name)
    how = {**HOW, "embeddings": arrays, "store": tmp_path / "facts"}
    recallscope.run(problem, seeds=2, **how)
    recallscope.run(problem, seeds=3, **how)
    store, other = Store(tmp_path / "facts"), Store(tmp_path / "other")
    assert DeltaTable(f"{store.place}/_values").count() == 1
    assert is_sound(store)
    other.merge(store)
    assert other.embeddings(arrays.name).name == arrays.name
    with pytest.raises(ProblemError, match="has no 'arrays:0000000000000000'"):
        store.embeddings("arrays:" + "0" * 16)
    with pytest.raises(ProblemError, match="arrays are named as in"):
        store.embeddings("../secret")


def test_the_key_of_a_problem_is_made_once_for_all_seeds(tmp_path, monkeypatch):
    """A plane asks for each seed of all of its cells before the next seed."""
    small = Problem(vocab=16, samples=1, dim=1, length=2)

    def plane():
        found = recallscope.phase(
            small, "dim=8,9", "samples=8,9", seeds=5, test_samples=8, store=tmp_path / "s"
        )
        return found.rows()

    before, made = plane(), []
    make = keys._digest
    monkeypatch.setattr(keys, "_digest", lambda *given: made.append(given) or make(*given))
    assert plane() == before
    assert len(made) == 4
