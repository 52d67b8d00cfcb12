"""The commands critical and fit, as a user meets them."""

from __future__ import annotations

import json

import pytest

from recallscope.common.csv_files import read_csv
from recallscope.measure.scaling import scaling_from_rows
from recallscope.plot.critical import critical_figure
from recallscope.plot.scaling import scaling_figure

SMALL = ("--vocab", "64", "--dim", "48", "--length", "4")


def test_critical_prints_all_in_one_document(command, tmp_path):
    files = [tmp_path / name for name in ("curve.csv", "curve.png")]
    done = command(
        *("critical", "--for", "samples", "--target", "0.5", *SMALL, "--budget", "24", "--json"),
        *("--table", str(files[0]), "--figure", str(files[1])),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["status"] == "ok"
    assert found["low"] < found["value"] < found["high"]
    assert found["evaluations"] == sum(point["runs"] for point in found["curve"]) <= 24
    assert found["theory"] == pytest.approx(found["value"], rel=0.5)
    assert found["problem"]["samples"] is None
    assert set(found["curve"][0]) == {"size", "runs", "tests", "accuracy", "low", "high"}
    assert read_csv(files[0]) == found["curve"]
    assert files[1].stat().st_size > 10_000


def test_critical_says_that_a_target_was_not_reached(command):
    done = command(
        *("critical", "--for", "samples", "--target", "0.9", "--vocab", "64", "--dim", "6"),
        *("--length", "4", "--high", "4096", "--budget", "16"),
    )
    assert done.returncode == 1
    assert (
        "not_reached: the target is not reached at samples = 4096; closed forms predict that no "
        "size reaches it: recall accuracy is at most"
    ) in done.stdout
    assert (
        "interference of the recall stage is the bottleneck; raise dim or lower vocab."
        in done.stdout
    )
    assert "raise high" not in done.stdout


def test_fit_measures_a_law_and_fits_its_table_again(command, tmp_path):
    table, figure = tmp_path / "law.csv", tmp_path / "law.svg"
    done = command(
        *("fit", "--for", "samples", "--accuracy", "first-gradient", *SMALL, "--budget", "12"),
        *("--vary", "length=4,8,16,32", "--json", "--table", str(table), "--figure", str(figure)),
    )
    assert done.returncode == 0, done.stderr
    law = json.loads(done.stdout)
    power = law["exponents"]["length"]
    assert power["low"] < power["value"] < power["high"]
    assert power["theory"] == pytest.approx(power["value"], abs=0.5)
    assert 0 <= law["goodness"]["p_value"] <= 1
    assert law["collapse"]["law"] < law["collapse"]["raw"]
    assert len(law["points"]) == law["goodness"]["reached"] == 4
    again = command("fit", "--from", str(table), "--json")
    assert again.returncode == 0, again.stderr
    read = json.loads(again.stdout)
    assert read["exponents"] == law["exponents"]
    assert read["collapse"] is None  # the runs are not in the table
    assert "critical sizes" in command("fit", "--from", str(table)).stdout


def test_a_law_without_enough_points_is_undetermined(command, tmp_path):
    table = tmp_path / "law.csv"
    table.write_text(
        "dim,quantity,target,accuracy,status,value,low,high\n"
        "32,samples,0.5,recall_accuracy,ok,900,800,1000\n"
        "64,samples,0.5,recall_accuracy,not_reached,,4096,\n"
    )
    done = command("fit", "--from", str(table), "--json")
    assert done.returncode == 1
    law = json.loads(done.stdout)
    assert law["status"] == "undetermined"
    assert law["exponents"]["dim"]["value"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("critical", "--for", "depth", *SMALL), "an axis is one of vocab, samples"),
        (("critical", "--for", "samples", *SMALL, "--target", "2"), "target must be an accuracy"),
        (("critical", "--for", "samples", *SMALL, "--budget", "x"), "budget must be a whole"),
        (("critical", "--for", "samples", *SMALL, "--low", "9", "--high", "9"), "must rise"),
        (("critical", "--for", "samples", *SMALL, "--precision", "-1"), "fraction above 0"),
        (("critical", "--for", "samples", "--dim", "8", "--length", "4"), "vocab"),
        (("fit", *SMALL), "a law needs --for and --vary"),
        (("fit", "--for", "dim", *SMALL, "--vary", "dim=8,16"), "vary another"),
        (("fit", "--for", "samples", *SMALL, "--vary", "width=8,16"), "give --width too"),
        (("fit", "--from", "none.csv"), "cannot be read"),
        (("fit", "--from", "a.csv", "--for", "samples", "--seed", "1"), "leave --for, --seed out"),
    ],
)
def test_a_mistake_is_one_sentence(command, words, said):
    done = command(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


HEADER = "dim,length,quantity,target,accuracy,status,value,low,high,theory\n"
PHASE = "vocab,dim,samples,length,x,y,accuracy,target,right,tests,mean,low,high\n"
CELL = "64,16,64,4,dim,samples,recall_accuracy,0.5,10 12,100,0.11,0.05,0.2\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("fit", HEADER + "-3,4,samples,0.5,recall_accuracy,ok,9,8,10,\n", "needs a size"),
        (
            "fit",
            HEADER
            + "-3,4,samples,0.5,recall_accuracy,ok,9,8,10,\n"
            + "5,4,samples,0.5,recall_accuracy,ok,9,8,10,\n",
            "dim of row 1 must be a number above 0, not -3",
        ),
        ("fit", HEADER + "3,4,foo,0.5,recall_accuracy,ok,9,8,10,\n", "not of 'foo'"),
        ("fit", HEADER + "3,4,samples,abc,recall_accuracy,ok,9,8,10,\n", "the target must be"),
        (
            "fit",
            HEADER
            + "3,4,samples,0.5,recall_accuracy,ok,9,8,10,x\n"
            + "5,4,samples,0.5,recall_accuracy,ok,9,8,10,\n",
            "theory must be a number above 0, not 'x'",
        ),
        (
            "phase",
            PHASE + CELL.replace("dim,samples", "foo,samples"),
            "axes of a table are columns",
        ),
        ("phase", PHASE + CELL.replace("10 12", "abc"), "right must be numbers of tests"),
        ("phase", PHASE + CELL.replace("0.11,0.05,0.2", "5,-3,7"), "mean, low and high must be"),
        ("phase", PHASE + CELL.replace("0.11,0.05,0.2", "nan,nan,nan"), "mean, low and high must"),
        ("phase", PHASE + CELL.replace("100", "many"), "tests must be a whole number"),
        ("phase", PHASE + CELL + CELL, "the table has two rows of dim=16, samples=64"),
    ],
)
def test_a_malformed_table_is_reported_in_one_sentence(command, tmp_path, name, text, said):
    table = tmp_path / "a.csv"
    table.write_text(text)
    done = command(name, "--from", str(table), "--json")
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_law_of_a_size_that_lowers_accuracy_collapses_too(command, tmp_path):
    """Accuracy falls as vocab grows; infinite samples come back from the table."""
    table = tmp_path / "law.csv"
    done = command(
        *("fit", "--for", "vocab", "--samples", "inf", "--dim", "24", "--length", "4"),
        *("--vary", "dim=16,24,32,48", "--budget", "12", "--json", "--table", str(table)),
    )
    assert done.returncode == 0, done.stderr
    law = json.loads(done.stdout)
    assert law["exponents"]["dim"]["low"] > 1
    assert law["collapse"]["law"] < 0.5 * law["collapse"]["raw"]
    again = command("fit", "--from", str(table), "--json")
    assert json.loads(again.stdout)["points"][0]["samples"] == "inf"


