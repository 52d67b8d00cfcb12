"""The index of a store answers like a dictionary of all keys, and reading needs no pandas."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from recallscope import Problem, ProblemError, sweep
from recallscope.common.checks import LARGEST_SEED
from recallscope.experiment.cell import Settings
from recallscope.sweeps.run_sweep import plan_of
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.index import RecordIndex
from recallscope.sweeps.store.schema import SCHEMA
from recallscope.sweeps.store.tables import different_rows, keys_in

PROBLEM = Problem(vocab=16, samples=32, dim=8, length=4)
SEEDS = [0, 1, 255, 256, 2**32, 2**56, LARGEST_SEED]  # keys that end in zeros, and in none


def key_of(digest, seed):
    return digest + seed.to_bytes(8, "big")


def table(rows):
    columns = {
        "key": [key for key, _ in rows],
        "status": [status for _, status in rows],
        **dict.fromkeys(("metrics", "part_versions"), [None] * len(rows)),
    }
    return pa.table(columns, pa.schema([SCHEMA.field(name) for name in columns]))


def test_an_index_answers_like_a_dictionary_of_all_keys():
    keys, other = CellKeys(Settings()), PROBLEM.replace(dim=9)
    digests = [keys.digest(each) for each in (PROBLEM, other)]
    digests += [digests[0][:15] + b"\0", bytes(16), b"\xff" * 16]
    rng, every = np.random.default_rng(0), [key_of(d, s) for d in digests for s in SEEDS]
    drawn = [every[place] for place in rng.integers(0, len(every), 60)]
    rows = [(key, str(rng.choice(["ok", "failed", "infeasible"]))) for key in drawn]
    # Of two with one key, one that is ok counts, and else the later.
    expected = dict(rows) | {key: status for key, status in rows if status == "ok"}
    index = RecordIndex([table(rows[:25]), table([]), table(rows[25:])])
    assert index.statuses == expected
    assert {key[:16] for key in expected} == set(digests)
    assert 0 < len(expected) < len(every)
    for problem, digest in zip((PROBLEM, other), digests, strict=False):
        known = [expected.get(key_of(digest, seed)) for seed in SEEDS]
        assert index.answers(keys, problem, SEEDS) == known
        found = [index.find(keys, (problem, seed)) for seed in SEEDS]
        assert [each and (each.key, each.status) for each in found] == [
            status and (key_of(digest, seed), status)
            for seed, status in zip(SEEDS, known, strict=True)
        ]


def test_keys_of_a_part_of_a_table_are_those_of_its_rows():
    rows = [(key_of(bytes(16), seed), "ok") for seed in SEEDS]
    whole = pa.concat_tables([table(rows[:3]), table([]), table(rows[3:])])
    for piece in (whole, whole.slice(2, 3), whole.slice(2, 0)):
        assert keys_in(piece["key"]).view("V24").tolist() == piece["key"].to_pylist()


@pytest.mark.parametrize("rows", [0, 1, 300])
def test_different_rows_are_all_that_a_table_has(rows):
    rng = np.random.default_rng(1)
    texts = pa.array(rng.choice(["a", "b", ""], rows), mask=rng.random(rows) < 0.3)
    mixed = pa.table(
        {
            "text": texts.dictionary_encode(),
            "number": pa.array(rng.integers(2**53, 2**53 + 3, rows), mask=rng.random(rows) < 0.3),
            "real": rng.choice([0.5, np.inf], rows),
            "truth": pa.array(rng.random(rows) < 0.5),
            "none": pa.nulls(rows, pa.int64()),
            "one": pa.array(["same"] * rows).dictionary_encode(),
        }
    )
    for each in (mixed, mixed.slice(rows // 3)):
        found = [tuple(row.values()) for row in different_rows(each).to_pylist()]
        assert found == list(dict.fromkeys(tuple(row.values()) for row in each.to_pylist()))


def test_a_plan_has_each_cell_once_in_its_order():
    same, other = PROBLEM.replace(dim=8), PROBLEM.replace(dim=9)
    cells = [(PROBLEM, 3), (PROBLEM, 1), (other, 1), (same, 1), (same, np.int64(2)), (PROBLEM, 3)]
    plan = plan_of(cells, Settings(), RecordIndex())
    assert plan.pending == [(PROBLEM, 3), (PROBLEM, 1), (other, 1), (PROBLEM, 2)]
    assert (plan.cells, plan.known, plan.problems) == (4, 0, (PROBLEM, other))
    for seed in (-1, 2**63, True, 1.5):
        with pytest.raises(ProblemError, match="seed must be a whole number"):
            plan_of([(PROBLEM, 0), (PROBLEM, seed)], Settings(), RecordIndex())


def test_what_is_known_is_found_without_pandas(tmp_path):
    """Loading it takes longer than reading the records of a hundred thousand cells."""
    cells = [(PROBLEM, seed) for seed in range(3)]
    assert sweep(cells, tmp_path / "facts").ran == 3
    asked = (
        "import sys; from recallscope import Problem, sweep\n"
        "problem = Problem(vocab=16, samples=32, dim=8, length=4)\n"
        f"found = sweep([(problem, seed) for seed in range(3)], {str(tmp_path / 'facts')!r})\n"
        "print(found.known, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "3 False\n"
