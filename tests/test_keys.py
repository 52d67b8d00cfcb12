"""Keys last: old records are found, added fields change nothing, and changed parts run again."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import recallscope
from recallscope import Problem, ProblemError, Store, critical, run, sweep
from recallscope.cell import Settings
from recallscope.models.embeddings import Embeddings
from recallscope.parts import registry
from recallscope.parts.field import Field
from recallscope.parts.former import _defaults
from recallscope.store import keys
from recallscope.store.keys import CellKeys
from recallscope.store.schema import KeyedRecord
from recallscope.store.store import MARKER

OLD = Path(__file__).parent / "store-0.2"
"""What version 0.2 wrote for `CELLS`, and for `coin`."""
P = Problem(vocab=16, samples=32, dim=8, length=2)
MEASURED = P.replace(metrics="recall-at-k")
CELLS = [
    *((P.replace(dim=dim), seed) for dim in (4, 8) for seed in range(4)),
    (P.replace(width=12), 0),
    (P.replace(samples=math.inf), 0),
    (P.replace(regime="literal", eta=0.1, gamma=50.0), 0),
    (P.replace(embedding="structured", spectrum=0.5), 0),
    (P.replace(embedding="structured"), 0),
    (P.replace(learner="converged"), 0),
    (P.replace(learner="converged", task="memory", length=1), 0),
    *((P.replace(learner="gd", steps=5), seed) for seed in (0, 1)),
    *((P.replace(learner="adam", steps=5), seed) for seed in (0, 1)),
    (P.replace(learner="sgd", steps=5, batch=8), 0),
    (MEASURED, 0),
    (MEASURED, 7),
    (MEASURED.replace(k=3), 0),
]
HOW = {"test_samples": 64}


def is_as_it_was(problem):
    """Whether no part of a problem has changed since 0.2."""
    return set(problem.part_versions().values()) == {1}


@pytest.fixture
def old(tmp_path):
    shutil.copytree(OLD, tmp_path / "facts")
    return Store(tmp_path / "facts")


@pytest.fixture
def another_version(monkeypatch):
    """Raise the version of a part, or change it in another way."""

    def change(kind, name, **changes):
        part = replace(registry.part(kind, name), **changes)
        monkeypatch.setitem(registry._loaded, (kind, name), part)

    return change


def values(records):
    """The results of runs, by cell."""
    numbers = ("recall_accuracy", "lock_accuracy", "score_signal", "first_value_cosine")
    return {
        (each.problem.replace(metrics=()), each.seed): [getattr(each, name) for name in numbers]
        for each in records
        if each.measure is None
    }


def test_a_store_of_0_2_is_resumed_without_a_run(old):
    cells = [cell for cell in CELLS if is_as_it_was(cell[0])]
    assert len(cells) >= 18
    found = sweep(cells, old, **HOW)
    assert (found.known, found.ran) == (len(cells), 0)
    assert [row["runs"] for row in found.rows()][:2] == [4, 4]
    assert old.verify().sound


def test_parts_that_changed_since_are_run_again_and_both_records_stay(old):
    changed = [cell for cell in CELLS if not is_as_it_was(cell[0])]
    found = sweep(changed, old, **HOW)
    assert (found.known, found.ran) == (0, len(changed))
    assert old.verify().sound
    assert old.verify().records == 25 + len(changed)
    assert all(row["runs"] in (1, 2) for row in found.rows())  # those of 0.2 are not among them


def test_old_records_of_an_own_function_and_of_a_search_are_found(old, tmp_path):
    def coin(problem, seed):
        return 0.5, 1000

    assert sweep([(P, 0), (P, 1)], old, run=coin).ran == 0
    # A store of runs may also have results of the user's function.
    sweep([(P, 0)], tmp_path / "runs", **HOW)
    assert sweep([(P, 0)], tmp_path / "runs", run=coin).ran == 1


def test_records_of_0_2_have_the_defaults_of_0_2(old, another_version):
    learner = registry.part("learner", "adam")
    fields = {
        **learner.fields,
        "learning_rate": replace(learner.fields["learning_rate"], default=0.5),
    }
    another_version("learner", "adam", fields=fields)
    (first, _) = (each for each in old.records() if each.problem.learner == "adam")
    assert first.problem.learning_rate == 0.0
    assert P.replace(learner="adam", steps=5).learning_rate == 0.5


def test_a_metric_is_added_to_old_records(old):
    before = values(old.records())
    again = sweep([(MEASURED, seed) for seed in range(4)], old, **HOW)
    assert (again.known, again.ran) == (1, 3)  # of seed 0 it was measured in 0.2
    assert sweep([(MEASURED, seed) for seed in range(4)], old, **HOW).ran == 0
    assert sweep([(P, seed) for seed in range(4)], old, **HOW).ran == 0
    assert values(old.records()) == before
    assert old.verify().sound
    assert old.verify().records == 25
    measured = [each for each in old.records() if "recall-at-k" in each.metrics]
    assert len(measured) == 3 + 3


def test_a_record_with_more_metrics_answers_for_fewer(old, tmp_path):
    assert sweep([(P, 7)], old, **HOW).ran == 0  # there with a metric only
    sweep([(MEASURED, 0)], tmp_path / "new", **HOW)
    found = sweep([(P, 0)], tmp_path / "new", **HOW)
    assert (found.ran, found.rows()[0]["runs"]) == (0, 1)
    three = MEASURED.replace(k=3)
    assert sweep([(three, 0)], tmp_path / "new", **HOW).ran == 1  # another thing to measure


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
    metric = replace(registry.part("metric", "recall-at-k"), name="mine", version="2")
    with pytest.raises(ProblemError, match=r"the version of the metric mine:.* from 1 to 999999"):
        sweep([(P.replace(metrics=metric), 0)], tmp_path, **HOW)


def test_values_that_do_not_come_back_stop_the_sweep(tmp_path):
    record = replace(run(P, 0, **HOW), recall_accuracy=0.015625)
    store = Store(tmp_path)
    with store.writing():
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
        broken.setattr("recallscope.store.files.Folder.remove", crash)
        with pytest.raises(KeyboardInterrupt):
            sweep([(MEASURED, seed) for seed in range(3)], tmp_path, **HOW)
    assert len(list(tmp_path.glob("*.parquet"))) == 2
    assert values(Store(tmp_path).records()) == before
    assert sweep([(MEASURED, seed) for seed in range(3)], tmp_path, **HOW).ran == 0
    assert Store(tmp_path).verify().sound


def test_another_version_is_another_key_and_the_same_numbers(another_version):
    """Randomness depends on seed, role and sizes, and never on a key."""
    cells = [(P, 3), (P.replace(learner="gd", steps=5), 3), (P.replace(width=12), 3)]
    keys, records = CellKeys(Settings()), [run(*cell, **HOW) for cell in cells]
    before = [keys(cell) for cell in cells]
    for kind, name in (("learner", "three-step"), ("learner", "gd"), ("task", "recall")):
        another_version(kind, name, version=7)
    assert not set(before) & {CellKeys(Settings())(cell) for cell in cells}
    assert len(list(CellKeys(Settings()).every(cells[0]))) == 1  # nothing older counts
    assert values(records) == values(run(*cell, **HOW) for cell in cells)


def test_a_field_that_is_added_changes_no_key(another_version, old):
    problem = P.replace(learner="converged")
    before = problem.key, list(CellKeys(Settings(**HOW)).every((problem, 0)))
    fields = registry.part("learner", "converged").fields
    later = Field(default=2.0, added_as=1.0)
    another_version("learner", "converged", fields={**fields, "sharpness": later})
    same = problem.replace(sharpness=1.0)
    assert (same.key, list(CellKeys(Settings(**HOW)).every((same, 0)))) == before
    assert sweep([(same, 0)], old, **HOW).ran == 0
    default = P.replace(learner="converged")
    assert default.sharpness == 2.0
    assert default.key != same.key
    assert len(list(CellKeys(Settings(**HOW)).every((default, 0)))) == 1
    # Records without the field keep their meaning.
    records = [each for each in old.records() if each.problem.learner == "converged"]
    assert {each.problem.sharpness for each in records} == {1.0}
    assert sweep([(default, 0)], old, **HOW).ran == 1
    assert default in {each.problem for each in old.records()}


@pytest.mark.slow
def test_a_changed_default_is_another_key_in_a_copy_of_the_package(tmp_path):
    """In the copy trainings have 999 steps by default; a record of 1000 is no longer theirs."""
    shutil.copytree(Path(recallscope.__file__).parent, tmp_path / "src" / "recallscope")
    fields = tmp_path / "src/recallscope/parts/fields.toml"
    text = fields.read_text()
    assert text.count("default = 1000,") == 1
    fields.write_text(text.replace("default = 1000,", "default = 999,"))
    code = (
        "import json; from recallscope import Problem\n"
        "from recallscope.cell import Settings; from recallscope.store.keys import CellKeys\n"
        "p = Problem(vocab=16, samples=32, dim=8, length=2, learner='converged')\n"
        "gd = Problem(vocab=16, samples=32, dim=8, length=2, learner='gd')\n"
        "k = CellKeys(Settings())\n"
        "print(json.dumps([[each.hex() for each in k.every((q, 0))]\n"
        "                  for q in (p, gd, gd.replace(steps=1000))]))"
    )

    def keys(source):
        env = os.environ | {"PYTHONPATH": str(source)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    here, there = keys(Path(recallscope.__file__).parents[1]), keys(tmp_path / "src")
    assert here[0] == there[0]
    assert not set(here[1]) & set(there[1])
    assert here[1] == here[2] == there[2]


def test_defaults_of_metrics_are_frozen():
    """A key leaves them out, so a changed one needs `added_as` with its former value."""
    for name in registry._own("metric"):
        for field, found in registry.part("metric", name).fields.items():
            assert found.at_first == _defaults()["metric"].get(name, {}).get(field, found.at_first)


def test_keys_are_fixed_for_ever():
    key = CellKeys(Settings(test_samples=64))
    assert [each.hex() for each in key.every((P, 5))] == KEYS_OF_P
    measured = CellKeys(Settings(measure="coin v1 0123456789abcdef"))
    assert measured((MEASURED, 5)).hex() == KEY_OF_A_MEASURE


KEYS_OF_P = [
    "7e9543d00593b905ac95c9a788567b250000000000000005",
    "0803552326906f89a29719afc3103af70000000000000005",
]
KEY_OF_A_MEASURE = "966b3e03702cfaabddad973328e5a8060000000000000005"


def test_both_versions_of_a_problem_are_listed_as_one(old, command):
    sweep([(P, seed) for seed in (10, 11)], old, **HOW)
    listed = json.loads(command("records", "--store", old.place, "--json", "list").stdout)
    mine = [
        each
        for each in listed["shown"]
        if (each["dim"], each["embedding"], each["width"]) == (8, "sphere", None)
        and each["measure"] is None
        and each["samples"] == 32
        and not each.keys() & {"learner", "metrics", "task"}
        and each["regime"] == "limit"
    ]
    assert [each["by_status"] for each in mine] == [{"ok": 6}]


def test_a_merge_reports_conflicts_and_brings_metrics(tmp_path, command):
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    sweep([(P, seed) for seed in range(3)], here, **HOW)
    with there.writing():
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
    # Of its 25 records four are of the three cells that are here: one was run for a metric too.
    assert tuple(here.merge(Store(OLD))) == (21, 0, 0, 0)
    assert here.merge(Store(OLD)).added == 0
    assert here.verify().sound


@pytest.mark.parametrize("marker", ["{", '{"format": 99}', '{"format": 1, "x": "' + "x" * 10**5])
def test_verify_looks_at_the_marker(tmp_path, command, marker):
    sweep([(P, 0)], tmp_path, **HOW)
    (tmp_path / MARKER).write_text(marker)
    done = command("records", "--store", str(tmp_path), "verify")
    assert done.returncode == 1
    assert "Store NOT OK" in done.stdout
    assert MARKER in done.stdout or "format 99" in done.stdout


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
    assert len(list((tmp_path / "facts").glob("*.npz"))) == 1
    found = store.verify()
    assert (found.sound, found.strange, found.records) == (True, [], 3)
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
    make = keys.key_digest
    monkeypatch.setattr(keys, "key_digest", lambda *given: made.append(given) or make(*given))
    assert plane() == before
    assert len(made) == 4
