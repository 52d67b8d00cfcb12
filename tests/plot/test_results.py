"""Results of public functions go to JSON and back, to data frames, figures and notebooks."""

from __future__ import annotations

import base64
import inspect
import io
import json
import math
import re
from functools import partial

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure
from tqdm import tqdm

import recallscope
from recallscope import Problem, Record
from recallscope.common.errors import ProblemError
from recallscope.common.progress_bar import shown_progress
from recallscope.common.table_files import write_table
from recallscope.plot.result import Result
from recallscope.sweeps.sweep_result import SweepResult

PROBLEM = Problem(vocab=64, samples=512, dim=32, length=4)


QUIET = {"progress": False}


def sweep_result(folder) -> Result:
    cells = [(PROBLEM.replace(samples=n), seed) for n in (64, 256, 1024) for seed in (0, 1)]
    return recallscope.sweep(cells, folder / "store", **QUIET)


# One of each kind, small.
MADE = {
    "predict": lambda _: recallscope.predict(PROBLEM),
    "predict trained": lambda _: recallscope.predict(PROBLEM.replace(learner="gd")),
    "predict many": lambda _: recallscope.predict([PROBLEM, PROBLEM.replace(samples=math.inf)]),
    "predict sizes": lambda _: recallscope.predict(
        vocab=512, samples=[[1e3], [1e4]], dim=[32, 64], length=8, width=256, activation="tanh"
    ),
    "solve": lambda _: recallscope.solve(PROBLEM, "samples", 0.5),
    "solve within": lambda _: recallscope.solve(PROBLEM, within="parameters=1e4", **QUIET),
    "bound": lambda _: recallscope.bound(PROBLEM),
    "check": lambda _: recallscope.check(PROBLEM, seeds=2, **QUIET),
    "run": lambda _: recallscope.run(PROBLEM, seeds=3, **QUIET),
    "train": lambda _: recallscope.train(
        PROBLEM.replace(samples=128, learner="gd", steps=20), **QUIET
    ),
    "critical": lambda _: recallscope.critical(PROBLEM, "dim", 0.5, budget=16, **QUIET),
    "fit": lambda _: recallscope.fit(
        PROBLEM, "samples", ["dim=48,56,64,72"], budget=12, expect={"dim": -2}, **QUIET
    ),
    "phase": lambda _: recallscope.phase(
        PROBLEM, "dim=16,64", ("samples", [64, 512]), seeds=2, **QUIET
    ),
    "phase_map": lambda _: recallscope.phase_map(
        PROBLEM, ("dim", [16, 64]), ("samples", [64, 512])
    ),
    "ablate": lambda _: recallscope.ablate(PROBLEM, ["trigger", "steps"], seeds=2, **QUIET),
    "sweep": sweep_result,
}


@pytest.mark.parametrize("kind", MADE)
def test_a_result(kind, tmp_path):
    """Made once, as it takes a while: to JSON and back, to data frames, to figures."""
    found = MADE[kind](tmp_path)
    goes_to_json_and_back(found)
    data_frames_take_it_as_it_is(found, tmp_path)
    shows_itself(found, tmp_path)
    is_drawn_on_axes_of_the_users(found)


def goes_to_json_and_back(found):
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = type(found).from_dict(plain)
    assert json.loads(json.dumps(again.to_dict(), allow_nan=False)) == plain
    if not isinstance(found, SweepResult):  # its rows are in its store
        assert repr(again) == repr(found)
        assert again.rows() == found.rows()
    if type(found).__eq__ is not object.__eq__:
        assert again == found


def data_frames_take_it_as_it_is(found, tmp_path):
    rows = found.rows()
    frame = pl.DataFrame(found)
    assert frame.columns == list(dict.fromkeys(name for row in rows for name in row))
    assert len(frame) == len(pd.DataFrame.from_arrow(found)) == len(rows)
    assert duckdb.sql("select count(*) from found").fetchall() == [(len(rows),)]
    for name, kind_of in frame.schema.items():
        values = [row.get(name) for row in rows if row.get(name) is not None]
        if values and all(type(value) is int for value in values):
            assert kind_of.is_integer(), name
        if values and any(isinstance(value, float) for value in values):
            assert kind_of.is_float(), name
        if values and all(isinstance(value, str) for value in values):
            assert kind_of == pl.String, name
    for ending in ("csv", "parquet", "tex"):
        write_table(rows, tmp_path / f"table.{ending}")
    assert pl.read_parquet(tmp_path / "table.parquet").equals(frame)
    assert len((tmp_path / "table.csv").read_text().splitlines()) == len(rows) + 1
    assert (tmp_path / "table.tex").read_text().count(r"\\") == len(rows) + 1


def shows_itself(found, tmp_path):
    assert "object at" not in repr(found)
    assert len(repr(found)) < 600
    assert "\n" not in repr(found)
    page = found._repr_html_()
    assert "<table>" in page
    image = re.search(r'src="data:image/png;base64,([^"]+)"', page)
    assert image is not None
    assert base64.b64decode(image[1]).startswith(b"\x89PNG")
    found.save(tmp_path / "figure.pdf", width=3.25, caption=False)
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
    caption = (tmp_path / "figure.caption.txt").read_text()
    assert len(caption) > 40
    assert caption.count("\n") == 1


def is_drawn_on_axes_of_the_users(found):
    figure = Figure(figsize=(12, 12))
    with pytest.raises(ProblemError, match=r"has \d+ panel") as refusal:
        found.plot([])
    count = int(re.search(r"has (\d+) panel", str(refusal.value))[1])
    axes = figure.subplots(count, 1, squeeze=False)[:, 0]
    assert found.plot(axes if count > 1 else axes[0]) is figure
    assert all(each.has_data() for each in axes)
    assert len([each for each in figure.axes if each.get_label() != "<colorbar>"]) == count
    figure.savefig(io.BytesIO(), format="png")
    with pytest.raises(ProblemError, match=f"has {count} panel"):
        found.plot(list(Figure().subplots(1, count + 1)))


