"""Without optional packages every command works, or says in a sentence what to install."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recallscope.cli.commands import COMMANDS as COMMAND_NAMES
from recallscope.common.extras import EXTRAS

ROOT = Path(__file__).parents[2]
BLOCKED = (*("pyarrow", "deltalake", "matplotlib", "ray", "duckdb", "polars"),)
SMALL = ["--vocab", "64", "--dim", "48", "--length", "4"]
WHOLE = [*SMALL, "--samples", "512"]
PLANE = ["--x", "dim=16,32", "--y", "samples=64,512", "--vocab", "64", "--length", "4"]
SWEEP = str(ROOT / "examples" / "sweep.toml")
FINE, SAID = 0, 2
COMMANDS = [
    (["predict", *SMALL, "--samples", "512"], FINE, ""),
    (["run", *SMALL, "--samples", "512"], FINE, ""),
    (["critical", "--for", "samples", *SMALL, "--budget", "8"], FINE, ""),
    (["critical", "--for", "samples", *SMALL, "--figure", "a.png"], SAID, "matplotlib"),
    (["critical", "--for", "samples", *SMALL, "--store", "facts"], SAID, "'recallscope[sweep]'"),
    (["sweep", SWEEP, "--store", "facts"], SAID, "'recallscope[sweep]'"),
    (["sweep", "--schema"], FINE, ""),
    (["records", "--store", "facts", "list"], SAID, "'recallscope[sweep]'"),
    (["phase", "--from", ".", "--x", "dim", "--y", "samples"], SAID, "'recallscope[sweep]'"),
    (["critical", "--for", "samples", *SMALL, "--executor", "ray"], SAID, "'recallscope[ray]'"),
]
LIGHT = [
    ["parts", "learner", "adam"],
    ["predict", *WHOLE],
    ["predict", *WHOLE, "--learner", "adam"],
    ["predict", *WHOLE, "--embedding", "structured", "--field", "spectrum=1"],
    ["solve", "--for", "samples", *SMALL],
    ["solve", "--for", "samples", *SMALL, "--learner", "adam", "--json"],
    ["explore", "--no-open"],
    ["phase", "--theory-only", *PLANE, "--figure", "map.png"],
    ["bound", *WHOLE],
    ["plan", "--method", "memory", "--d-model", "32", "--facts", "99", "--exposures", "9"],
    ["plan", "--layers", "2", "--d-model", "32", "--rank", "2", "--facts", "9", "--page", "p.html"],
]
HEAVY = [
    (["run", *WHOLE], "torch"),
    (["train", *WHOLE], "torch"),
    (["critical", "--for", "samples", *SMALL], "torch"),
    (["fit", "--for", "samples", *SMALL, "--vary", "dim=32,48,64"], "torch"),
    (["phase", *PLANE], "torch"),
    (["ablate", *WHOLE], "torch"),
    (["check"], "torch"),
    (["plan", "--d-model", "32", "--facts", "99", "--exposures", "9", "--verify"], "torch"),
    (["teach", "facts.jsonl", "--model", "checkpoint"], "teach"),
    (["sweep", SWEEP, "--store", "facts"], "sweep"),
    (["records", "list", "--store", "facts"], "sweep"),
]
BLOCK = """
import contextlib, io, json, sys
class Blocked:  # None in sys.modules is not enough: scipy asks there if torch was imported
    names = json.loads(sys.argv[1])
    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Blocked())
asked = json.loads(sys.argv[2])
"""
SCRIPT = """
from recallscope.__main__ import main
ended = []
for arguments in asked:
    sys.argv = ["recallscope", *arguments]
    err = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            main()
    except SystemExit as stopped:
        ended.append((stopped.code or 0, err.getvalue()))
print(json.dumps(ended))
"""


def without(packages: Iterable[str], asked: Any, folder: Path, script: str = SCRIPT) -> Any:
    """The exit code and the error output of each command without the packages."""
    given = [json.dumps([*packages]), json.dumps(asked)]
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + script, *given], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_no_command_ends_in_a_traceback(tmp_path):
    ended = without(BLOCKED, [arguments for arguments, _, _ in COMMANDS], tmp_path)
    for (arguments, code, named), (exit_code, said) in zip(COMMANDS, ended, strict=True):
        assert exit_code == code, (arguments, said)
        assert named in said
        assert len(said.splitlines()) == (1 if code else 0), said


def test_commands_that_run_nothing_need_no_extra(tmp_path):
    ended = without(EXTRAS, LIGHT, tmp_path)
    assert dict(zip(map(" ".join, LIGHT), ended, strict=True)) == {
        " ".join(arguments): [FINE, ""] for arguments in LIGHT
    }


def test_commands_that_run_say_in_a_sentence_which_extra_they_need(tmp_path):
    ended = without(EXTRAS, [arguments for arguments, _ in HEAVY], tmp_path)
    for (arguments, extra), (exit_code, said) in zip(HEAVY, ended, strict=True):
        sentence = rf"recallscope: this needs \w+, which is not installed: {advice(extra)}\n"
        assert exit_code == SAID, (arguments, said)
        assert re.fullmatch(sentence, said), (arguments, said)
    assert [*tmp_path.iterdir()] == []


def advice(extra: str) -> str:
    return re.escape(f"pip install 'recallscope[{extra}]'")


def test_every_command_is_tried_without_extras():
    tried = [arguments[0] for arguments in LIGHT] + [arguments[0] for arguments, _ in HEAVY]
    assert set(tried) >= set(COMMAND_NAMES)


FUNCTIONS = """
import recallscope
problem = recallscope.Problem(vocab=64, samples=512, dim=48, length=4)
assert recallscope.predict(problem).recall_accuracy > 0
said = {}
for name in asked:
    try:
        getattr(recallscope, name)(problem, measure=True)
    except ModuleNotFoundError as error:
        said[name] = str(error)
print(json.dumps(said))
"""


def test_functions_say_which_extra_they_need(tmp_path):
    names = ["run", "train", "critical", "fit", "phase", "ablate", "check", "sweep"]
    said = without(EXTRAS, names, tmp_path, FUNCTIONS)
    sentence = "this needs torch, which is not installed: pip install 'recallscope[torch]'"
    assert said == dict.fromkeys(names, sentence)


def test_every_optional_package_has_its_extra():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, extra in EXTRAS.items():
        listed = [re.split("[>=]", each)[0] for each in declared["optional-dependencies"][extra]]
        assert name in listed
    needed = {re.split("[>=]", each)[0] for each in declared["dependencies"]}
    assert not needed & EXTRAS.keys()


def test_every_package_that_is_imported_is_declared():
    """A package that another one installs may be gone with its next version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    users = [name for name in extras if name not in ("dev", "docs")]
    declared = project["dependencies"] + [each for name in users for each in extras[name]]
    known = {re.split(r"[\[<>=~]", each)[0].replace("-", "_").lower() for each in declared}
    imported = {}
    for path in (ROOT / "src").rglob("*.py"):
        for name in third_party(ast.parse(path.read_text())):
            imported[name] = path.relative_to(ROOT)
    assert {"numpy", "torch", "pyarrow"} <= imported.keys()
    assert {name: imported[name] for name in imported.keys() - known} == {}


def third_party(tree: ast.AST) -> Iterator[str]:
    """Packages that a file imports when it is run; imports for type checkers are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        for name in names:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top != "recallscope":
                yield top
        yield from third_party(node)