def test_a_phase_diagram_that_would_never_end_is_refused(command):
    done = command(
        *("phase", "--x", "dim=2:2000:1000", "--y", "samples=2:2000:1000", "--seeds", "1e6"),
        *("--vocab", "64", "--length", "4"),
    )
    assert done.returncode == 2
    assert "more than 20000 problems or 1000000 cells" in done.stderr


def test_the_figure_of_a_law_says_what_was_measured():
    rows = [
        {"vocab": 256, "dim": d, "length": 16, "width": None, "embedding": "sphere"}
        | {"quantity": "samples", "target": 0.5, "accuracy": "recall_accuracy", "status": "ok"}
        | {"value": 10**6 // d, "low": 980_000 // d, "high": 1_020_000 // d}
        | {"evaluations": 40, "theory": 10**6 // d}
        for d in (32, 48, 64, 96, 128)
    ]
    figure = scaling_figure(scaling_from_rows(rows).figure_data())
    caption = " ".join(figure.get_suptitle().split())
    assert "V=256, L=16, attention alone, sphere embeddings" in caption
    assert "5 critical sizes of recall accuracy 0.5 from 200 runs, with 95 % intervals" in caption
    title = figure.axes[0].get_title()
    assert "measured −1.00 (−1.0" in title
    assert "theory −1.00" in title
    # Drawn from a JSON document as well; a search without bounds is left out.
    bound = rows[0] | {"dim": 16, "status": "not_reached", "value": None, "high": None}
    nothing = bound | {"dim": 20, "low": None}
    document = json.dumps(scaling_from_rows([bound, nothing, *rows]).figure_data(), allow_nan=False)
    figure = scaling_figure(json.loads(document))
    assert "and 1 bounds." in " ".join(figure.get_suptitle().split())
    assert [len(line.get_xdata()) for line in figure.axes[0].lines[-2:]] == [16, 2]


def test_the_figure_of_a_critical_size_is_drawn_from_what_json_prints(command, tmp_path):
    picture = tmp_path / "a.svg"
    done = command(
        *("critical", "--for", "samples", "--vocab", "64", "--dim", "48", "--length", "4"),
        *("--budget", "12", "--json", "--figure", str(picture)),
    )
    assert done.returncode == 0, done.stderr
    assert picture.stat().st_size > 5_000
    document = json.loads(done.stdout)
    figure = critical_figure(document)
    assert "V=64, d=48, L=4, attention alone" in figure.get_suptitle()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[0] == "critical size"
    assert f"at {document['value']} (" in " ".join(figure.axes[0].get_title().split())
    curve = [{"size": 100, "accuracy": 0.2}, {"size": 400, "accuracy": 0.6}]
    figure = critical_figure(document | {"theory_curve": curve})
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[-2] == "predicted"
    assert figure.axes[0].get_title().endswith(f"predicted: {document['theory']}")


def test_the_dimension_sought_does_not_limit_the_vocabularies_varied(command):
    done = command(
        *("fit", "--for", "dim", "--vary", "vocab=4,64", "--vary", "length=2,3", "--vocab", "4"),
        *("--samples", "64", "--length", "2", "--embedding", "orthogonal", "--budget", "1"),
        "--json",
    )
    assert done.returncode == 1, done.stderr  # one run each leaves a law undetermined
    assert [point["vocab"] for point in json.loads(done.stdout)["points"]] == [4, 64, 4]
