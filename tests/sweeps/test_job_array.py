"""Parts of a sweep: disjoint, together complete, about equally long, and the same for every job."""

from __future__ import annotations

import json

import pytest
from problems import SMALL_SWEEP

from recallscope import Problem, ProblemError, Store, predict_cost, sweep
from recallscope.experiment.cell import Settings
from recallscope.sweeps.run_sweep import plan_of
from recallscope.sweeps.store.index import RecordIndex

CELLS = [
    (Problem(vocab=64, samples=samples, dim=16, length=4), seed)
    for samples in (10**6, 100, 3 * 10**6, 10**5)
    for seed in range(9)
]


def parts(count, cells=CELLS):
    return [
        plan_of(cells, Settings(), RecordIndex(), (each, count)).pending
        for each in range(1, count + 1)
    ]


@pytest.mark.parametrize("count", [1, 2, 5, 8, 50])
def test_parts_are_disjoint_and_together_complete(count):
    together = [cell for part in parts(count) for cell in part]
    assert len(together) == len(set(together)) == len(CELLS)
    assert set(together) == set(CELLS)


def test_parts_take_about_equally_long():
    seconds = [
        sum(predict_cost(cell.problem, dtype="float32").seconds for cell in part)
        for part in parts(4)
    ]
    longest = max(predict_cost(problem, dtype="float32").seconds for problem, _ in CELLS)
    assert max(seconds) - min(seconds) <= longest
    assert max(seconds) < 1.2 * sum(seconds) / 4


def test_parts_follow_from_the_sweep_alone(tmp_path):
    """Finished cells and repeated cells do not change them."""
    small = [(problem.replace(samples=64), seed) for problem, seed in CELLS[:6]]
    sweep(small[:4], tmp_path / "some")
    for each in (1, 2):
        sweep([*small, *small], tmp_path / f"{each}", part=(each, 2))
        sweep(small, tmp_path / "some", part=(each, 2))
    held = [{record.seed for record in Store(tmp_path / name).records()} for name in "12"]
    assert held[0] | held[1] == set(range(6))
    assert not held[0] & held[1]
    assert len(list(Store(tmp_path / "some").records())) == 6


def test_jobs_with_a_store_each_make_the_whole_sweep(command, tmp_path):
    file, store = tmp_path / "sweep.toml", str(tmp_path / "facts")
    file.write_text(SMALL_SWEEP)
    shares = []
    for k in (1, 2, 3):
        job = ("sweep", str(file), "--store", store, "--part", f"{k}/3")
        planned = json.loads(command(*job, "--dry-run", "--json").stdout)
        assert planned["part"] == [k, 3]
        shares.append(planned["to_run"])
        assert f"cells of part {k} of 3" in command(*job, "--dry-run").stdout
        assert json.loads(command(*job, "--json").stdout)["by_status"] == {"ok": shares[-1]}
    assert sum(shares) == 12
    again = json.loads(command("sweep", str(file), "--store", store, "--json").stdout)
    assert (again["known"], again["ran"]) == (12, 0)


def test_searches_have_parts_too(command, tmp_path):
    file = tmp_path / "critical.toml"
    file.write_text(
        "[problem]\nvocab = 64\nlength = 4\n[grid]\ndim = [40, 48, 56]\n[critical]\nbudget = 12\n"
    )
    job = ("sweep", str(file), "--store", str(tmp_path / "s"), "--dry-run", "--json", "--part")
    assert [json.loads(command(*job, k).stdout)["searches"] for k in ("1/2", "2/2")] == [2, 1]
    none = command("sweep", str(file), "--store", str(tmp_path / "s"), "--part", "4/4")
    assert (none.returncode, none.stdout.count("none is in this one")) == (0, 1)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("3", "a part is its number and how many there are, as in 3/8, not '3'"),
        ("0/8", "part must be a whole number from 1 to 8, not 0"),
        ("9/8", "part must be a whole number from 1 to 8, not 9"),
        ("a/b", "the number of parts must be a whole number from 1"),
    ],
)
def test_an_invalid_part_is_refused(command, tmp_path, part, sentence):
    file = tmp_path / "sweep.toml"
    file.write_text(SMALL_SWEEP)
    done = command("sweep", str(file), "--store", str(tmp_path / "s"), "--part", part)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_part_from_python_is_checked_too(tmp_path):
    with pytest.raises(ProblemError, match="a part is its number and how many there are, not 3"):
        sweep(CELLS, tmp_path, part=3)
