"""What studies recorded says what the pages say; a search that got worse is caught elsewhere.

Live checks of coverage are in test_critical.py, test_law.py and test_ablation.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from planted_searches import covered, search
from recallscope.common.csv_files import read_csv
from recallscope.statistics.power_law import FitStatus

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))
import economy
import laws

PLANTED = Path(economy.__file__).with_name("planted.csv")


def test_500_planted_searches_cover_and_tell_apart_what_is_not_reached():
    rows = read_csv(PLANTED)
    assert len(rows) == 500
    for row in rows[:: len(rows) // 4]:
        again = search(row["case"])  # what was recorded comes back
        assert {name: row[name] for name in again} == again
    inside = [row for row in rows if row["inside"]]
    assert 0.92 <= np.mean([covered(row) for row in inside]) <= 0.98
    assert all((row["status"] == "ok") == row["inside"] for row in rows)


@pytest.mark.parametrize("kind", ["planted", "real"])
def test_a_search_has_half_the_error_of_a_grid_and_of_bisection(kind):
    found = economy.errors(read_csv(economy.RESULTS), kind)
    for other in ("grid", "bisection"):
        assert found["search"][1] <= 0.5 * found[other][1]


def test_the_economy_of_a_planted_search_comes_back():
    rows = [row for row in read_csv(economy.RESULTS) if row["kind"] == "planted"]
    again = economy.planted(rows[0]["problem"])
    assert {name: rows[0][name] for name in again} == again


@pytest.mark.slow
def test_exponents_of_the_closed_forms_lie_in_the_measured_intervals():
    found = laws.along_axes(read_csv(laws.RESULTS))
    # One step and lock along V, d, L; trigger in values along V, d; one step, longer along L.
    assert len(found) == 3 * (3 + 3 + 2 + 1)
    inside = [each.measured.low <= each.predicted <= each.measured.high for each in found]
    # 27 intervals of 95 %, of which three or more miss once in seven times.
    assert sum(inside) >= 24


def test_the_law_of_locking_is_a_power_law_at_every_scale():
    rows, runs = read_csv(laws.RESULTS), read_csv(laws.RUNS)
    for scale in range(3):
        law, collapse = laws.collapsed(rows, runs, "lock", scale)
        assert law.status is FitStatus.OK
        for name, far in laws.LAWS["lock"].far.items():
            assert law.exponents[name].low <= far <= law.exponents[name].high
        assert collapse.law - collapse.seeds < 0.3 * (collapse.raw - collapse.seeds)


def test_the_separable_law_is_rejected_for_random_embeddings_and_not_for_orthogonal_ones():
    rows = read_csv(laws.RESULTS)
    random, orthogonal = laws.factorial(rows, "random"), laws.factorial(rows, "orthogonal")
    assert random.separable.rejected
    assert random.exponents["dim"].high < -1
    assert random.exponents["length"].low > 1
    assert not orthogonal.separable.rejected
    assert orthogonal.status is FitStatus.OK
    for power in orthogonal.exponents.values():
        assert power.low < 0 < power.high < 0.05
