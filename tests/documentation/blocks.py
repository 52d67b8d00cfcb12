"""The blocks of code in a page, and what it takes to run a whole page.

`python blocks.py PAGE` runs every sh and python block of a page in the present folder, in order.
Python blocks share one namespace. A block with a title is a file of that name. A text block is the
output of the block before it. Three dots in it match anything, and spaces match any number of
spaces. Rules of tables may be longer or shorter. Console blocks are not run: they install packages,
or need the reader's files and machines. With `--console` they are run too, where this is possible.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FENCED = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its language, its text, and its first line in the page."""

    language: str
    code: str
    line: int
    title: str | None = None


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(match[1], match[3], text.count("\n", 0, match.start()) + 1, match[2])
        for match in _FENCED.finditer(text)
    ]


def code(page: Path, language: str) -> list[str]:
    """The text of the blocks of one language."""
    return [block.code for block in blocks(page) if block.language == language]


def run_page(page: Path, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run a page in a separate process, with the `recallscope` that is under test."""
    programs = folder / ".bin"
    programs.mkdir()
    command = programs / "recallscope"
    asks = any(b.language in ("sh", "console") and "recallscope" in b.code for b in blocks(page))
    with tempfile.TemporaryDirectory() as place, _warm(f"{place}/socket", asks) as run:
        command.write_text(f'#!/bin/sh\nexec {run} "$@"\n')
        command.chmod(0o755)
        return subprocess.run(
            [sys.executable, "-W", "error", __file__, str(page), *more],
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
            timeout=900 if more else 300,
        )


@contextlib.contextmanager
def _warm(place: str, asks: bool) -> Iterator[str]:
    """A process that has imported everything, and how to ask it for a command."""
    if not asks:
        yield "false"
        return
    program = Path(__file__).with_name("warm_command.py")
    call = [sys.executable, str(program)]
    with subprocess.Popen([*call, "serve", place], stderr=subprocess.PIPE, text=True) as server:
        while not Path(place).exists():
            if server.poll() is not None:
                raise RuntimeError(server.communicate()[1])
            time.sleep(0.02)
        try:
            yield f'"{sys.executable}" -S "{program}" run "{place}"'
        finally:
            server.kill()


_NOT_HERE = (
    "pip install",  # done by hand in a new environment, before a release
    "venv",
    "AWS_",  # buckets, clusters and job arrays have separate tests
    "s3://",
    "RAY_",
    "10.0.0.1",
    "SLURM_",
    "{1..8}",
    "--embedding heavy",  # the reader's package; tests/plugin is one
    "--size full",  # two hours
    "my-runs",
    "--probe",  # a pretrained checkpoint
)


def _run(page: Path, console: bool) -> None:
    # As in a script, whose classes and functions are found in its module.
    printed, module = "", types.ModuleType("__main__")
    sys.modules["__main__"], names = module, vars(module)
    checker = doctest.OutputChecker()
    for block in blocks(page):
        place = f"{page.name}, line {block.line}"
        if block.title is not None:
            Path(block.title).write_text(block.code)
        elif block.language == "console" and console:
            lines = block.code.splitlines()
            here = (line for line in lines if not any(part in line for part in _NOT_HERE))
            _shell("\n".join(here), place)
        elif block.language == "sh":
            printed = _shell(block.code, place)
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
            printed = output.getvalue()
        elif block.language == "text" and not checker.check_output(
            *(re.sub("[─━]+", "─", text) for text in (block.code, printed)),
            doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
        ):
            sys.exit(f"{place}: shown is\n{block.code}\nbut printed was\n{printed}")


def _shell(script: str, place: str) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{place}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    _run(Path(sys.argv[1]), "--console" in sys.argv[2:])
