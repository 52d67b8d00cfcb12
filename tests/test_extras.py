"""Without optional packages every command works, or says in a sentence what to install."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from recallscope.api.paper import report_claims
from recallscope.plotting.pages import check_page
from recallscope.problem import ProblemError

ROOT = Path(__file__).parents[1]
BLOCKED = (
    *("pyarrow", "filelock", "matplotlib", "jinja2", "ray", "duckdb", "polars"),
    *("fsspec", "s3fs"),
)
SMALL = ["--vocab", "64", "--dim", "48", "--length", "4"]
FINE, SAID = 0, 2
COMMANDS = [
    (["predict", *SMALL, "--samples", "512"], FINE, ""),
    (["run", *SMALL, "--samples", "512"], FINE, ""),
    (["critical", "--for", "samples", *SMALL, "--budget", "8"], FINE, ""),
    (["critical", "--for", "samples", *SMALL, "--figure", "a.png"], SAID, "matplotlib"),
    (["critical", "--for", "samples", *SMALL, "--store", "facts"], SAID, "'.[sweep]'"),
    (["sweep", str(ROOT / "examples" / "sweep.toml"), "--store", "facts"], SAID, "'.[sweep]'"),
    (["sweep", "--schema"], FINE, ""),
    (["records", "--store", "facts", "list"], SAID, "'.[sweep]'"),
    (["phase", "--from", ".", "--x", "dim", "--y", "samples"], SAID, "'.[sweep]'"),
    (["critical", "--for", "samples", *SMALL, "--executor", "ray"], SAID, "'.[ray]'"),
    (["paper", "report"], SAID, "pip install"),
]
SCRIPT = """
import contextlib, io, json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
from recallscope.__main__ import main
told = []
for arguments in json.loads(sys.argv[2]):
    sys.argv = ["recallscope", *arguments]
    err = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            main()
    except SystemExit as stopped:
        told.append((stopped.code or 0, err.getvalue()))
print(json.dumps(told))
"""


@pytest.mark.slow
def test_no_command_ends_in_a_traceback(tmp_path):
    asked = [json.dumps(BLOCKED), json.dumps([arguments for arguments, _, _ in COMMANDS])]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *asked], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for (arguments, code, named), (exit_code, said) in zip(
        COMMANDS, json.loads(done.stdout), strict=True
    ):
        assert exit_code == code, (arguments, said)
        assert named in said
        assert len(said.splitlines()) == (1 if code else 0), said
        if "'.[" in said:
            assert said.partition("'.[")[2].partition("]")[0] in extras["optional-dependencies"]


def test_each_page_advises_its_own_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ProblemError, match=r"needs jinja2.*'\.\[audit\]'"):
        check_page(tmp_path / "audit.html")
    with pytest.raises(ProblemError, match=r"needs jinja2.*'\.\[paper\]'"):
        report_claims(str(tmp_path / "report.html"))


def test_every_package_that_is_imported_is_declared():
    """What another package happens to bring along may be gone with its next version."""
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
    """Packages that a file imports when it is run: what is for type checkers is left out."""
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
