"""An edit of a user's code is refused by the name of the file, and workers need no folder."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from made_parts import made

from recallscope import Metric, Problem, ProblemError, Store, critical, sweep
from recallscope.common.source import MOST_FILES, source_of, unpack
from recallscope.experiment.cell import Settings
from recallscope.experiment.own import own_experiment
from recallscope.sweeps.executors.limits import Limits
from recallscope.sweeps.run_sweep import run_sweep

PROBLEM = Problem(vocab=16, samples=32, dim=8, length=2)
CELLS = [(PROBLEM, seed) for seed in range(2)]
CODE = {
    "train.py": """
        from helper import scale
        from parts.rates import RATE

        class Model:
            right = 0.25
            def answer(self):
                return self.right * scale()

        def train(problem, seed):
            return Model().answer() * RATE, 100

        def measure(setup, logits):
            return Model().answer()
        """,
    "helper.py": "def scale():\n    return 1.0\n",
    "parts/__init__.py": "",
    "parts/rates.py": "RATE = 1\n",
    "notes.txt": "0",
}
EDITS = {
    "the function": ("train.py", "* RATE, 100", "* RATE, 10000"),
    "a helper in the folder": ("helper.py", "1.0", "2.0"),
    "a helper in a package": ("parts/rates.py", "1", "2"),
    "a class attribute": ("train.py", "right = 0.25", "right = 0.5"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's, which a program can import from."""
    for name, text in CODE.items():
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(tmp_path / "mine"))
    return tmp_path / "mine"


def loaded(name: str = "train") -> ModuleType:
    """The user's module as a new process would load it."""
    for known in [*sys.modules]:
        if known.split(".")[0] in ("train", "helper", "parts", "package"):
            del sys.modules[known]
    importlib.invalidate_caches()
    return importlib.import_module(name)


