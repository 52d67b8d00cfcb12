"""Without optional packages every command works, or says in a sentence what to install."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

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
