"""Hostile input is refused in one sentence, before it is read or used.

the study faults tries a million inputs. This file has one of each kind that was once accepted.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from recallscope import (
    CriticalSize,
    Embeddings,
    Prediction,
    Problem,
    ProblemError,
    Record,
    Solution,
    SweepResult,
    ablate,
    fit,
)
from recallscope.common.checks import check_target
from recallscope.common.csv_files import check_output, number_or_text, read_csv
from recallscope.common.given_files import read_json, read_regular
from recallscope.measure.critical_search import CriticalSearch
from recallscope.measure.planes import from_rows, plan
from recallscope.measure.sweep_file import read_sweep, sweep_from
from recallscope.problem.axes import Axis
from recallscope.theory import required_size
from recallscope.theory.lower_bound import bound

MANY = "9" * 400
SIZES = ("--vocab", "32", "--samples", "64", "--dim", "8", "--length", "4")
PROBLEM = Problem(vocab=32, samples=64, dim=8, length=4)
FIXED = {"problem": {"vocab": 32, "samples": 64, "dim": 8, "length": 4}}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refused(command, *line):
    """The sentence with which a line is refused."""
    done = command(*line)
    assert done.returncode == 2, done
    assert done.stderr.startswith("recallscope: ")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 1100
    return done.stderr


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (("solve", "--for", "dim", "--target", MANY, *SIZES[:4], *SIZES[6:]), "between 0 and 1"),
        (("bound", "--target", MANY, *SIZES), "at most 1, not '9999"),
        (
            ("critical", "--for", "dim", "--precision", MANY, *SIZES),
            "a fraction above 0, not '9999",
        ),
        (("run", "--samples", "1e400", *SIZES[:2], *SIZES[4:]), "or inf, not '1e400'"),
        (("predict", "a" * 10**5, *SIZES), " … "),
        (("predict", "--embedding", "\x1b[2Jred", *SIZES), "not '\\x1b[2Jred'"),
        (("predict", "--activation", "two\nlines", *SIZES), "two"),
        (("phase", "--from", "a" * 300), "File name too long"),
        (("critical", "--for", "dim", "--table", "a" * 300 + ".csv", *SIZES), "File name too long"),
        (("critical", "--for", "dim", "--figure", "é" * 200 + ".png", *SIZES), "name too long"),
    ],
)
def test_a_line_is_refused_in_one_sentence(command, line, sentence):
    assert sentence in refused(command, *line)


def test_huge_numbers_are_refused_in_python_too():
    for target in (10**400, -(10**400)):
        with pytest.raises(ProblemError, match=r"between 0 and 1, not -?1000"):
            check_target(target)
    with pytest.raises(ProblemError, match="must be a number, not 1000"):
        bound(PROBLEM, 10**400)
    with pytest.raises(ProblemError, match="a fraction above 0, not 1000"):
        CriticalSearch(PROBLEM, "dim", precision=10**400)


def test_a_count_of_thousands_of_digits_is_not_infinity(tmp_path):
    assert number_or_text("9" * 5000) == "9" * 5000
    (tmp_path / "counts.csv").write_text(f"samples,dim\n{'9' * 5000},1e400\n")
    assert read_csv("counts.csv") == [{"samples": "9" * 5000, "dim": "1e400"}]


def test_a_table_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "marked.csv").write_bytes(b"\xef\xbb\xbfdim\n8\n")
    assert read_csv("marked.csv") == [{"dim": 8}]


@pytest.mark.parametrize("name", ["pipe", "zero", "folder"])
@pytest.mark.parametrize("read", [read_csv, read_sweep, Embeddings.load])
def test_only_regular_files_are_read(name, read, tmp_path):
    os.mkfifo("pipe")
    Path("zero").symlink_to("/dev/zero")
    Path("folder").mkdir()
    with pytest.raises(ProblemError, match="regular file"):
        read(tmp_path / name)


def test_a_file_above_the_limit_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"1234")
    assert read_regular("a", "file", 4) == b"1234"
    with pytest.raises(ProblemError, match=r"the file 'a' is larger than 2\.86\S* MiB; cut it"):
        read_regular("a", "file", 3)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"seeds": 10**8}, "1 problems at 100000000 seeds, more than 20000 problems or 1000000"),
        ({"seeds": 10**5, "grid": {"width": list(range(1, 12))}}, "11 problems at 100000 seeds"),
        ({"grid": {"width": list(range(1, 10**5))}}, "from 1 to 20000 values, not 99999"),
        ({"grid": {"width": {"from": 1, "to": 9, "count": 10**6}}}, "from 2 to 20000, not 1000000"),
        ({"a" * 10**5: 1}, "unknown name 'aaa"),
    ],
)
def test_a_sweep_that_could_not_be_planned_is_refused(changed, sentence):
    with pytest.raises(ProblemError, match=sentence) as refusal:
        sweep_from(FIXED | changed)
    assert len(str(refusal.value)) < 500


def test_a_sweep_of_more_searches_than_can_be_prepared_is_refused():
    problem = {"vocab": 32, "length": 4}
    with pytest.raises(ProblemError, match="1001 searches, more than 1000; cut it"):
        sweep_from({"problem": problem, "grid": {"dim": list(range(8, 1009))}, "critical": {}})


def test_an_ablation_has_a_largest_plan():
    problem = Problem(vocab=64, samples=512, dim=16, length=4)
    with pytest.raises(ProblemError, match="2 problems at 1000000 seeds, more than"):
        ablate(problem, ["trigger"], seeds=10**6)


def test_the_first_run_of_many_searches_does_not_wait_for_the_last(monkeypatch):
    """The prior of a search takes a while, and a plan may have a thousand searches."""
    begun = []
    solve = required_size.solve
    monkeypatch.setattr(required_size, "solve", lambda *given: begun.append(given) or solve(*given))
    problem = Problem(vocab=64, samples=1, dim=48, length=4)
    with pytest.raises(KeyError):
        fit(problem, "samples", ["dim=16:64:20"], budget=8, callback=lambda record: {}[record.seed])
    assert 1 <= len(begun) <= 3


def test_searches_are_listed_without_their_closed_forms(monkeypatch):
    computed = property(lambda self: pytest.fail("was computed"))
    monkeypatch.setattr(CriticalSearch, "without_theory", computed)
    assert CriticalSearch(PROBLEM, "dim").budget == 64


def test_a_plane_that_could_not_be_planned_is_refused():
    many = tuple(range(8, 1008))
    with pytest.raises(ProblemError, match="the phase diagram has 1000000 problems at 1 seeds"):
        plan(PROBLEM, Axis("dim", many), Axis("samples", many), seeds=1)


@pytest.mark.parametrize(
    "key", [".".join("a" * 2000), ".".join(['","'] * 2000), "\n".join(["a" + ".b" * 900] * 2)]
)
def test_a_name_of_thousands_of_dots_is_not_followed(key, tmp_path):
    (tmp_path / "dots.toml").write_text(f"{key} = 1\n")
    with pytest.raises(ProblemError, match="has too many dots"):
        read_sweep("dots.toml")


def test_a_list_of_thousands_of_fractions_is_read(tmp_path):
    values = ", ".join(f"{n}.5" for n in range(1, 5000)) + ", 1.5e-3"
    (tmp_path / "steps.toml").write_text(
        "[problem]\nvocab = 32\nsamples = 64\ndim = 8\nlength = 4\nregime = 'literal'\ngamma = 1\n"
        f"[grid]\neta = [{values}]\n"
    )
    assert read_sweep("steps.toml").size == 5000


def test_a_file_that_unfolds_a_thousandfold_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("recallscope.problem.given_embeddings._UNFOLDED", 10**6)
    with zipfile.ZipFile("own.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("tokens", "outputs", "trigger", "end"):
            content = io.BytesIO()
            np.save(content, np.zeros(10**5))
            archive.writestr(f"{name}.npy", content.getvalue())
    with pytest.raises(ProblemError, match=r"claim 0\.00298 GiB, more than 4 times the .* of the"):
        Embeddings.load("own.npz")


def test_an_array_of_a_negative_length_is_refused(tmp_path):
    head = f"{ {'descr': '<f8', 'fortran_order': False, 'shape': (-1, 8)}!r}\n".encode()
    content = b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head
    with zipfile.ZipFile("own.npz", "w") as archive:
        for name in ("tokens", "outputs", "trigger", "end"):
            archive.writestr(f"{name}.npy", content)
    with pytest.raises(ProblemError, match=r"'tokens' claims the shape \(-1, 8\)"):
        Embeddings.load("own.npz")


def test_json_has_null_for_nan_and_infinity(capsys):
    from recallscope.cli.output import print_json

    print_json({"a": [float("nan"), {"b": float("-inf")}, (1.5,)], "c": "inf"})
    assert json.loads(capsys.readouterr().out) == {"a": [None, {"b": None}, [1.5]], "c": "inf"}


def test_control_codes_in_messages_are_escaped(capsys):
    from recallscope.cli.main import _complain

    assert _complain("a\x1b[2J\nb", 2) == 2
    assert capsys.readouterr().err == "recallscope: a\\x1b[2J b\n"


@pytest.mark.parametrize("name", ["a\0b.csv", "a" * 300 + ".csv", "x/" * 3000 + "a.csv"])
def test_an_impossible_file_name_is_refused(name):
    with pytest.raises(ProblemError, match="cannot be written to"):
        check_output(name, "table", (".csv",))


def test_a_long_name_is_quoted_in_part_in_json():
    with pytest.raises(ProblemError, match="unknown field") as refusal:
        Problem.from_dict(PROBLEM.to_dict() | {"a" * 10**5: 1})
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize("where", ["out", "err", "both"])
def test_a_full_disk_is_reported_without_a_traceback(where):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "recallscope", "--version" if where == "out" else "nothing"],
            stdout=full if where != "err" else subprocess.PIPE,
            stderr=subprocess.PIPE if where == "out" else full,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    if where == "out":
        assert done.stderr == "recallscope: the system refused: No space left on device\n"


def test_a_closed_pipe_gets_no_message():
    read, write = os.pipe()
    os.close(read)
    line = [sys.executable, "-m", "recallscope", "--version"]
    done = subprocess.run(line, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_the_cost_of_many_tests_is_predicted():
    from recallscope import predict_cost

    usual = predict_cost(PROBLEM).seconds
    assert predict_cost(PROBLEM, test_samples=1).seconds == pytest.approx(usual, rel=0.1)
    assert predict_cost(PROBLEM, test_samples=10**15).seconds > 3600


def test_closed_forms_that_overflow_have_a_reason_instead_of_numbers(monkeypatch, command):
    from recallscope.theory.laws import three_step

    def overflown(s):
        found = analyse(s)
        nothing = np.full_like(found.accuracies.recall_accuracy, np.nan)
        return found._replace(accuracies=found.accuracies._replace(first_gradient_accuracy=nothing))

    analyse = three_step.analyse
    monkeypatch.setattr(three_step, "analyse", overflown)
    found = json.loads(command("predict", *SIZES, "--json").stdout)
    assert found["prediction"] is None
    assert "leave the range of floating-point numbers" in found["reason"]
    assert command("predict", *SIZES).stdout.endswith("choose sizes that are less far apart.\n")
    sought = ("--for", "dim", *SIZES[:4], *SIZES[6:])
    none = command("solve", "--target", "0.5", *sought)
    assert none.returncode == 2
    assert "recallscope: no closed form at these sizes" in none.stderr


def test_overflows_of_intermediate_results_are_not_printed(command):
    far = ("--vocab", "9", "--samples", "69206", "--length", "101036527879777")
    mlp = ("--width", "97860329468418", "--activation", "quadratic", "--trigger-in-values")
    assert command("solve", "--for", "dim", *far, *mlp).stderr == ""


def test_a_count_of_thousands_of_digits_in_the_table_of_a_plane():
    row = PROBLEM.to_dict() | {"x": "dim", "y": "samples", "accuracy": "recall_accuracy"}
    row |= {"target": 0.5, "tests": 10, "right": "9" * 5000, "mean": 0.5, "low": 0.4, "high": 0.6}
    with pytest.raises(ProblemError, match="right must be numbers of tests, 0 to 10") as refusal:
        from_rows([row])
    assert len(str(refusal.value)) < 200


def test_a_few_of_a_million_cells_that_are_not_ok_are_listed(tmp_path, command):
    (tmp_path / "large.toml").write_text(
        "seeds = 9\n[problem]\nvocab = 32\ndim = 8\nlength = 1000000000000\nsamples = 64\n"
    )
    done = command("sweep", "large.toml", "--yes", "--store", "facts")
    *listed, last = done.stderr.splitlines()
    assert done.returncode == 1
    assert [line[:24] for line in listed] == ["recallscope: infeasible:"] * 5
    assert last.endswith("are in the store: recallscope records --store facts list")


@pytest.mark.parametrize("data", [{}, [], None, {"problem": 3}, {"problem": {}, "status": "ok"}])
@pytest.mark.parametrize("kind", [Record, Prediction, Solution, CriticalSize, SweepResult])
def test_what_was_never_saved_is_refused(kind, data):
    with pytest.raises(ProblemError) as refusal:
        kind.from_dict(data)
    assert "\n" not in str(refusal.value)


def test_counts_of_hundreds_of_digits_are_no_frequencies():
    table = {"frequencies": "table", "frequency_table": f"[{MANY}, 1, 1, 1]"}
    trained = {"task": "memory", "learner": "converged", "length": 1}
    with pytest.raises(ProblemError, match="from 1e-100 to 1e100"):
        Problem.from_dict({"vocab": 4, "samples": 64, "dim": 8} | trained | table)


@pytest.mark.parametrize("config", [{"n_layer": 10**6}, {"text_config": {"num_experts": 10**5}}])
def test_a_million_layers_are_refused_before_they_are_built(config):
    given = {"model": "huggingface", "learner": "adam", "config": {"model_type": "gpt2"} | config}
    with pytest.raises(ProblemError, match="at most 1,000"):
        Problem.from_dict(PROBLEM.to_dict() | {"task": "pairs"} | given)


def test_weights_that_are_a_pipe_or_nowhere_are_refused(tmp_path):
    folder = tmp_path / "weights"
    folder.mkdir()
    os.mkfifo(folder / "config.json")
    (folder / "model.safetensors").write_bytes(b"")
    given = {"model": "gpt", "learner": "adam", "task": "pairs", "checkpoint": str(folder)}
    for _ in range(2):
        with pytest.raises(ProblemError, match="weights that can be read"):
            Problem.from_dict(PROBLEM.to_dict() | given)
        (folder / "config.json").unlink()
        (folder / "config.json").symlink_to("nowhere")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "is no JSON: Expecting property name"),
        (b"[" * 100_000, "is no JSON: it is nested too deep"),
        (b"[" + b"[]," * 4_000_000 + b"[]]", "has more than 4000000 parts"),
        (b"[1, 2]", "is no dictionary"),
        (b" " * (2**24 + 1), "is larger than 16 MiB; cut it into several"),
        (b"\xff\xfe", "is no JSON"),
    ],
)
def test_json_is_bounded_before_it_becomes_objects(content, sentence, tmp_path):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ProblemError, match=sentence):
        read_json(tmp_path / "config.json", "configuration", 2**24)


def test_json_is_read_from_regular_files_only(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "nothing"):
        with pytest.raises(ProblemError, match="cannot be read"):
            read_json(path, "configuration", 2**24)
