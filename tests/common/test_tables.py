"""Tables come back as they were written, and axes read as a user writes them."""

from __future__ import annotations

import csv
import math

import pytest

from recallscope import ProblemError
from recallscope.common.csv_files import read_csv, write_csv
from recallscope.common.table_files import latex_table, write_table
from recallscope.problem.axes import parse_axis


def test_rows_come_back(tmp_path):
    rows = [
        {"vocab": 512, "low": 0.25, "status": "ok", "high": None, "trigger_in_values": False},
        {
            "vocab": 1024,
            "low": 1e-9,
            "status": "not_reached",
            "high": 3.5,
            "trigger_in_values": True,
        },
    ]
    write_csv(rows, tmp_path / "a.csv")
    assert read_csv(tmp_path / "a.csv") == rows
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula_and_all_come_back(tmp_path, sign):
    evil = f'{sign}HYPERLINK("http://a.b")'
    rows = [{evil: evil, "low": -0.5, "said": "'quoted'"}]
    for write in (write_csv, write_table):
        write(rows, tmp_path / "a.csv")
        with (tmp_path / "a.csv").open(newline="") as file:
            cells = [cell for line in csv.reader(file) for cell in line]
        assert cells == [f"'{evil}", "low", "said", f"'{evil}", "-0.5", "'quoted'"]
        assert read_csv(tmp_path / "a.csv") == rows


@pytest.mark.parametrize("text", ["a,b\n1\n", "a,b\n1,2,3\n"])
def test_a_ragged_table_is_refused(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ProblemError, match=r"line 2 .* does not have as many cells as the header"):
        read_csv(tmp_path / "a.csv")


def test_files_that_are_not_tables_are_refused(tmp_path):
    with pytest.raises(ProblemError, match="cannot be read"):
        read_csv(tmp_path / "none.csv")
    with pytest.raises(ProblemError, match=r"a table is written as .csv, not 'a.txt'"):
        write_csv([{"a": 1}], tmp_path / "a.txt")


def test_an_axis_of_a_range_rises_evenly_in_the_logarithm():
    assert parse_axis("length=2:32:5").values == (2, 4, 8, 16, 32)
    assert parse_axis("vocab=512,128,512").values == (128, 512)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dim", "an axis is vocab or samples"),
        ("depth=1,2", "an axis is vocab or samples"),
        ("dim=1:2", "a range is low:high:count"),
        ("dim=64:32:5", "must rise, not go from 64 to 32"),
        ("dim=32:64:1", "count must be a whole number from 2"),
        ("dim=32,x", "dim must be a whole number"),
        ("dim=0,3", "dim must be a whole number from 1"),
        ("dim=2:9:1e9", "count must be a whole number from 2 to 1000"),
    ],
)
def test_mistakes_in_an_axis_are_reported(text, said):
    with pytest.raises(ProblemError, match=said):
        parse_axis(text)


def test_a_number_that_is_not_known_is_a_dash_in_a_paper():
    rows = [{"size": "vocab", "exponent": math.nan}, {"size": "dim", "exponent": -0.5}]
    assert r"vocab & -- \\" in latex_table(rows)
