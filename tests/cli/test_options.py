"""Options: their help, completion in shells, units of sizes, and mistakes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from recallscope.cli import ablate, options
from recallscope.measure.ablation import ABLATIONS
from recallscope.problem.axes import SIZES, parse_axis
from recallscope.problem.metrics import ACCURACIES, accuracy_name
from recallscope.sweeps.executors.workers import EXECUTORS
from recallscope.three_step.cost import ENGINES

PROBLEM = ("--vocab", "64", "--samples", "512", "--dim", "16", "--length", "4")


def test_choices_are_those_of_the_code_that_uses_them(command):
    assert set(options.SIZES) == set(SIZES)
    assert options.ENGINES == ENGINES
    assert options.EXECUTORS == EXECUTORS
    assert {accuracy_name(short) for short in options.ACCURACIES} == set(ACCURACIES)
    assert set(ablate.NAMES) == set(ABLATIONS)


@pytest.mark.parametrize(
    "name", ["run", "predict", "solve", "check", "critical", "fit", "phase", "ablate", "sweep"]
)
def test_help_lists_choices_defaults_and_units(command, name):
    said = " ".join(command(name, "--help").stdout.partition("Options:")[2].split())
    listed = {
        "--embedding": ("gaussian, orthogonal, rademacher, sphere", "[default: sphere]"),
        "--regime": ("limit, literal.", "[default: limit]"),
        "--learner": ("three-step", "[default: three-step]"),
        "--for": ("vocab, samples, dim, length, width",),
        "--executor": ("serial, processes, ray", "[default: serial]"),
        "--dtype": ("float32, float64", "[default: float"),
        "--accuracy": ("recall, attention, first-gradient", "[default: "),
        "--target": ("between 0 and 1", "[default: "),
    }
    said = f" {said}".replace("three- step", "three-step")  # a line may end at a hyphen
    present = [flag for flag in listed if f" {flag} " in said]
    assert len(present) >= (1 if name == "sweep" else 3)
    for flag in present:
        entry = said.partition(f" {flag} ")[2]
        for text in listed[flag]:
            assert 0 <= entry.find(text) < 150, (flag, text)
    assert "k = 1000" in said


def test_the_list_of_commands_is_quick():
    """It imports nothing slow: no numpy, no tables, no metadata of other packages."""
    script = (
        "import sys; sys.argv = ['recallscope', '--help']\n"
        "from recallscope.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "slow = {'torch', 'numpy', 'rich', 'pydantic', 'importlib.metadata'}\n"
        "assert not slow & set(sys.modules), slow & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Run one experiment" in done.stdout


COMPLETED = [
    ("run --embedding ", {"gaussian", "orthogonal", "rademacher", "sphere"}),
    ("run --activation ", {"relu", "gelu", "tanh", "quadratic", "identity", "centred-relu"}),
    ("run --learner ", {"three-step", "gradient-descent"}),
    ("run --dtype ", {"float32", "float64"}),
    ("run --engine ", {"auto", "stream", "counts"}),
    ("solve --for ", set(SIZES)),
    ("critical --accuracy ", {"recall", "attention", "first-gradient"}),
    ("phase --executor ", {"serial", "processes", "ray"}),
    ("ablate m", {"mlp"}),
    ("records compact --drop ", {"failed", "infeasible", "conflicting", "damaged"}),
    ("rec", {"records"}),
    ("records ", {"list", "compact", "merge", "export"}),
    ("run --trigger", {"--trigger-in-values"}),
    ("run --learner adam --field ", {"schedule=", "weight_decay="}),
    ("parts lea", {"learner"}),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_options_and_choices(command, monkeypatch, shell):
    monkeypatch.setenv("_RECALLSCOPE_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    for typed, expected in COMPLETED:
        line = f"recallscope {typed}"
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        said = command().stdout
        if shell == "zsh":  # one line of quoted words, some with help behind a colon
            found = {word for word in said.split('"')[1::2] if word in expected}
        else:
            found = {line.partition("\t")[0] for line in said.splitlines()} & expected
        assert found == expected, (typed, said)
        assert "{" not in said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_the_command(command, monkeypatch, shell):
    monkeypatch.setenv("_RECALLSCOPE_COMPLETE", f"source_{shell}")
    assert f"_RECALLSCOPE_COMPLETE=complete_{shell} " in command().stdout + " "


@pytest.mark.parametrize(
    ("text", "size"),
    [("50k", 50_000), ("1M", 10**6), ("1.5B", 1_500_000_000), ("1e6", 10**6), ("1_000", 1000)],
)
def test_sizes_have_units(command, text, size):
    done = command("predict", *PROBLEM, "--samples", text, "--json")
    assert json.loads(done.stdout)["problem"]["samples"] == size
    assert parse_axis(f"samples=1:{text}:3").values[-1] == size
    assert parse_axis(f"samples=1,{text}").values[-1] == size


def test_counts_have_units_too(command):
    done = command("run", *PROBLEM, "--seed", "1k", "--test-samples", ".1k", "--json")
    (record,) = json.loads(done.stdout)["records"]
    assert (record["seed"], record["test_samples"]) == (1000, 100)


MISTAKES = [
    (
        ("run", "--vocab", "1m"),
        "vocab must be a whole number from 2 to 2^53, not '1m'; did you mean 1M?",
    ),
    (("run", "--vocab", "1.5b"), "not '1.5b'; did you mean 1.5B?"),
    (("run", "--vocab", "50K"), "not '50K'; did you mean 50k?"),
    (("run", "--seeds", "1m"), "not '1m'; did you mean 1M?"),
    (("run", "--embedding", "spere"), "not 'spere'; did you mean sphere?"),
    (("run", "--learner", "three_step"), "not 'three_step'; did you mean three-step?"),
    (("run", "--regime", "litteral"), "not 'litteral'; did you mean literal?"),
    (("run", "--dtype", "floot32"), "not 'floot32'; did you mean float32?"),
    (("run", "--engine", "steam"), "not 'steam'; did you mean stream?"),
    (("run", "--field", "kk=3"), "unknown field 'kk'"),
    (("solve", "--for", "sample"), "not 'sample'; did you mean samples?"),
    (("solve", "--for", "dim", "--accuracy", "recal"), "not 'recal'; did you mean recall?"),
    (("critical", "--for", "dim", "--executor", "proceses"), "did you mean processes?"),
    (("records", "compact", "--drop", "faild"), "not 'faild'; did you mean failed?"),
    (
        ("run", "--vocb", "3"),
        "No such option: --vocb; did you mean --vocab? See recallscope run --help",
    ),
    (("rnu",), "No such command 'rnu'; did you mean run? See recallscope --help"),
    (("records", "lst"), "did you mean list? See recallscope records --help"),
    (
        ("records", "list", "--stor", "a"),
        "did you mean --store? See recallscope records list --help",
    ),
    (("run", "--zzz"), "No such option: --zzz; see recallscope run --help"),
    (("train", "--weight-decay", "1"), "a field of a part is given as --field weight_decay=VALUE"),
    (("run", "--seed"), "requires an argument; see recallscope run --help"),
    (("solve",), "Missing option '--for' or '--within'; see recallscope solve --help"),
    (("run", "stray"), "see recallscope run --help"),
]


@pytest.mark.parametrize(("asked", "sentence"), MISTAKES, ids=lambda value: str(value)[:40])
def test_a_mistake_names_what_was_probably_meant(command, asked, sentence):
    taken = asked[0] in ("run", "solve", "critical") and len(asked) > 2
    done = command(asked[0], *(PROBLEM if taken else ()), *asked[1:])
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_store_of_records_is_named_after_the_command_or_before(command):
    said = [
        command("records", *asked) for asked in (("list", "--store", "x"), ("--store", "x", "list"))
    ]
    assert said[0].stderr == said[1].stderr
    assert "there is no store at 'x'" in said[0].stderr
    assert "--store" not in command("records", "--help").stdout
    assert "--store" in command("records", "list", "--help").stdout
