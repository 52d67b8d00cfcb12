from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch

from recallscope.cli.progress import ProgressDisplay
from recallscope.plot.result import Result

PLANE = ("--vocab", "64", "--length", "4")
SIZES = {"--vocab": "64", "--samples": "512", "--dim": "16", "--length": "4"}


def options(**changes):
    given = SIZES | {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    return [word for pair in given.items() if pair[1] is not None for word in pair]


def test_run_prints_one_json_document(command):
    done = command("run", *options(seed="3", seeds="2", test_samples="100"), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document) == {"problem", "records", "summary"}
    assert document["problem"]["vocab"] == 64
    assert len(document["problem"]["key"]) == 32
    assert [record["seed"] for record in document["records"]] == [3, 4]
    for record in document["records"]:
        assert record["status"] == "ok"
        assert record["test_samples"] == 100
        assert record["elapsed_seconds"] > 0
    for name in ("attention_accuracy", "recall_accuracy", "first_gradient_accuracy"):
        interval = document["summary"][name]
        assert 0 <= interval["low"] <= interval["mean"] <= interval["high"] <= 1


def test_run_prints_a_table_for_people(command):
    done = command("run", *options(seeds="2"))
    assert done.returncode == 0, done.stderr
    assert "recall accuracy" in done.stdout
    assert "95 % interval" in done.stdout
    assert "from 2 seeds tested on 4096 fresh samples each" in done.stdout


def test_all_options_reach_the_problem(command):
    done = command(
        "run",
        *options(width="8", activation="tanh", embedding="gaussian", regime="literal", eta="0.1"),
        *("--gamma", "1e3", "--trigger-in-values", "--dtype", "float32", "--json"),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["problem"] | {"key": None} == {
        "vocab": 64,
        "samples": 512,
        "dim": 16,
        "length": 4,
        "width": 8,
        "activation": "tanh",
        "embedding": "gaussian",
        "trigger_in_values": True,
        "regime": "literal",
        "eta": 0.1,
        "gamma": 1000.0,
        "task": "recall",
        "model": "transformer",
        "learner": "three-step",
        "metrics": [],
        "key": None,
    }
    assert document["records"][0]["dtype"] == "float32"
    assert document["records"][0]["engine"] == "literal"


def test_infinite_samples_and_scientific_notation(command):
    done = command("run", *options(samples="inf", vocab="1e2"), "--json")
    assert json.loads(done.stdout)["problem"]["samples"] == "inf"
    assert json.loads(done.stdout)["problem"]["vocab"] == 100


def test_own_arrays_come_from_a_file(command, tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"tokens": (64, 16), "outputs": (64, 16), "trigger": 16, "end": 16}
    np.savez(tmp_path / "own.npz", **{k: rng.standard_normal(s) / 4 for k, s in arrays.items()})
    done = command("run", *options(embedding=str(tmp_path / "own.npz")), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problem"]["embedding"].startswith("arrays:")
    given = ("--embedding", str(tmp_path / "own.npz"), "--vocab", "64", "--dim", "16", "--json")
    done = command("critical", "--for", "samples", *given, "--length", "4", "--budget", "8")
    assert json.loads(done.stdout)["without_theory"] == "no closed form for your arrays"
    assert json.loads(done.stdout)["failures"] == 0
    plane = ("--x", "length=2,4", "--y", "samples=64,512", "--seeds", "1")
    done = command("phase", *plane, *given, "--executor", "processes", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["without_theory"] == "no closed form for your arrays"
    assert all(cell["mean"] is not None for cell in json.loads(done.stdout)["cells"])
    done = command("critical", "--for", "dim", *given, "--length", "4", "--samples", "64")
    assert done.returncode == 2
    assert "your arrays have one dim only; vary samples, length or width" in done.stderr


@pytest.mark.parametrize("name", ["run", "critical", "fit", "phase", "solve", "check", "ablate"])
def test_files_of_arrays_are_offered_where_they_are_taken(command, name):
    assert ("FILE.npz" in command(name, "--help").stdout) == (
        name in ("run", "critical", "fit", "phase")
    )


@pytest.mark.parametrize("asked", [["run"], ["solve", "--for", "dim"], ["ablate"], ["predict"]])
def test_one_array_alone_is_refused_with_what_else_is_needed(command, asked):
    done = command(*asked, *options(embedding="wte.npy"))
    assert done.returncode == 2
    assert "not one in 'wte.npy': make it by np.savez('own.npz', tokens=…, outputs=…" in done.stderr
    assert "trigger and end vectors of dim numbers" in done.stderr
    assert done.stderr.count("\n") == 1


MALFORMED = [
    (options(vocab="-5"), "vocab must be a whole number from 2 to 2^53, not -5"),
    (options(vocab="1"), "vocab must be a whole number"),
    (options(vocab="nan"), "vocab must be a whole number from 2 to 2^53, not nan"),
    (options(vocab="inf"), "vocab must be a whole number"),
    (options(vocab="many"), "vocab must be a whole number from 2 to 2^53, not 'many'"),
    (options(vocab=None), "vocab is missing"),
    (options(vocab="1e30"), "vocab must be a whole number from 2 to 2^53, not 1e+30"),
    (options(vocab="9" * 5000), "vocab must be a whole number"),
    (options(vocab="1e12"), "GiB of memory for vocab=1000000000000"),
    (options(vocab=""), "vocab must be a whole number from 2 to 2^53, not ''"),
    (options(samples="0"), "samples must be a whole number from 1 to 2^53, or inf, not 0"),
    (options(samples="nan"), "samples must be a whole number from 1 to 2^53, or inf, not nan"),
    (options(samples="-inf"), "or inf, not -inf"),
    (options(samples="2.5"), "samples must be a whole number from 1 to 2^53, or inf, not 2.5"),
    (options(samples=None), "samples is missing"),
    (options(dim="0"), "dim must be a whole number from 1 to 2^53, not 0"),
    (options(dim="1e14"), "GiB of memory for vocab=64, dim=100000000000000"),
    (options(dim=None), "dim is missing"),
    (options(length="0"), "length must be a whole number from 1 to 2^53, not 0"),
    (options(length="1e13"), "GiB of memory for vocab=64, dim=16, length=10000000000000"),
    (options(length=None), "length is missing"),
    (options(width="0"), "width must be a whole number from 1 to 2^53, not 0"),
    (options(width="3.25"), "not 3.25; that of a figure is --figure-width INCHES"),
    (options(width="1e13"), "GiB of memory"),
    (options(activation="relu"), "activation 'relu' needs an MLP to act in"),
    (options(width="8", activation="sine"), "activation must be one of relu, gelu, tanh"),
    (options(width="8", engine="counts"), "engine 'counts' is for attention alone"),
    (options(embedding="cube"), "embedding must be one of gaussian, orthogonal, rademacher"),
    (options(embedding="orthogonal"), "orthogonal embeddings of 64 tokens and a trigger need dim"),
    (options(embedding="missing.npz"), "cannot read embedding arrays from 'missing.npz'"),
    (options(embedding="arrays:0123456789abcdef"), "give these arrays as `embeddings`"),
    (options(regime="lazy"), "regime must be one of limit, literal, not 'lazy'"),
    (options(regime="literal"), "the literal regime needs eta"),
    (options(regime="literal", eta="0.1"), "the literal regime needs gamma"),
    (options(regime="literal", eta="0", gamma="1"), "eta must be a positive number below 1e300"),
    (options(regime="literal", eta="nan", gamma="1"), "eta must be a positive number below 1e300"),
    (
        options(regime="literal", eta="1", gamma="1", samples="inf"),
        "the literal regime needs a finite number of samples",
    ),
    (options(eta="0.1"), "eta has no meaning in the limit regime"),
    (options(engine="steam"), "engine must be one of auto, stream, counts, reference, not 'steam'"),
    (options(samples="inf", engine="stream"), "leave the engine out"),
    (options(seed="-1"), "seed must be a whole number from 0"),
    (options(seed=str(2**63)), "seed must be a whole number from 0 to 2^63 - 1"),
    (options(seed=str(2**63 - 1), seeds="2"), "seed must be a whole number from 0"),
    (options(seeds="0"), "seeds must be a whole number from 1"),
    (options(seeds="x"), "seeds must be a whole number from 1 to 1000000, not 'x'"),
    (options(test_samples="0"), "test-samples must be a whole number from 1"),
    (options(dtype="float16"), "dtype must be one of float32, float64, not 'float16'"),
    (options(device="abacus"), "device 'abacus' cannot be used"),
    (options(depth="3"), "No such option"),
    ([*options(), "stray"], "unexpected extra argument"),
    (["--vocab"], "requires an argument"),
]


def check_malformed(cases):
    """In one process, with so little memory that a large allocation would be noticed."""
    script = """
import contextlib, io, json, sys
from recallscope.cli import main as cli
import recallscope.experiment.experiment, recallscope.cli.progress, recallscope.statistics.intervals
outcomes = []
for arguments in json.load(sys.stdin):
    sys.argv = ["recallscope", "run", *arguments]
    out, err = io.StringIO(), io.StringIO()
    code = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
    outcomes.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(outcomes))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps([arguments for arguments, _ in cases]),
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (2**32, 2**32)),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_malformed_input_is_one_clear_sentence_and_exit_code_2():
    assert len(MALFORMED) >= 30
    for (arguments, sentence), (code, out, err) in zip(
        MALFORMED, check_malformed(MALFORMED), strict=True
    ):
        assert code == 2, (arguments, err)
        assert out == "", arguments
        assert sentence in err, arguments
        assert err.startswith("recallscope: "), arguments
        assert err.count("\n") == 1, arguments
        assert len(err) < 400, arguments


@pytest.mark.parametrize(("arguments", "sentence"), [MALFORMED[0], MALFORMED[8], MALFORMED[-1]])
def test_malformed_input_in_a_separate_process(command, arguments, sentence):
    done = command("run", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_interrupt_stops_a_run_that_would_take_hours():
    asked = [*options(samples="1e11", seeds="3"), "--yes"]
    command = [sys.executable, "-m", "recallscope", "run", *asked]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert re.fullmatch(r"recallscope: about [\d.]+ h\n", process.stderr.readline())
        # The first line of progress: learning is under way, however long the start took.
        assert process.stderr.readline().startswith("3 seeds: ")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith("recallscope: stopped\n")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "instead"),
    [
        (["run", *options(samples="1e12")], "ask for --samples inf"),
        (["ablate", *options(samples="1e12")], "take less of it"),
        (
            ["critical", "--for", "dim", *options(samples="1e12", dim=None)],
            "give a smaller --budget",
        ),
        (["phase", "--x", "dim=8,16", "--y", "samples=1e12,2e12", *PLANE], "take less of it"),
    ],
)
def test_a_run_of_hours_needs_a_yes(command, arguments, instead):
    done = command(*arguments)
    assert done.returncode == 2
    assert re.fullmatch(
        r"recallscope: this is predicted to take about [\d.]+ h; give --yes to run it "
        rf"anyway, or {instead}\n",
        done.stderr,
    )


def test_the_time_left_is_shown_once_some_of_the_work_is_done(monkeypatch, capsys):
    clock = iter([0.0, 11.0, 22.0, 33.0])
    monkeypatch.setattr("recallscope.cli.progress.time.monotonic", lambda: next(clock))
    with ProgressDisplay("sweep") as display:
        for done in (0.1, 4.9, 50.0):
            display.update(done, 100)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "sweep: 0%, estimating",
        "sweep: 5%, estimating",
        "sweep: 50%, about 33 s left",
    ]


def test_the_first_seconds_show_no_time(monkeypatch, capsys):
    clock = iter([0.0, 11.0, 22.0])
    monkeypatch.setattr("recallscope.cli.progress.time.monotonic", lambda: next(clock))
    with ProgressDisplay("sweep") as display:
        display.update(40.0, 100, elapsed=0.2)  # the workers have just started
        display.update(50.0, 100, elapsed=10.0)  # their start does not count as work
    said = capsys.readouterr().err.splitlines()
    assert said == ["sweep: 40%, estimating", "sweep: 50%, about 10 s left"]


def test_predict_prints_one_json_document(command):
    done = command("predict", *options(width="32", activation="gelu"), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["problem"]["activation"] == "gelu"
    assert set(document["prediction"]) == {
        "attention_accuracy",
        "recall_accuracy",
        "first_gradient_accuracy",
    }
    assert set(document["noise"]) == {"first_gradient", "attention", "recall"}
    for terms in document["noise"].values():
        assert all(set(term) == {"variance", "share"} for term in terms.values())
    assert set(document["dominant"]) == {"stage", "term"}
    assert set(document["exponents"]) == {"vocab", "samples", "dim", "length", "width"}


def test_predict_for_people_and_far_away(command):
    far = options(vocab="1e9", samples="1e13", dim="16384", length="1e6")
    done = command("predict", *far)
    assert done.returncode == 0, done.stderr
    assert "Bottleneck: interference of recall, as vocab^1 · dim^-2." in done.stdout


def test_solve_finds_a_size_or_says_why_not(command):
    sizes = options(vocab="512", samples=None, dim="128", length="16")
    done = command("solve", "--for", "samples", "--target", "0.9", *sizes, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["status"] == "ok"
    assert document["problem"]["samples"] == document["value"] > 512
    assert document["prediction"]["recall_accuracy"] >= 0.9
    done = command("solve", "--for", "samples", "--target", "0.999", *options(vocab="4096"))
    assert done.returncode == 1
    assert "raise dim or lower vocab" in done.stdout
    done = command(
        "solve", "--for", "samples", "--target", "0.999", *options(vocab="4096"), "--json"
    )
    assert json.loads(done.stdout)["status"] == "not_reached"


def test_bound_shows_its_parts_and_what_it_leaves_out(command):
    done = command("bound", *options(), "--json")
    assert done.returncode == 0, done.stderr
    bound = json.loads(done.stdout)["bound"]
    assert bound["samples"] == max(
        bound["gradient_samples"], bound["counting_samples"], bound["coverage_samples"]
    )
    assert "Three-step gradient descent" in bound["not_covered"]
    assert "needs N ≥" in command("bound", *options()).stdout


def test_bound_shows_what_it_is_to_be_compared_with(command):
    said = command("bound", "--vocab", "512", "--dim", "128", "--length", "32").stdout
    assert "needs N ≥ 1909" in said
    assert re.search(r"the first-gradient readout\s*│\s*12,887", said)
    assert re.search(r"three steps\s*│\s*660", said)
    assert "Three steps may need less than the bound" in said


def test_predict_has_a_row_for_three_steps_and_one_for_training(command):
    said = command(
        "predict", "--vocab", "512", "--samples", "8192", "--dim", "64", "--length", "32"
    )
    assert re.search(
        r"│ three gradient steps │ 0\.3242 │ 0\.30.. to 0\.33.. │ tested │", said.stdout
    )
    assert re.search(r"│ training by adam\s+│ 0\.99.. │ 0\.97.. to 1\.0000 │ tested │", said.stdout)


def test_check_writes_a_table_and_a_figure(command, tmp_path):
    figure = tmp_path / "check.svg"
    done = command("check", *options(), "--seeds", "2", "--figure", str(figure))
    assert done.returncode in (0, 1), done.stderr
    assert "Ratio: measured over predicted" in done.stdout
    assert figure.read_text().startswith("<?xml")


@pytest.mark.parametrize("flags", [("--version", "--verbose"), ("--verbose", "--version")])
def test_a_verbose_version_has_bibtex(command, flags):
    done = command(*flags)
    assert done.returncode == 0
    assert done.stdout.startswith(command("--version").stdout)
    assert "2603.15923" in done.stdout
    assert f"torch {version('torch')}" in done.stdout
    assert "GPUs: 0" in done.stdout or torch.cuda.is_available()
    assert done.stdout.count("{") == done.stdout.count("}")


def test_verbose_alone_is_refused(command):
    done = command("--verbose", "bound", *options())
    assert (done.returncode, done.stdout) == (2, "")
    assert "--verbose goes with --version" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["predict", *options(dim="0")], "dim must be a whole number"),
        (["solve", "--for", "dim", *options(regime="literal", eta="1", gamma="1")], "limit regime"),
        (
            ["solve", "--for", "dim", *options(embedding="arrays:0123456789abcdef")],
            "no closed form",
        ),
        (["solve", *options()], "--for"),
        (["solve", "--for", "depth", *options()], "an axis is one of vocab, samples"),
        (["solve", "--for", "dim", *options(target="2")], "between 0 and 1"),
        (["solve", "--for", "dim", *options(target="high")], "between 0 and 1"),
        (["solve", "--for", "dim", *options(accuracy="speed")], "accuracy must be one of"),
        (["bound", *options(target="0")], "accuracy"),
        (["check", *options(seeds="1")], "seeds must be a whole number"),
        (["check", *options(figure="check.gif")], "written as"),
        (["check", *options(samples="1e9")], "choose a smaller problem"),
        (["check", *options(vocab="4", samples="100")], "vocab of at least 16"),
        (["check", *options(figure="/proc/check.png")], "figure"),
        (["predict", *options(embedding="own.npz")], "cannot read embedding arrays"),
        (["solve", "--for", "dim", *options(vocab="abc", embedding="orthogonal")], "vocab must be"),
    ],
)
def test_malformed_questions_to_the_theory(command, arguments, sentence):
    done = command(*arguments)
    assert done.returncode == 2
    *before, said = done.stderr.splitlines()
    assert sentence in said
    assert all("%" in line or "soon" in line for line in before)  # progress, on a slow machine


def test_without_arguments_help_is_shown(command):
    done = command()
    assert done.returncode == 0
    assert done.stdout.startswith("Usage:")
    assert done.stderr == ""


def test_parts_lists_the_fields_of_a_part_with_help_default_and_range(command):
    listed = command("parts", "learner", "adam").stdout
    assert "  steps=1000  (int from 0 to 1e+07)\n      The most steps" in listed
    assert "  schedule=constant  (constant, cosine, warmup)" in listed
    assert "adam" in command("parts").stdout
    found = json.loads(command("parts", "metric", "recall-at-k", "--json").stdout)
    assert found["recall-at-k"]["k"]["default"] == 5
    wrong = command("parts", "learner", "adm")
    assert wrong.returncode == 2
    assert "did you mean adam?" in wrong.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["check", "--help"]])
def test_help_shows_how_and_needs_no_torch(command, arguments):
    done = command(*arguments)
    assert done.returncode == 0
    assert arguments == ["--help"] or "Examples:" in done.stdout


def test_a_mistake_in_a_problem_is_reported_before_torch_is_loaded():
    """Loading it takes seconds; one process for all commands that need it later."""
    script = (
        "import sys; from recallscope.cli import main as cli\n"
        "for call in ('run', 'train', 'critical --for samples', 'ablate',"
        " 'phase --x dim=8,16 --y samples=8,16', 'fit --for samples --vary dim=8,16 --dim 8'):\n"
        "    sys.argv = ['recallscope', *call.split(), '--embedding', 'sphre', '--vocab', '9',"
        " '--length', '4']\n"
        "    try: cli.main()\n"
        "    except SystemExit as error: assert error.code == 2\n"
        "    assert 'torch' not in sys.modules, call"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("did you mean sphere") >= 3


def test_version_and_light_imports():
    script = (
        "import sys, recallscope, recallscope.cli.main; recallscope.Problem; recallscope.Task;"
        "assert 'torch' not in sys.modules; print(recallscope.__version__)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there_and_documented():
    import recallscope

    assert len(recallscope.__all__) <= 66
    parts = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    for name in recallscope.__all__:
        named = getattr(recallscope, name)
        # Examples of functions show what they return; the page on parts shows the parts.
        shown = isinstance(named, type) and issubclass(named, Result)
        shown = shown or name in parts or name == "Setup"
        if not shown:
            assert ">>>" in named.__doc__, name
    with pytest.raises(AttributeError, match="No recallscope attribute nothing"):
        recallscope.nothing  # noqa: B018