def edit(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_refused_by_name_and_a_version_goes_on(what, folder, tmp_path) -> None:
    file, old, new = EDITS[what]
    store = tmp_path / "facts"
    assert sweep(CELLS, store, run=loaded().train).ran == 2
    assert sweep(CELLS, store, run=loaded().train).ran == 0
    edit(folder, file, old, new)
    train = loaded().train
    said = f"records of train from before {file} was edited; to run it as it is now, give it a vers"
    with pytest.raises(ProblemError, match=said):
        sweep(CELLS, store, run=train)
    with pytest.raises(ProblemError, match=f"{file} was edited"):
        critical(PROBLEM, run=train, store=store)
    assert len(list(Store(store).records())) == 2
    assert sweep(CELLS, store, run=train, version=2).ran == 2
    assert sweep(CELLS, store, run=train, name="other").ran == 2
    edit(folder, file, new, old)
    assert sweep(CELLS, store, run=loaded().train).ran == 0
    marks = {record.measure.rpartition(" ")[0]: 0 for record in Store(store).records()}
    assert set(marks) == {"train", "other"}


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_part_is_refused_too(what, folder, tmp_path) -> None:
    def cells(version: int | None = None) -> list[tuple[Problem, int]]:
        metric = made(Metric, name="mine", measure=loaded().measure, version=version)
        return [(PROBLEM.replace(metrics=metric), seed) for seed in range(2)]

    file, old, new = EDITS[what]
    store = tmp_path / "facts"
    assert sweep(cells(), store, test_samples=8).ran == 2
    assert sweep(cells(), store, test_samples=8).ran == 0
    edit(folder, file, old, new)
    with pytest.raises(ProblemError, match=f"records of mine from before {file} was edited"):
        sweep(cells(), store, test_samples=8)
    assert sweep(cells(version=2), store, test_samples=8).ran == 2
    edit(folder, file, new, old)
    edit(folder, file, old, new + "\n")
    assert sweep(cells(version=2), store, test_samples=8).ran == 0  # an edit is not looked for


def test_only_the_edited_file_of_the_part_is_named(folder, tmp_path) -> None:
    """A part whose name begins like another's has files of its own in the same record."""

    def cells() -> list[tuple[Problem, int]]:
        measure = loaded().measure
        named = [made(Metric, name=name, measure=measure) for name in ("mine", "mine-too")]
        return [(PROBLEM.replace(metrics=named), 0)]

    sweep(cells(), tmp_path / "facts", test_samples=8)
    edit(folder, "train.py", "right = 0.25", "right = 0.5")
    with pytest.raises(ProblemError, match=r"from before train\.py was edited; to run it"):
        sweep(cells(), tmp_path / "facts", test_samples=8)


def test_files_of_one_name_in_two_folders_both_count(folder, tmp_path, monkeypatch) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "package.py").write_text("def scale():\n    return 2.0\n")
    (tmp_path / "other" / "helper.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "other")])
    both = partial(loaded().train, scale=importlib.import_module("package").scale)
    before = source_of(both)
    for place in (folder, tmp_path / "other"):
        with (place / "helper.py").open("a") as file:
            file.write("CHANGED = True\n")
        after = source_of(both)
        assert after.files["helper.py"] != before.files["helper.py"]
        before = after


def test_all_of_a_package_is_hashed_wherever_the_function_is(folder) -> None:
    (folder / "package" / "inner").mkdir(parents=True)
    for name in ("__init__.py", "inner/__init__.py", "other.py"):
        (folder / "package" / name).write_text("")
    (folder / "package/inner/run.py").write_text("def train(problem, seed):\n    return 0.5, 10\n")
    train = loaded("package.inner.run").train
    files = {"__init__.py", "inner/__init__.py", "inner/run.py", "other.py", "what it was given"}
    assert set(source_of(train).files) == files


def test_what_a_function_was_given_counts(folder, tmp_path) -> None:
    def made(rate):
        def train(problem, seed):
            return rate, 100

        return train

    store = tmp_path / "facts"
    sweep(CELLS, store, run=made(0.25))
    assert sweep(CELLS, store, run=made(0.25)).ran == 0
    with pytest.raises(ProblemError, match="of train from before what it was given has changed"):
        sweep(CELLS, store, run=made(0.5))


def test_data_files_are_not_noticed(folder) -> None:
    """As the documentation says."""
    before = source_of(loaded().train)
    (folder / "notes.txt").write_text("1")
    assert source_of(loaded().train) == before


def test_too_many_files_need_a_version(folder, tmp_path) -> None:
    for number in range(MOST_FILES):
        (folder / f"file{number}.py").write_text("")
    with pytest.raises(ProblemError, match=f"more than {MOST_FILES} Python files, .* version="):
        sweep(CELLS, tmp_path / "facts", run=loaded().train)
    assert sweep(CELLS, tmp_path / "facts", run=loaded().train, version=1).ran == 2


def test_the_mark_is_the_same_in_every_process(folder) -> None:
    program = (
        "import train, functools\n"
        "from recallscope.common.source import source_of\n"
        "given = {'x', 'y', 'z'}, {'b': 1.5, 'a': train.Model()}, [b'1', None]\n"
        "print(source_of(functools.partial(train.train, given)).mark)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_a_function_without_a_file_is_hashed_by_itself() -> None:
    """As in a notebook: its source where Python has it, or else what it was compiled to."""
    spaces = [{"__name__": "a_notebook"} for _ in range(3)]
    for space, number in zip(spaces, (1, 1, 2), strict=True):
        exec(f"def train(problem, seed):\n    return {number}, 10\n", space)
    first, same, other = (source_of(space["train"]) for space in spaces)
    assert first == same != other
    assert set(first.files) == {"train", "what it was given"}


@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_workers_need_no_folder(executor, folder, tmp_path) -> None:
    own = own_experiment(loaded().train)
    assert unpack(own._for_travel)(PROBLEM, 0) == (0.25, 100)
    folder.rename(tmp_path / "elsewhere")
    settings = Settings(own=own)
    done = run_sweep(CELLS, tmp_path / "facts", settings, Limits(), executor=executor, workers=1)
    assert done.by_status == {"ok": 2}
    assert {record.recall_accuracy for record in Store(tmp_path / "facts").records()} == {0.25}


def test_a_variable_of_a_module_is_kept_between_runs(folder, tmp_path) -> None:
    """A data set that was loaded once is there for the next run of the same worker."""
    (folder / "train.py").write_text(
        "runs = []\n"
        "def train(problem, seed):\n"
        "    runs.append(seed)\n"
        "    return {'runs': len(runs)}\n"
    )
    sweep(CELLS, tmp_path / "facts", run=loaded().train, executor="processes", workers=1)
    found = {record.metric("runs") for record in Store(tmp_path / "facts").records()}
    assert found == {1.0, 2.0}
