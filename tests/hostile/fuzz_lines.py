"""Command lines that nobody should give, run in this process.

A line is a list of arguments with a NUL between them. Honest long work is ended where its first
long run begins, and counted as long.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import fuzz_changes as changes
import typer.main
from fuzz_judge import BadError, Reader, pattern

from recallscope import Problem, ProblemError
from recallscope.cli.commands import COMMANDS, load_command

_MOST_LINES, _MOST_LETTERS = 8, 2500

PATHS = ["folder", "zero", "nowhere", "loop", "facts", "~", "/dev/zero", "/dev/full", "/dev/null"]
PATHS += ["/dev/stdin", "folder/a.csv", "folder.csv", "zero.csv", "zero.npz", "own.npz", "law.csv"]
PATHS += ["plane.csv", "out.csv", "out.png", "out.svg", "nowhere/out.pdf", "facts/out.csv"]
PATHS += ["sweep.toml", "a\nb.csv", "\x1b[31m.png", "\udcff.csv", "a" * 300 + ".csv", "config.json"]
PATHS += ["é" * 200 + ".png", "x/" * 3000 + "a.csv", "a" * 300 + ".npz", "a" * 10**4]
PATHS += ["out.html", "out.tex", "out.parquet", "pipe", "words.txt"]
_KINDS = [
    "generic",
    "zip",
    "memory",
    "file",
    "local",
    "tar",
    "simplecache",
    "reference",
    "data",
    "nothing",
]
"""Without those that ask a server, which is what they are for."""
PLACES = [*PATHS, *(f"{kind}://{name}" for kind in _KINDS for name in ("a/b", "", "facts"))]
PLACES += ["://", "zip://a::facts", "::", "nothing://x", "file:///dev/zero"]
AXES = ["dim=8:16:2", "samples=32,64", "dim=1:9007199254740992:1000", "samples=1:1e15:1000", "dim="]
AXES += ["=1", "dim=8:8:8", "dim=nan:inf:3", "x=1:2:3", "dim=a", "length=1:2", "dim=1:2:3:4"]
AXES += ["vocab=1:99999:999", "samples=inf", "dim", "width=" + "9" * 400]
AXES += ["dim=" + ",".join(map(str, range(1, 2000)))]
_NAMES = {
    "--executor": "serial processes ray",
    "--engine": "auto stream counts",
    "--dtype": "float32 float64 float16",
    "--device": "cpu cuda meta mps",
    "--address": "auto localhost:1 ray://x",
    "--field": "k=5 k=-1 k= =5 vocab=3 k=nan config=config.json frequency_table=law.csv steps=3",
    "--task": "recall memory pairs relations biographies",
    "--model": "transformer gpt huggingface",
    "--learner": "three-step adam converged gd muon",
    "--metric": "recall-at-k recall recall-per-fact",
    "--regime": "limit literal",
    "--activation": "relu gelu tanh quadratic identity",
    "--embedding": "sphere gaussian rademacher orthogonal structured own.npz",
    "--accuracy": "recall attention first-gradient",
    "--for": "samples dim width vocab length facts rank exposures d-model",
    "--drop": "failed infeasible ok",
    "--method": "pretrain full lora memory",
    "--law": "three-step converged trained lora morris nichani",
    "--frequencies": "uniform zipf table",
}
_SIZES = {"--vocab": "32", "--samples": "64", "--dim": "8", "--length": "4"}
_RUNS = {"--test-samples": "64"}
_SEARCH = {"--for": "dim", "--vocab": "32", "--samples": "64", "--length": "4", "--budget": "8"}
_PLANE = {"--x": "dim=8,16", "--y": "samples=32,64", "--vocab": "32", "--length": "4"}
SOUND: dict[tuple[str, ...], dict[str, str]] = {
    ("plan",): {"--model": "config.json", "--rank": "8", "--facts": "50k", "--exposures": "100"},
    ("plan", "--json"): {"--d-model": "64", "--method": "memory", "--facts": "1k"},
    ("run",): _SIZES | _RUNS,
    ("train",): _SIZES | _RUNS | {"--steps": "3"},
    ("predict",): _SIZES,
    ("solve",): {"--for": "dim", "--vocab": "32", "--samples": "640", "--length": "4"},
    ("bound",): _SIZES,
    ("check",): _SIZES | {"--seeds": "2"},
    ("critical",): _SEARCH | _RUNS,
    ("fit",): _SEARCH | _RUNS | {"--dim": "8", "--for": "samples", "--vary": "dim=8,16,24"},
    ("phase",): _PLANE | _RUNS | {"--seeds": "2"},
    ("ablate", "trigger"): _SIZES | _RUNS | {"--seeds": "2"},
    ("explore", "--no-open"): {"--to": "out.html"},
    ("sweep", "sweep.toml", "--dry-run"): {"--store": "facts"},
    ("sweep", "sweep.toml"): {"--store": "facts"},
    ("fit", "--from", "law.csv"): {},
    ("phase", "--from", "plane.csv"): {},
    ("phase", "--from", "facts"): {"--x": "dim", "--y": "samples"},
    **{
        ("records", "--store", "facts", *name.split()): {}
        for name in (
            *("list", "verify", "repair", "compact", "merge facts"),
            "export a.csv",
        )
    },
}
_FILES = ("--table", "--figure", "--from", "--embedding", "--to", "--page", "--model", "--tokens")


class HonestButLongError(BaseException):
    """Past all checks, where work begins that nobody should wait for here."""


def _seeds() -> list[bytes]:
    """The sound lines; and what lies in the folder of each line."""
    _make_sound()
    return [
        "\0".join([*command, *(text for pair in given.items() for text in pair)]).encode()
        for command, given in SOUND.items()
    ]


def _make_sound() -> None:
    from fuzz_readers import _arrays, _configs, _laws, _planes

    if Path("sound").exists():
        return
    Path("sound").mkdir()
    here = Path.cwd()
    os.chdir("sound")
    Path("sweep.toml").write_text(
        "seeds = 2\ntest_samples = 64\n[problem]\nvocab = 32\nlength = 4\n"
        "[grid]\ndim = [8, 16]\nsamples = { from = 32, to = 64, count = 2 }\n"
    )
    Path("law.csv").write_bytes(_laws()[0])
    Path("plane.csv").write_bytes(_planes()[0])
    Path("own.npz").write_bytes(_arrays())
    Path("config.json").write_bytes(_configs()[0])
    for name in ("folder", "folder.csv"):
        Path(name).mkdir()
    for name in ("zero", "zero.csv", "zero.npz"):
        Path(name).symlink_to("/dev/zero")
    Path("loop").symlink_to("loop")
    called("sweep", "sweep.toml", "--store", "facts")
    os.chdir(here)


def called(*line: str) -> int:
    """Run a line in this process; its exit code."""
    from recallscope.cli.main import main

    sys.argv = ["recallscope", *line]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else -1
    return -1


@cache
def _options() -> dict[str, dict[str, bool]]:
    """The options of every command by its name, and whether they take a value."""
    from recallscope.cli.main import app

    found: dict[str, dict[str, bool]] = {}

    def visit(command: Any) -> None:
        for inner in getattr(command, "commands", {}).values():
            visit(inner)
        for each in command.params:
            for name in [*each.opts, *each.secondary_opts]:
                if name.startswith("--"):
                    takes = not getattr(each, "is_flag", False)
                    found.setdefault(command.name, {})[name] = takes

    for name in COMMANDS:
        visit(load_command(name))
    visit(app if hasattr(app, "params") else typer.main.get_command(app))
    return found


def _value(option: str, rng: random.Random) -> str:
    """A value for an option: mostly of the right kind, hostile or not."""
    pool = changes.NUMBERS
    if option == "--store":
        pool = PLACES
    elif option in _FILES and rng.random() < 0.8:
        pool = PATHS
    elif option in ("--x", "--y", "--vary"):
        pool = AXES
    elif option in _NAMES:
        pool = _NAMES[option].split() if rng.random() < 0.6 else changes.TEXTS
    elif rng.random() < 0.3:
        pool = [str(rng.randrange(1, 100)), str(rng.random())]
    if rng.random() < 0.05:
        pool = rng.choice([changes.NUMBERS, changes.TEXTS, PATHS, PLACES, AXES])
    return rng.choice(pool)


def _changed(content: bytes, rng: random.Random) -> bytes:
    """A sound line with some things changed."""
    line = content.decode(errors="surrogateescape").split("\0")
    if rng.random() < 0.1:
        line = _closed_form(rng)
    commands = [word for word in line if word in _options()]
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        values = [at for at in range(1, len(line)) if line[at - 1].startswith("--")]
        match rng.randrange(10):
            case 0 | 1 | 2 if values:
                at = rng.choice(values)
                line[at] = _value(line[at - 1], rng)
            case 3 | 4 | 5 | 6 | 7:
                own = _options()[commands[-1]] if commands and rng.random() < 0.9 else None
                options = own or {k: v for each in _options().values() for k, v in each.items()}
                name = rng.choice(list(options))
                line += [name, _value(name, rng)] if options[name] else [name]
            case 8:
                del line[rng.randrange(len(line))]
                line = line or ["predict"]
            case _:
                more = rng.choice([*changes.TEXTS, "--help", "--version", "--nope", "-x", "--json"])
                line.insert(rng.randrange(len(line) + 1), more)
    if rng.random() < 0.05:
        line[rng.randrange(len(line))] = rng.choice([*changes.TEXTS, *PATHS])
    # No program takes a NUL, and a page that opens is honest work.
    line = [text.replace("\0", "") for text in line if text not in ("--open", "../..")]
    return "\0".join(line).encode(errors="surrogateescape")


def _closed_form(rng: random.Random) -> list[str]:
    """Sizes of any order of magnitude, each of them allowed."""
    line = [rng.choice(["predict", "predict", "solve", "bound"]), "--json"]
    if line[0] == "solve":
        line += ["--for", rng.choice(["samples", "dim", "width", "vocab", "length"])]
        line += ["--target", str(rng.choice([0.5, 1e-9, 1 - 1e-9, rng.random()]))]
    for name in ("--vocab", "--samples", "--dim", "--length", "--width"):
        if name != "--width" or rng.random() < 0.5:
            line += [name, str(round(2 ** rng.uniform(name == "--vocab", 53)))]
    if "--width" in line:
        line += ["--activation", rng.choice(_NAMES["--activation"].split())]
    line += ["--embedding", rng.choice(["sphere", "gaussian", "rademacher"])]
    return [*line, *rng.choice([[], ["--trigger-in-values"]])]


_spent = Counter[str]()
_here = Path()


def _starts() -> None:
    """End lines where work begins that is honest and long."""
    global _here
    import peft  # noqa: F401 - what it imports asks for IPv6 at a socket, and makes a folder, once
    from matplotlib import font_manager  # noqa: F401 - it asks a program for fonts, once

    import recallscope.cli.main
    import recallscope.experiment.experiment as experiment
    import recallscope.measure.check_report as check
    import recallscope.planning.verify
    import recallscope.sweeps.executors.workers
    import recallscope.sweeps.jobs as jobs
    import recallscope.sweeps.runner as run_options
    import recallscope.sweeps.sharded
    from recallscope.three_step.cost import predict_cost

    _here = Path.cwd()
    _make_sound()
    _options()
    experiment._revision()
    # Made once, and not at every line: it is the larger part of a line's time.
    app = recallscope.cli.main.app
    if not hasattr(app, "params"):
        recallscope.cli.main.app = typer.main.get_command(app)  # type: ignore[assignment]

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(problem: Problem, *given: Any, **more: Any) -> Any:
            how = {name: more[name] for name in ("engine", "dtype", "test_samples") if name in more}
            try:
                experiment.check_memory(problem, **how)
                _spent["runs"] += 1
                cost = predict_cost(problem, **how)
                large = cost.seconds > 0.1 or cost.memory_bytes > 10**9
                if _spent["runs"] > 32 or not cost.known or large:
                    raise HonestButLongError
            except ProblemError:
                pass  # refused at once by the call itself
            return call(problem, *given, **more)

        return run

    def too_long(*given: Any, **more: Any) -> Any:
        raise HonestButLongError

    for original in (experiment.run, experiment.run_together):
        mine = guarded(original)
        for module in [each for name, each in sys.modules.items() if "recallscope" in name]:
            if getattr(module, original.__name__, None) is original:
                setattr(module, original.__name__, mine)
    measure = check.measure

    def small_only(problem: Problem, seed: int) -> Any:
        _spent["measured"] += problem.samples * max(
            problem.vocab, problem.length, problem.width or 0
        )
        if _spent["measured"] > 10**5 or seed > 100:
            raise HonestButLongError
        return measure(problem, seed)

    check.measure = small_only  # type: ignore[assignment]
    recallscope.planning.verify._trained = too_long  # type: ignore[assignment]
    recallscope.planning.verify.tempfile.TemporaryDirectory = too_long  # type: ignore[assignment]
    every = run_options.run_all

    def some_only(runs: Sequence[Any], *given: Any, **more: Any) -> Any:
        if len(runs) > 500:
            raise HonestButLongError
        return every(runs, *given, **more)

    run_options.run_all = some_only  # type: ignore[attr-defined]
    started = jobs.workers_of

    def serial_only(executor: Any, *given: Any, **more: Any) -> Any:
        if executor in ("processes", "ray"):
            recallscope.sweeps.executors.workers.check_executor(executor, *given)
            raise HonestButLongError
        return started(executor, *given, **more)

    jobs.workers_of = serial_only  # type: ignore[attr-defined]


def _put(content: bytes) -> None:
    """A folder of sound files, made again where a line has changed it."""
    os.chdir(_here)
    shutil.rmtree("line", ignore_errors=True)
    shutil.copytree("sound", "line", symlinks=True)
    os.mkfifo("line/pipe")
    os.chdir("line")


def _read(content: bytes) -> str:
    line = content.decode(errors="surrogateescape").split("\0")
    if any(re.match(r"(file://)?/(?!dev/)", text) for text in line):
        return "long"  # a folder of this machine that is given may be written to, but not here
    _spent.clear()
    out, err = _here / "out", _here / "err"
    kept = [os.dup(number) for number in (0, 1, 2)]
    nothing = os.open(os.devnull, os.O_RDONLY)
    outcome = ""
    code = 2
    try:
        with out.open("wb") as one, err.open("wb") as other:
            for number, file in enumerate((nothing, one.fileno(), other.fileno())):
                os.dup2(file, number)
            try:
                code = called(*line)
            except HonestButLongError:
                outcome = "long"
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        for number, file in enumerate(kept):
            os.dup2(file, number)
        for file in (nothing, *kept):
            os.close(file)
    if outcome:
        return outcome
    said = err.read_bytes()[: 10**6].decode(errors="replace")
    _judge(line, code, out, said)
    return f"exit {code} {pattern(said)}"


def _judge(line: list[str], code: int, out: Path, said: str) -> None:
    if code not in (0, 1, 2, 130):
        raise BadError("exit code", f"{code}: {said[:200]}", str(code))
    if "Traceback" in said or "Exception ignored" in said:
        raise BadError("traceback", said[-300:], said.strip().splitlines()[-1][:80])
    if "not enough memory" in said:
        raise BadError("above 2 GiB", said[:200], line[0])
    lines = [each for each in said.splitlines() if not each.startswith(("timing ", "step "))]
    if (
        len(lines) > _MOST_LINES
        or sum(map(len, lines)) > _MOST_LETTERS
        or "\x1b" in said
        or (code == 2 and not said)
        or "RuntimeWarning" in said
    ):
        raise BadError("not a sentence", said[:300], line[0])
    if "--json" in line and code in (0, 1) and out.stat().st_size < 10**7:
        text = out.read_text(errors="replace")
        if text.startswith(("{", "[")):
            try:
                json.loads(text, parse_constant=_no_number)
            except ValueError as error:
                raise BadError("not JSON", str(error)[:200], line[0]) from None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


LINES = Reader("command lines", _seeds, _changed, _put, _read, writes=True, starts=_starts)
