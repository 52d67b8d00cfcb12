from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

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
    for name in ("lock_accuracy", "recall_accuracy", "one_step_accuracy"):
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
        "key": None,
    }
    assert document["records"][0]["dtype"] == "float32"
    assert document["records"][0]["engine"] == "literal"


def test_an_endless_batch_and_scientific_notation(command):
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
    (options(width="1e13"), "GiB of memory"),
    (options(activation="relu"), "activation 'relu' needs an MLP to act in"),
    (options(width="8", activation="sine"), "activation must be one of relu, gelu, tanh"),
    (options(width="8", engine="counts"), "engine 'counts' is for attention alone"),
    (options(embedding="cube"), "embedding must be one of sphere, gaussian, rademacher"),
    (options(embedding="orthogonal"), "orthogonal embeddings need dim >= vocab + 1 = 65"),
    (options(embedding="missing.npz"), "cannot read embedding arrays from 'missing.npz'"),
    (options(embedding="arrays:0123456789abcdef"), "give these arrays as `embeddings`"),
    (options(regime="lazy"), "regime must be one of limit, literal, not 'lazy'"),
    (options(regime="literal"), "the literal regime needs eta"),
    (options(regime="literal", eta="0.1"), "the literal regime needs gamma"),
    (options(regime="literal", eta="0", gamma="1"), "eta must be a positive, finite number"),
    (options(regime="literal", eta="nan", gamma="1"), "eta must be a positive, finite number"),
    (
        options(regime="literal", eta="1", gamma="1", samples="inf"),
        "the literal regime needs a finite number of samples",
    ),
    (options(eta="0.1"), "eta has no meaning in the limit regime"),
    (options(engine="steam"), "engine must be one of auto, stream, counts, not 'steam'"),
    (options(samples="inf", engine="stream"), "leave the engine out"),
    (options(seed="-1"), "seed must be a whole number from 0"),
    (options(seed=str(2**63)), "seed must be a whole number from 0 to 2^63 - 1"),
    (options(seed=str(2**63 - 1), seeds="2"), "seed must be a whole number from 0"),
    (options(seeds="0"), "seeds must be a whole number from 1"),
    (options(seeds="x"), "seeds must be a whole number from 1 to 1000000, not 'x'"),
    (options(test_samples="0"), "test-samples must be a whole number from 1"),
    (options(dtype="float16"), "dtype must be one of float32, float64, not 'float16'"),
    (options(device="abacus"), "device 'abacus' cannot be used"),
    (options(depth="3"), "No such option: --depth"),
    ([*options(), "stray"], "unexpected extra argument"),
    (["--vocab"], "requires an argument"),
]


def check_malformed(cases):
    """In one process, with so little room that a large allocation would be noticed."""
    script = """
import contextlib, io, json, sys
from recallscope import cli
import recallscope.experiment, recallscope.progress, recallscope.intervals
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
def test_malformed_input_in_a_process_of_its_own(command, arguments, sentence):
    done = command("run", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_interrupt_stops_at_once():
    command = [sys.executable, "-m", "recallscope", "run", *options(samples="1e11", seeds="3")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(6)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        _, err = process.communicate(timeout=30)
    assert time.monotonic() - started < 2
    assert process.returncode == 130
    assert err.endswith("recallscope: stopped\n")
    assert "Traceback" not in err


def test_bench_prints_the_ratios(command):
    done = command("bench", *options(), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    for name in ("speedup_over_autograd", "fraction_of_bare", "literal_fraction_of_bare"):
        assert document[name] > 0
    assert "autograd's speed" in command("bench", *options()).stdout
    assert command("bench", *options(samples="inf")).returncode == 2
    assert "bench holds a batch of" in command("bench", *options(samples="1e13")).stderr


def test_no_arguments_at_all_is_a_cry_for_help(command):
    done = command()
    assert done.returncode == 0
    assert done.stdout.startswith("Usage:")
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["bench", "--help"]])
def test_help_shows_how_and_needs_no_torch(command, arguments):
    done = command(*arguments)
    assert done.returncode == 0
    assert arguments == ["--help"] or "Examples:" in done.stdout


def test_version_and_light_imports():
    script = (
        "import sys, recallscope, recallscope.cli; recallscope.Problem; recallscope.Task;"
        "assert 'torch' not in sys.modules; print(recallscope.__version__)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there_and_documented():
    import recallscope

    assert len(recallscope.__all__) <= 25
    for name in recallscope.__all__:
        assert ">>>" in getattr(recallscope, name).__doc__, name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        recallscope.nothing  # noqa: B018