def test_a_record_goes_to_json_and_back_with_its_problem():
    for record in (
        recallscope.run(PROBLEM, 3),
        recallscope.run(PROBLEM.replace(samples=math.inf, width=32), 3),
    ):
        plain = json.loads(json.dumps(record.to_dict()))
        assert Record.from_dict(plain) == record
        with pytest.raises(ProblemError, match="not that of its problem"):
            Record.from_dict(plain | {"problem_key": "0" * 64})


def test_one_run_is_a_record_and_several_are_a_collection(tmp_path):
    one = recallscope.run(PROBLEM, 5)
    assert isinstance(one, Record)
    received: list[Record] = []
    many = recallscope.run(PROBLEM, 4, seeds=3, store=tmp_path, callback=received.append)
    assert [record.seed for record in many] == [4, 5, 6]
    assert many[1].result() == one.result()
    assert [record.seed for record in received] == [4, 5, 6]
    assert len(recallscope.run(PROBLEM, 4, seeds=3, store=tmp_path, callback=received.append)) == 3
    assert len(received) == 3  # all were in the store
    with pytest.raises(ProblemError, match="store is for several runs; give seeds= too"):
        recallscope.run(PROBLEM, store=tmp_path)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sedes'"):
        recallscope.run(PROBLEM, sedes=3)


def test_progress_of_several_runs_rises_to_their_number():
    seen: list[tuple[float, float]] = []
    recallscope.run(PROBLEM, seeds=3, progress=lambda *each: seen.append(each))
    done = [each for each, _ in seen]
    assert {total for _, total in seen} == {3}
    assert done == sorted(done)
    assert 0 < done[0] < done[-1] == 3


def test_the_bar_is_full_when_all_work_is_done(capsys, monkeypatch):
    monkeypatch.setattr("recallscope.common.progress_bar._PATIENCE", 0.0)
    monkeypatch.setattr("recallscope.common.progress_bar._is_watched", lambda: True)
    monkeypatch.setattr("tqdm.tqdm", partial(tqdm, mininterval=0.0))
    with shown_progress(True, "runs") as update:
        update(1, 4)
        update(4, 4)
    assert re.findall(r"runs: +(\d+) %", capsys.readouterr().err) == ["0", "25", "100"]


def test_a_run_is_the_record_that_a_sweep_keeps(tmp_path):
    recallscope.sweep([(PROBLEM, 7)], tmp_path)
    (kept,) = recallscope.Store(tmp_path).records()
    assert kept.result() == recallscope.run(PROBLEM, 7).result()


def test_many_predictions_are_those_of_each():
    problems = [PROBLEM.replace(dim=d, samples=n) for d in (16, 64) for n in (32, 512, math.inf)]
    found = recallscope.predict(problems)
    for problem, recall in zip(problems, found.recall_accuracy, strict=True):
        assert recall == pytest.approx(recallscope.predict(problem).recall_accuracy, rel=1e-9)
    by_arrays = recallscope.predict(
        vocab=64, samples=[[32, 512, math.inf]], dim=[[16], [64]], length=4
    )
    assert np.allclose(by_arrays.recall_accuracy, found.recall_accuracy, rtol=1e-9)
    assert [row["samples"] for row in by_arrays.rows()] == [p.samples for p in problems]


def test_a_problem_without_a_closed_form_has_its_reason_in_the_table():
    own = PROBLEM.replace(embedding="arrays:0123456789abcdef")
    rows = recallscope.predict([PROBLEM, own]).rows()
    assert [row["recall_accuracy"] is None for row in rows] == [False, True]
    assert [row["reason"] for row in rows] == [None, "no closed form for your arrays"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: recallscope.predict([1, 2]), "a Problem or a list of them, not 1"),
        (lambda: recallscope.predict(7), "a Problem or a list of them, not 7"),
        (lambda: recallscope.predict(vocab=64), "sizes by name; give samples"),
        (lambda: recallscope.predict(PROBLEM, dim=3), "not both"),
        (lambda: recallscope.phase(PROBLEM, "dim=16,64", 5), "an axis is text such as"),
        (lambda: recallscope.phase(PROBLEM, "dim=1,2", ("depth", [1])), "not of 'depth'"),
        (lambda: recallscope.ablate(PROBLEM, "trigger"), r"names are a list, as in \['trigger'\]"),
        (
            lambda: recallscope.fit(PROBLEM, "samples", ["dim=16,64"], expect={"length": 1}),
            "an exponent of length is expected, and the sizes that vary are dim",
        ),
    ],
)
def test_mistakes_are_reported_in_a_sentence(call, message):
    with pytest.raises(ProblemError, match=message):
        call()


def test_a_callback_gets_every_record_and_its_errors_are_raised():
    received: list[Record] = []
    found = recallscope.critical(PROBLEM, "samples", budget=8, callback=received.append)
    assert len(received) == found.evaluations

    def broken(record: Record) -> None:
        raise RuntimeError("the tracker is down")

    with pytest.raises(RuntimeError, match="the tracker is down"):
        recallscope.critical(PROBLEM, "samples", budget=8, callback=broken)


@pytest.mark.parametrize("name", ["run", "critical", "fit", "phase", "ablate"])
def test_every_argument_is_in_the_signature(name):
    shown = inspect.signature(getattr(recallscope, name)).parameters
    assert shown["dtype"].default == "float32"
    assert not any(each.kind is each.VAR_KEYWORD for each in shown.values())
    for each in ("store", "executor", "workers", "progress", "callback", "test_samples"):
        assert each in shown
