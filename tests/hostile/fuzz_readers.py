"""All that reads something from outside, with sound inputs and how they are changed."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import random
import shutil
import warnings
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import fuzz_changes as changes
import numpy as np
from fuzz_judge import Reader

import recallscope
from recallscope import Embeddings, Problem, ProblemError, Store

ROOT = Path(__file__).parents[2]
SMALL = {"vocab": 16, "samples": 40, "dim": 8, "length": 3}


def _put(name: str, content: bytes) -> None:
    Path(name).write_bytes(content)


def _text(content: bytes) -> str:
    return content.decode(errors="surrogateescape")


# Problems, sweep files, tables.


def _problems() -> list[bytes]:
    sizes = {"vocab": 32, "samples": 64, "dim": 8, "length": 4}
    more: list[dict[str, Any]] = [
        {"width": 16, "activation": "relu"},
        {"learner": "adam", "steps": 5, "batch": 8},
        {"regime": "literal", "eta": 0.1, "gamma": 3.0},
        {"metrics": ["recall-at-k"], "k": 5},
        {"learner": "converged", "task": "memory", "length": 1, "frequencies": "zipf"},
        {"model": "gpt", "learner": "adam", "heads": 2},
    ]
    problems = [Problem.from_dict({**sizes, **each}) for each in more]
    return [json.dumps(each.to_dict()).encode() for each in problems]


def _read_problem(content: bytes) -> None:
    try:
        fields = json.loads(_text(content))
    except (ValueError, RecursionError):
        return
    problem = Problem.from_dict(fields)
    _ = problem.key, problem.to_dict(), repr(problem)


def _sweeps() -> list[bytes]:
    fixed = "[problem]\nvocab = 32\nlength = 4\n"
    own = [
        f"seeds = 2\ntest_samples = 64\n{fixed}[grid]\ndim = [8, 16]\nsamples = "
        "{ from = 32, to = 64, count = 2 }\n",
        f"{fixed}dim = 8\n[critical]\nfor = 'samples'\nbudget = 8\ntarget = 0.5\n",
        f"{fixed}learner = 'adam'\nsteps = 10\n[zip]\ndim = [8, 9]\nsamples = [32, 64]\n",
    ]
    return [*(each.encode() for each in own), *_files("examples", "*.toml")]


def _files(folder: str, pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / folder).rglob(pattern))]


def _read_sweep(content: bytes) -> None:
    from recallscope.measure.sweep_file import read_sweep

    spec = read_sweep("own.toml")
    if spec.critical is not None:
        spec.searches((1, max(spec.size // 3, 1)))
    else:
        list(islice(spec.cells(), 20))


@cache
def _laws() -> list[bytes]:
    rows = [
        {"vocab": 64, "dim": d, "length": 16, "quantity": "samples", "target": 0.5}
        | {"accuracy": "recall_accuracy", "status": "ok", "value": 10**6 // d, "theory": 10**6 // d}
        | {"low": 980_000 // d, "high": 1_020_000 // d, "runs": 8}
        for d in (32, 48, 64, 96, 128)
    ]
    return [_csv(rows)]


def _planes() -> list[bytes]:
    rows = [
        {"vocab": 64, "samples": n, "dim": d, "length": 4, "x": "dim", "y": "samples"}
        | {"accuracy": "recall_accuracy", "target": 0.5, "tests": 1000, "right": "900 910"}
        | {"mean": 0.905, "low": 0.8, "high": 0.95, "infeasible": 0, "failed": 0}
        for n in (64, 256)
        for d in (16, 64)
    ]
    return [_csv(rows)]


def _csv(rows: list[dict[str, Any]]) -> bytes:
    from recallscope.common.csv_files import csv_text

    return csv_text(list(rows[0]), rows).encode()


def _read_law(content: bytes) -> None:
    from recallscope.common.csv_files import read_csv
    from recallscope.measure.scaling import scaling_from_rows

    found = scaling_from_rows(read_csv("own.csv")).expecting({})
    _ = found.to_dict(), found.rows(), str(found)
    if len(content) % 20 == 0:  # slow: for some of them
        found.figure_data()


def _read_plane(content: bytes) -> None:
    from recallscope.common.csv_files import read_csv
    from recallscope.measure.planes import from_rows

    for found in from_rows(read_csv("own.csv"))[:3]:
        _ = found.to_dict(), found.rows(), str(found)


def _counts() -> list[bytes]:
    return [b"[5, 3, 2, 1]", b"name,count\na,5\nb,3\nc,2\nd,1\n", b'{"a": [1, 2]}', b"4\n3\n2\n1\n"]


def _read_counts(content: bytes) -> None:
    name = "counts.json" if content.lstrip()[:1] in (b"[", b"{") else "counts.csv"
    _put(name, content)
    Problem.from_dict(
        {"vocab": 4, "samples": 64, "dim": 8, "length": 1, "task": "memory", "learner": "converged"}
        | {"frequencies": "table", "frequency_table": name}
    )


def _changed_counts(content: bytes, rng: Any) -> bytes:
    return (changes.of_json if content[:1] in (b"[", b"{") else changes.of_csv)(content, rng)


@cache
def _arrays() -> bytes:
    rng, content = np.random.default_rng(0), io.BytesIO()
    shapes = {"tokens": (32, 8), "outputs": (32, 8), "trigger": (8,), "end": (8,)}
    np.savez(content, **{name: rng.standard_normal(shape) for name, shape in shapes.items()})  # type: ignore[arg-type]
    return content.getvalue()


def _read_arrays(content: bytes) -> None:
    Embeddings.load("own.npz")


def _put_folder(content: bytes) -> None:
    """The files of a folder; nothing where it is no folder."""
    shutil.rmtree("folder", ignore_errors=True)
    Path("folder").mkdir()
    try:
        files = json.loads(content)
    except (ValueError, RecursionError):
        return
    for name, text in files.items() if isinstance(files, dict) else ():
        path = Path("folder", os.path.basename(name.replace("\0", ""))[:200] or "x")  # noqa: PTH119
        try:
            if path.exists() or path.is_symlink():
                continue
            if isinstance(text, str):
                path.write_bytes(text.encode("latin-1", errors="replace"))
            elif text == ["fifo"]:
                os.mkfifo(path)
            elif text == ["folder"]:
                path.mkdir()
            elif isinstance(text, list):
                path.symlink_to({"zero": "/dev/zero", "loop": path.name}.get(str(text[:1]), "none"))
        except (OSError, UnicodeEncodeError):
            continue


def _configs() -> list[bytes]:
    quantised = {"quantization_config": {"bits": 4}, "text_config": {"hidden_size": 64}}
    made = {"n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100, "model_type": "gpt2"}
    return [*_files("examples/models", "*.json"), json.dumps(made | quantised).encode()]


def _read_config(content: bytes) -> None:
    from recallscope.planning.shape import shape_from_config

    shape = shape_from_config("config.json")
    _ = shape.parameters, shape.adapter(8, shape.usual_modules()), shape.scaled(128).parameters
    if shape.parameters % 2000 < 3:  # slow: for some of them
        str(recallscope.plan(model="config.json", rank=8, facts=1000, exposures=10, progress=False))


def _stock_configs() -> list[bytes]:
    every: list[dict[str, Any]] = [
        {"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_positions": 64},
        {"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2}
        | {"intermediate_size": 16, "num_key_value_heads": 1, "max_position_embeddings": 64},
        {"model_type": "gpt_neox", "num_hidden_layers": 1, "num_attention_heads": 2}
        | {"intermediate_size": 16, "rotary_pct": 0.25, "hidden_act": "gelu"},
    ]
    return [json.dumps(each).encode() for each in every]


def _read_stock_config(content: bytes) -> None:
    """Read, and built without memory: a sound one may honestly need gibibytes to be tried."""
    from recallscope.model.parameters import parameters_of

    given = {**SMALL, "model": "huggingface", "learner": "adam", "steps": 1, "task": "pairs"}
    problem = Problem.from_dict(given | {"config": Path("config.json")})
    try:
        parameters_of(problem)
    except ProblemError:
        raise
    except Exception:  # of whatever kind in transformers: a run of it has the status failed
        return


# Stores, trainings, results.


@cache
def _cells() -> list[tuple[Problem, int]]:
    sizes = {"vocab": 32, "samples": 64, "length": 4}
    return [(Problem(**sizes, dim=dim), seed) for dim in (8, 16) for seed in (0, 1)]  # type: ignore[arg-type]


@cache
def _files_of_rows() -> list[bytes]:
    recallscope.sweep(_cells(), "sound", test_samples=64)
    trained = Problem(**SMALL, learner="adam", steps=2, metrics=("recall-per-fact",))  # type: ignore[arg-type]
    recallscope.sweep([(trained, 0)], "other", test_samples=64)
    return sorted(
        path.read_bytes() for each in ("sound", "other") for path in Path(each).glob("*.parquet")
    )


def _put_file_of_rows(content: bytes) -> None:
    """In the place of the rows of a store."""
    shutil.rmtree("facts", ignore_errors=True)
    shutil.copytree("sound", "facts")
    next(Path("facts").glob("*.parquet")).write_bytes(content)


def _logs() -> list[bytes]:
    recallscope.sweep(_cells(), "sound", test_samples=64)
    return [path.read_bytes() for path in sorted(Path("sound/_delta_log").glob("*.json"))]


def _put_log(content: bytes) -> None:
    """In the place of the last entry of the log of a store."""
    shutil.rmtree("facts", ignore_errors=True)
    shutil.copytree("sound", "facts")
    max(Path("facts/_delta_log").glob("*.json")).write_bytes(content)


def _changed_log(content: bytes, rng: random.Random) -> bytes:
    """One of its lines, each of which is JSON."""
    lines = content.split(b"\n")
    place = rng.randrange(len(lines))
    lines[place] = changes.of_json(lines[place], rng)
    return b"\n".join(lines)


def _read_store(content: bytes) -> None:
    store = Store("facts")
    listed = sum(1 for _ in store.records())
    if listed != store.table().num_rows or listed != len(store.statuses()):
        raise AssertionError(f"{listed} records")


def _revision() -> None:
    """Ask git now, once: what is watched later runs nothing."""
    import recallscope.experiment.experiment as experiment

    experiment._revision()


def _read_training(content: bytes) -> None:
    from recallscope.experiment.experiment import run

    problem = Problem(**SMALL, learner="adam", steps=3)  # type: ignore[arg-type]
    run(problem, 0, checkpoint=Path("half"), test_samples=16)


def _trainings() -> list[bytes]:
    """A training that was stopped after two steps."""
    from recallscope.experiment.experiment import run
    from recallscope.training import loop

    loop._SECONDS_BETWEEN_SAVES = 0.0
    problem = Problem(**SMALL, learner="adam", steps=3)  # type: ignore[arg-type]

    def stop(done: float, total: float) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        run(problem, 0, checkpoint=Path("half"), test_samples=16, progress=stop)
    loop._SECONDS_BETWEEN_SAVES = math.inf  # the reader writes nothing
    return [Path("half").read_bytes()]


def _weights() -> list[bytes]:
    """A folder with weights to begin with, for a small GPT and for one of transformers."""
    from safetensors.torch import save

    from recallscope.model.setup import Setup

    found = []
    for model in ("gpt", "huggingface"):
        config = json.loads(_stock_configs()[0])
        more = {"config": config} if model == "huggingface" else {"layers": 1}
        problem = Problem.from_dict(
            {**SMALL, "model": model, "learner": "adam", "steps": 1, "task": "pairs", **more}
        )
        module = problem.part("model").build(Setup(problem=problem, seed=0))
        tensors = {name: each.contiguous().clone() for name, each in module.state_dict().items()}
        files = {"model.safetensors": save(tensors, {"format": "pt"})}
        if model == "huggingface":
            config |= {"hidden_size": 8, "vocab_size": module.config.vocab_size}
            files["config.json"] = json.dumps(config).encode()
        found.append(changes.folder(files))
    return found


def _read_weights(content: bytes) -> None:
    from recallscope.experiment.experiment import run

    model = "huggingface" if Path("folder", "config.json").exists() else "gpt"
    more = {} if model == "huggingface" else {"layers": 1}
    given = {**SMALL, "model": model, "learner": "adam", "steps": 1, "task": "pairs", **more}
    problem = Problem.from_dict(given | {"checkpoint": "folder"})
    run(problem, 0, test_samples=16)


@cache
def _results() -> list[bytes]:
    problem = Problem(vocab=32, samples=64, dim=8, length=4)
    quick: dict[str, Any] = {"test_samples": 64, "progress": False}
    axes = {"x": "dim=8,16", "y": "samples=32,64"}
    found = [
        recallscope.predict(problem),
        recallscope.solve(problem, "dim"),
        recallscope.bound(problem),
        recallscope.capacity(problem),
        recallscope.run(problem, seeds=2, **quick),
        recallscope.critical(problem, "dim", budget=8, **quick),
        recallscope.fit(problem, "samples", ["dim=8,16"], budget=8, **quick),
        recallscope.phase(problem, **axes, seeds=2, **quick),
        recallscope.ablate(problem, ["trigger"], seeds=2, **quick),
        recallscope.plan(d_model=64, method="memory", facts=100, exposures=10, progress=False),
        recallscope.train(problem.replace(learner="adam", steps=2), **quick),
    ]
    return [
        json.dumps({"kind": type(each).__name__, "data": each.to_dict()}).encode() for each in found
    ]


def _result_kinds() -> dict[str, Any]:
    from recallscope.plot.result import Result

    return {each.__name__: each for each in _below(Result)}


def _below(kind: type) -> set[type]:
    return {kind}.union(*map(_below, kind.__subclasses__()))


def _read_result(content: bytes) -> None:
    try:
        given = json.loads(content)
        kind = _result_kinds()[given["kind"]]
        data = given["data"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return  # read by json, not by this package
    kind.from_dict(data)


def _records() -> list[bytes]:
    from recallscope.experiment.experiment import run

    return [json.dumps(run(*cell, test_samples=64).to_dict()).encode() for cell in _cells()[:2]]


def _read_record(content: bytes) -> None:
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        return
    recallscope.Record.from_dict(given)


def readers() -> dict[str, Reader]:
    """Every reader by its name."""
    from fuzz_lines import LINES

    warnings.simplefilter("ignore")
    put = {name: partial(_put, name) for name in ("own.toml", "own.csv", "own.npz")}
    config, half = (partial(_put, name) for name in ("config.json", "half"))
    nowhere = bytes
    weights = {".safetensors": changes.of_safetensors, ".npy": changes.of_npy}
    models = changes.of_folder({**weights, ".json": changes.of_json, ".txt": changes.of_text})
    every = [
        LINES,
        Reader("problems", _problems, changes.of_json, nowhere, _read_problem),
        Reader("sweep files", _sweeps, changes.of_toml, put["own.toml"], _read_sweep),
        Reader("tables of laws", _laws, changes.of_csv, put["own.csv"], _read_law),
        Reader("tables of planes", _planes, changes.of_csv, put["own.csv"], _read_plane),
        Reader("frequency tables", _counts, _changed_counts, nowhere, _read_counts, True),
        Reader(
            "embedding files", lambda: [_arrays()], changes.of_npz, put["own.npz"], _read_arrays
        ),
        Reader("configurations", _configs, changes.of_json, config, _read_config),
        Reader(
            "configurations of transformers",
            _stock_configs,
            changes.of_json,
            config,
            _read_stock_config,
        ),
        Reader("files of rows", _files_of_rows, changes.of_parquet, _put_file_of_rows, _read_store),
        Reader("logs", _logs, _changed_log, _put_log, _read_store),
        Reader(
            "checkpoints of trainings",
            _trainings,
            changes.of_safetensors,
            half,
            _read_training,
            starts=_revision,
        ),
        Reader("weights", _weights, models, _put_folder, _read_weights, starts=_revision),
        Reader("saved results", _results, changes.of_json, nowhere, _read_result),
        Reader("saved records", _records, changes.of_json, nowhere, _read_record),
    ]
    return {each.name: each for each in every}
