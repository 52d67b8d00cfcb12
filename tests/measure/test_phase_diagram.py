"""Phase diagrams: cells, boundaries, disagreements, tables, figures and the command."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from recallscope import Problem, ProblemError, Record, Status, sweep
from recallscope.common.csv_files import read_csv, write_csv
from recallscope.experiment.record import Provenance
from recallscope.measure.planes import from_rows, phase_diagram, plan
from recallscope.plot.phase_diagram import phase_diagram_figure
from recallscope.plot.style import save
from recallscope.problem.axes import Axis
from recallscope.theory.accuracy import accuracies
from recallscope.theory.problem_arrays import arrays_of
from recallscope.theory.required_size import solve

PROBLEM = Problem(vocab=512, samples=1, dim=1, length=16)
X, Y = Axis("dim", (64, 90, 128)), Axis("samples", (256, 512, 1024, 2048, 4096, 8192))
MADE = Provenance(
    engine=None, dtype="float64", device="cpu", versions={}, revision=None, elapsed_seconds=0.0
)
TESTS = 4096


def record(problem, seed, rates):
    named = zip(
        ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy"), rates, strict=True
    )
    return Record(
        problem=problem,
        seed=seed,
        status=Status.OK,
        provenance=MADE,
        test_samples=TESTS,
        **{name: round(rate * TESTS) / TESTS for name, rate in named},
    )


def planted(problem=PROBLEM, x=X, y=Y, seeds=4, off=0.0, spread=0.01, seed=1):
    """Runs that follow the theory, with a shift of the recall and some spread of the seeds."""
    runs = plan(problem, x, y, seeds)
    rng = np.random.default_rng(seed)
    theory = accuracies(arrays_of([problem for problem, _ in runs]))
    noise = rng.normal(0, spread, (3, len(runs)))
    rates = np.stack(
        [theory.attention_accuracy, theory.recall_accuracy + off, theory.first_gradient_accuracy]
    )
    rates = rng.binomial(TESTS, np.clip(rates + noise, 0, 1)) / TESTS
    return [record(*each, rate) for each, rate in zip(runs, rates.T, strict=True)]


def broken(problem, seed, status):
    return Record(
        problem=problem, seed=seed, status=status, provenance=MADE, reason="RuntimeError: boom"
    )


def test_runs_without_a_number_of_tests_are_refused():
    records = [replace(each, test_samples=None) for each in planted(seeds=1)]
    with pytest.raises(ProblemError, match="without a number of tests"):
        phase_diagram(records, "dim", "samples")


@pytest.fixture(scope="module")
def diagram():
    return phase_diagram(planted(), "dim", "samples")


def test_cells_are_rows_by_y_and_columns_by_x(diagram):
    assert (diagram.x, diagram.y) == (X, Y)
    assert [(cell.x, cell.y) for cell in diagram.cells[:4]] == [
        (64, 256),
        (90, 256),
        (128, 256),
        (64, 512),
    ]
    problems = [PROBLEM.replace(dim=cell.x, samples=cell.y) for cell in diagram.cells]
    predicted = accuracies(arrays_of(problems)).recall_accuracy
    assert [cell.predicted for cell in diagram.cells] == pytest.approx(predicted.tolist())
    for cell in diagram.cells:
        mean, low, high = cell.measured.interval
        assert low <= mean <= high
        assert mean == pytest.approx(np.mean(cell.measured.right) / TESTS)
        assert cell.difference == pytest.approx(cell.predicted - mean)


def test_no_seed_is_used_twice_and_more_seeds_only_add():
    few, many = plan(PROBLEM, X, Y, 2, first=5), plan(PROBLEM, X, Y, 3, first=5)
    assert many[: len(few)] == few
    assert [seed for _, seed in many] == list(range(5, 5 + len(many)))


def test_planted_theory_agrees_in_all_but_chance():
    many = Axis("samples", tuple(range(300, 9000, 300)))
    found = phase_diagram(planted(y=many, seeds=6), "dim", "samples")
    assert found.compared == 3 * len(many.values)
    assert found.disagreeing / found.compared < 0.12


def test_a_planted_shift_is_seen():
    found = phase_diagram(planted(seeds=6, off=-0.1), "dim", "samples")
    wide = [cell for cell in found.cells if 0.2 < cell.predicted < 0.8]
    assert all(cell.disagrees and cell.difference > 0 for cell in wide)


def test_boundaries_meet_where_theory_is_planted(diagram):
    for dim, measured, predicted in zip(
        X.values, diagram.boundary, diagram.theory_boundary, strict=True
    ):
        assert predicted == solve(PROBLEM.replace(dim=dim), "samples", 0.5).value
        if predicted is None:
            assert measured.status is Status.NOT_REACHED
            assert (measured.value, measured.low, measured.high) == (None, 8192, None)
        else:
            assert measured.status is Status.OK
            assert measured.low < measured.value < measured.high
            assert measured.value == pytest.approx(predicted, rel=0.15)
    assert diagram.theory_boundary[0] is None


def test_the_interval_of_a_boundary_holds_the_planted_crossing():
    """For curves of several shapes that rise, cross the target repeatedly or flatten near it."""
    y = Axis("samples", tuple(np.unique(np.geomspace(256, 65536, 12).astype(int)).tolist()))
    held = []
    for number, length in enumerate((4, 128)):
        problem = PROBLEM.replace(length=length)
        x = Axis("dim", (84, 90, 110, 150, 200, 256))
        found = phase_diagram(planted(problem, x, y, spread=0.03, seed=number), "dim", "samples")
        held += [
            (crossing.low or 0) <= truth <= (crossing.high or math.inf)
            for crossing, truth in zip(found.boundary, found.theory_boundary, strict=True)
        ]
    assert sum(held) >= len(held) - 2


def test_a_boundary_along_a_size_that_lowers_accuracy():
    problem = Problem(vocab=2, samples=4096, dim=64, length=8)
    y = Axis("vocab", (64, 128, 256, 512, 1024))
    found = phase_diagram(planted(problem, Axis("dim", (48, 64)), y), "dim", "vocab")
    for measured, predicted in zip(found.boundary, found.theory_boundary, strict=True):
        assert measured.low < measured.value < measured.high
        assert measured.value == pytest.approx(predicted, rel=0.15)


def test_crossings_outside_of_the_plane_are_censored():
    easy = Axis("samples", (16384, 32768, 65536))
    found = phase_diagram(planted(x=Axis("dim", (128, 160)), y=easy), "dim", "samples")
    for measured in found.boundary:
        assert (measured.status, measured.value) == (Status.NOT_REACHED, None)
        assert (measured.low, measured.high) == (None, 16384)


def test_failed_and_infeasible_runs_are_counted_and_say_nothing(diagram):
    runs = planted()
    lost = runs[0].problem
    others = [each for each in runs if each.problem != lost]
    crashed = [broken(lost, seed, Status.FAILED) for seed in range(3)]
    found = phase_diagram([*others, *crashed, broken(lost, 9, Status.INFEASIBLE)], "dim", "samples")
    cell = found.cells[0]
    assert (cell.measured.failed, cell.measured.infeasible, found.failed) == (3, 1, 3)
    assert cell.measured.interval is None
    assert cell.difference is None
    assert not cell.disagrees
    assert found.compared == len(found.cells) - 1
    one = phase_diagram([*runs, broken(lost, 9, Status.FAILED)], "dim", "samples")
    assert one.cells[0].measured == diagram.cells[0].measured._replace(failed=1)


def test_a_column_without_a_run_has_the_status_of_its_runs():
    runs = [each for each in planted() if each.problem.dim > 64]
    for status in (Status.FAILED, Status.INFEASIBLE):
        lost = [broken(problem, seed, status) for problem, seed in plan(PROBLEM, X, Y, 1)]
        column = [each for each in lost if each.problem.dim == 64]
        found = phase_diagram([*runs, *column], "dim", "samples")
        assert found.boundary[0] == (status, None, None, None)


@pytest.mark.parametrize("accuracy", ["attention_accuracy", "first_gradient_accuracy"])
def test_other_accuracies(accuracy):
    stage = accuracy.removesuffix("_accuracy")
    found = phase_diagram(planted(), "dim", "samples", accuracy, target=0.3)
    problems = [PROBLEM.replace(dim=cell.x, samples=cell.y) for cell in found.cells]
    predicted = getattr(accuracies(arrays_of(problems)), accuracy)
    assert [cell.predicted for cell in found.cells] == pytest.approx(predicted.tolist())
    assert {cell.stage for cell in found.cells} == {stage}


def test_a_table_gives_the_diagram_back(tmp_path, diagram):
    other = phase_diagram(planted(PROBLEM.replace(length=64)), "dim", "samples")
    write_csv([*diagram.rows(), *other.rows()], tmp_path / "cells.csv")
    again = from_rows(read_csv(tmp_path / "cells.csv"))
    assert [each.to_dict() for each in again] == [diagram.to_dict(), other.to_dict()]


def test_a_table_without_counts_of_lost_runs_has_lost_none(diagram):
    rows = diagram.rows()
    for row in rows:
        assert (row.pop("infeasible"), row.pop("failed")) == (0, 0)
    (again,) = from_rows(rows)
    assert [cell.measured for cell in again.cells] == [cell.measured for cell in diagram.cells]


def test_a_table_of_one_seed_and_of_none(tmp_path):
    runs = planted(seeds=1)
    lost = broken(runs[0].problem, 0, Status.FAILED)
    found = phase_diagram([lost, *runs[1:]], "dim", "samples")
    write_csv(found.rows(), tmp_path / "cells.csv")
    (again,) = from_rows(read_csv(tmp_path / "cells.csv"))
    assert again.to_dict() == found.to_dict()


def check_refused(made, sentence):
    with pytest.raises(ProblemError) as refusal:
        made()
    assert str(refusal.value) == sentence


def test_mistakes_are_reported(diagram):
    runs = planted(seeds=1)
    other = planted(PROBLEM.replace(length=8), seeds=1)
    check_refused(
        lambda: phase_diagram([*runs, *other], "dim", "samples"),
        "the runs of a phase diagram differ in dim, samples and the seed only, but these have "
        "length 16 and 8; choose the runs of one plane",
    )
    check_refused(
        lambda: phase_diagram([], "dim", "samples"),
        "a phase diagram needs runs, but there are none",
    )
    check_refused(
        lambda: phase_diagram(runs, "dim", "samples", "accuracy"),
        "accuracy must be one of attention_accuracy, recall_accuracy, first_gradient_accuracy, "
        "not 'accuracy'; what a learner of yours measures is known once it names it, as in "
        "Learner(metrics=('loss',))",
    )
    check_refused(
        lambda: phase_diagram(runs, "dim", "samples", target=1),
        "the target must be an accuracy between 0 and 1, not 1",
    )
    check_refused(
        lambda: plan(PROBLEM, Axis("dim", (8,)), Y, 1),
        "an axis of a phase diagram needs at least two values, but dim has only 8",
    )
    check_refused(lambda: plan(PROBLEM, X, X, 1), "a plane is of two sizes, not of dim twice")
    check_refused(
        lambda: from_rows([{"x": "dim"}]),
        "a table of a phase diagram has a column 'y', and this one does not; give a table that was "
        "written with a phase diagram",
    )
    check_refused(
        lambda: from_rows([]),
        "the table of a phase diagram has a row for each cell, this one has none",
    )


def test_runs_of_different_tests_are_refused():
    runs = planted(seeds=2)
    fewer = Record(**{**vars(runs[0]), "test_samples": 100})
    check_refused(
        lambda: phase_diagram([*runs, fewer], "dim", "samples"),
        "the runs of a cell are tested on equally many samples, not on [100, 4096]",
    )


def texts(figure):
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    titles = [axes.get_title() for axes in figure.axes]
    labels = [text.get_text() for axes in figure.axes for text in axes.texts]
    caption = " ".join(figure.get_suptitle().split())
    return caption, titles, legends, labels


def test_the_figure_says_what_it_shows(tmp_path, diagram):
    long = phase_diagram(planted(PROBLEM.replace(length=64)), "dim", "samples")
    figure = phase_diagram_figure([diagram.to_dict(), long.to_dict()])
    caption, titles, legends, labels = texts(figure)
    assert caption.startswith("V=512, attention alone, sphere embeddings.")
    assert "mean recall accuracy of 4 seeds per cell, tested on 4096 fresh samples" in caption
    assert "95 % intervals" in caption
    off = np.mean([abs(cell.difference) for cell in diagram.cells])
    counted = f"theory off by {off:.3f} on average, crosses in {diagram.disagreeing} of 18 cells"
    assert " ".join(titles[0].split()) == f"L=16: {counted}"
    assert titles[1].startswith("L=64: ")
    assert "N of accuracy 0.5, measured" in legends
    assert "recall:\ninterference" in labels
    assert [axes.get_xlabel() for axes in figure.axes[:2]] == ["d, dim"] * 2
    for kind in ("png", "pdf", "svg"):
        save(figure, tmp_path / f"a.{kind}")


def test_a_figure_of_lost_cells_and_of_no_crossing(tmp_path):
    runs = planted(x=Axis("dim", (16, 24)), seeds=1)
    lost = [broken(runs[0].problem, 0, Status.FAILED), *runs[1:]]
    figure = phase_diagram_figure([phase_diagram(lost, "dim", "samples").to_dict()])
    assert "1 runs failed and are left out." in texts(figure)[0]
    save(figure, tmp_path / "a.png")


TRAINED = Problem(vocab=64, samples=256, dim=16, length=4, learner="adam")


def flat(problem, x, y):
    """Runs that are right in half of the tests, whatever the problem."""
    return [record(*each, (0.9, 0.5, 0.5)) for each in plan(problem, x, y, seeds=1)]


def test_the_figure_names_the_kind_of_its_law_and_only_the_noises_that_it_has():
    leaning = Problem(vocab=64, samples=256, dim=16, length=2, embedding="leaning", lean=0.5)
    axes = Axis("dim", (8, 16)), Axis("lean", (0.0, 2.0))
    fitted = phase_diagram(flat(leaning, *axes), "dim", "lean")
    assert (fitted.law, {cell.term for cell in fitted.cells}) == ("lean", {None})
    caption, _, legends, labels = texts(phase_diagram_figure([fitted.to_dict()]))
    assert "the same by the fitted law lean" in legends
    assert "nothing fitted" not in caption
    assert not [text for text in legends + labels if "noise" in text or "nothing fitted" in text]
    derived = phase_diagram(planted(), "dim", "samples")
    caption, _, legends, _ = texts(phase_diagram_figure([derived.to_dict()]))
    assert "Closed forms, nothing fitted." in caption
    assert "the same by the derived law three-step" in legends
    assert "border between noises that dominate" in legends
    both = [fitted.to_dict(), derived.to_dict()]
    caption, _, legends, _ = texts(phase_diagram_figure(both))
    assert "the same by the fitted law lean or the derived law three-step" in legends
    assert "border between noises that dominate" in legends


def test_noises_that_are_known_in_some_cells_alone_have_borders_there_alone(diagram):
    document = diagram.to_dict()
    document["cells"] = [
        cell | {"stage": "recall", "term": "sampling"} for cell in document["cells"]
    ]
    document["cells"][0] |= {"term": "interference"}

    def borders(shown):
        return len(phase_diagram_figure([shown]).axes[0].collections[1].get_segments())

    assert borders(document) == 2  # of a corner
    document["cells"][1] |= {"stage": None, "term": None}
    assert borders(document) == 1


def test_there_is_no_boundary_along_what_makes_recall_neither_rise_nor_fall(tmp_path):
    axes = Axis("dim", (12, 16)), Axis("learning_rate", (0.01, 0.1))
    found = phase_diagram(flat(TRAINED, *axes), "dim", "learning_rate")
    why = "recall neither rises nor falls with learning_rate alone, so there is no boundary along"
    assert found.no_boundary.startswith(why)
    assert found.boundary == found.theory_boundary == ()
    document = found.to_dict()
    assert document["boundary"] == document["theory_boundary"] == document["theory_line"] == []
    figure = phase_diagram_figure([document])
    caption, _, legends, _ = texts(figure)
    assert f"{why.capitalize()} it." in caption
    assert "intervals" not in caption
    assert legends == []
    assert from_rows(found.rows())[0].to_dict() == document
    save(figure, tmp_path / "a.png")


def test_a_law_draws_no_line_where_there_is_no_boundary(diagram):
    document = diagram.to_dict() | {"theory_line": [], "boundary": [], "no_boundary": "it bends"}
    figure = phase_diagram_figure([document])
    caption, _, legends, _ = texts(figure)
    assert "It bends." in caption
    assert not [text for text in legends if text.startswith("the same by")]
    assert "theory off by more than 0.01 beyond the 95 % interval" in legends
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() != "None"]
    assert lines == []
    assert len(figure.axes[0].collections) == 2  # the cells and the borders, and no contour


SMALL = ("--vocab", "64", "--length", "4", "--x", "dim=16:64:3", "--y", "samples=32:512:4")


def test_the_command_writes_all_it_can_and_draws_from_its_table(command, tmp_path):
    table, picture = str(tmp_path / "a.csv"), str(tmp_path / "a.png")
    done = command("phase", *SMALL, "--seeds", "2", "--json", "--table", table, "--figure", picture)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document) == {
        *("problem", "x", "y", "accuracy", "target", "seeds", "without_theory", "extrapolated"),
        *("cells", "boundary", "theory_boundary", "theory_line", "disagreement", "own"),
        *("law", "kind", "origin", "no_boundary"),
    }
    assert document["x"] == {"name": "dim", "values": [16, 32, 64]}
    assert len(document["cells"]) == 12
    assert document["disagreement"]["of"] == 12
    assert document["seeds"] == 2
    again = command("phase", "--from", table, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == document
    people = command("phase", "--from", table)
    assert "Theory is off by more than 0.01 beyond the 95 % interval in" in people.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (SMALL[:4], "a phase diagram needs --x and --y, as in --x dim=16:256:30"),
        (
            ("--from", "a.csv", "--vocab", "9", "--seeds", "7", "--workers", "2", "--x", "dim"),
            "--from runs nothing and takes the rest from what it reads; leave --x, --vocab, "
            "--seeds, --workers out",
        ),
        (
            ("--from", ".", "--vocab", "9", "--dtype", "float64", "--store", "here"),
            "takes the rest from what it reads; leave --dtype, --store out",
        ),
        (("--from", "none.csv"), "the table 'none.csv' cannot be read"),
        (
            (*SMALL, "--accuracy", "best"),
            "accuracy must be one of attention_accuracy, recall_accuracy",
        ),
        ((*SMALL, "--target", "2"), "the target must be an accuracy between 0 and 1, not 2"),
        ((*SMALL, "--embedding", "own.npz"), "cannot read embedding arrays from 'own.npz'"),
        ((*SMALL, "--table", "a.txt"), "a table is written as .csv, .parquet, .tex, not 'a.txt'"),
        ((*SMALL, "--seeds", "0"), "seeds must be a whole number from 1"),
    ],
)
def test_mistakes_in_the_command_are_reported(arguments, said, capsys, monkeypatch, tmp_path):
    from recallscope.cli import main as cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["recallscope", "phase", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_an_interrupt_stops_the_command(capsys, monkeypatch):
    from recallscope.cli import main as cli
    from recallscope.sweeps import jobs

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(jobs.experiment, "run_together", interrupted)
    monkeypatch.setattr("sys.argv", ["recallscope", "phase", *SMALL])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 130
    assert "recallscope: stopped" in capsys.readouterr().err


def test_a_failed_run_is_counted_and_gives_exit_code_1(capsys, monkeypatch):
    from recallscope.cli import main as cli
    from recallscope.sweeps import jobs

    whole = jobs.experiment.run_together

    def breaks(problem, seeds, **how):
        if seeds == [3]:
            return [broken(problem, 3, Status.FAILED)]
        return whole(problem, seeds, **how)

    monkeypatch.setattr(jobs.experiment, "run_together", breaks)
    monkeypatch.setattr("sys.argv", ["recallscope", "phase", *SMALL, "--seeds", "1", "--json"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 1
    document = json.loads(capsys.readouterr().out)
    assert document["disagreement"]["of"] == 11
    assert [cell["failed"] for cell in document["cells"]].count(1) == 1


@pytest.mark.slow
def test_the_values_of_a_plane_do_not_depend_on_the_order_of_its_axes(command):
    axes = ("dim=33,65", "vocab=8,16")
    options = ("--samples", "64", "--length", "2", "--seeds", "1", "--embedding", "orthogonal")
    for x, y in (axes, axes[::-1]):
        done = command("phase", "--x", x, "--y", y, *options, "--json")
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)["cells"]) == 4


def test_options_choose_the_records_of_a_store(command, tmp_path):
    store = str(tmp_path / "facts")
    sizes = {"vocab": [32], "length": [4], "dim": [8, 16], "samples": [64, 128]}
    either = {"embedding": ["sphere", "gaussian"], "trigger_in_values": [True, False]}
    other = {"width": [None, 8]}
    names = [*sizes, *either, *other]
    cells = [
        (Problem(**dict(zip(names, values, strict=True))), 0)
        for values in itertools.product(*(sizes | either | other).values())
    ]
    sweep(cells, store, test_samples=64)
    plane = ("phase", "--from", store, "--x", "dim", "--y", "samples", "--json")
    assert "choose the runs of one plane" in command(*plane).stderr
    chosen = ("--embedding", "gaussian", "--no-trigger-in-values", "--width", "none")
    shown = json.loads(command(*plane, *chosen).stdout)["problem"]
    assert (shown["embedding"], shown["trigger_in_values"], shown["width"]) == (
        *("gaussian", False, None),
    )
    chosen = ("--embedding", "sphere", "--trigger-in-values", "--width", "8", "--vocab", "32")
    shown = json.loads(command(*plane, *chosen, "--regime", "limit").stdout)["problem"]
    assert (shown["embedding"], shown["trigger_in_values"], shown["width"]) == ("sphere", True, 8)
    none = command(*plane, "--embedding", "rademacher")
    assert none.returncode == 2
    assert "has no runs with embedding 'rademacher'; recallscope records --store" in none.stderr
