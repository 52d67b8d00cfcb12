"""Untrusted names on a terminal are shown as text; control codes in them have no effect."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from recallscope import Problem, Store, run
from recallscope.cli.output import print_table
from recallscope.cli.progress import ProgressDisplay
from recallscope.cli.run import print_run
from recallscope.experiment.cell import Cell, Settings
from recallscope.experiment.experiment import failed_record
from recallscope.sweeps.run_result import RunResult
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.sweeps.store.schema import KeyedRecord

CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"
HOSTILE = f"{CLIPBOARD}\x1b[2J\x9b2J\x7f\r\u202e[bold]:boom:[/red]"
SHOWN = r"\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b2J\x7f\r\u202e[bold]:boom:[/red]"
# Control codes that rich writes: colours, the cursor hidden or moved up, a line erased.
OWN = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|2K|1A)|\r")


def on_a_terminal(folder: Path, *arguments: str) -> str:
    """What a terminal gets of both streams, without the control codes of rich."""
    pty = pytest.importorskip("pty")
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "recallscope", *arguments],
        stdin=its,
        stdout=its,
        stderr=its,
        cwd=folder,
        env=os.environ | {"COLUMNS": "400", "TERM": "xterm-256color"},
    )
    os.close(its)
    got = b""
    try:
        while part := os.read(ours, 65536):
            got += part
    except OSError:  # Linux reports a closed terminal in this way
        pass
    finally:
        os.close(ours)
        process.wait(timeout=120)
    return OWN.sub("", got.decode())


def is_harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def failed(seed: int, reason: str) -> KeyedRecord:
    problem = Problem(vocab=16, samples=32, dim=8, length=2)
    how = {"engine": "auto", "dtype": "float32", "device": "cpu"}
    key = CellKeys(Settings(test_samples=64))(Cell(problem, seed))
    return KeyedRecord(key, failed_record(problem, seed, reason, **how))


def test_a_terminal_gets_no_control_code_of_a_store(tmp_path):
    Store(tmp_path / "facts").append([failed(0, HOSTILE)])
    assert is_harmless(on_a_terminal(tmp_path, "records", "--store", "facts", "list"))
    name = HOSTILE.replace("/", "")
    shown = on_a_terminal(tmp_path, "records", "--store", name, "list")
    assert is_harmless(shown)
    assert SHOWN.replace("/", "") in shown.replace("\\\\", "\\")
    assert "a Delta table has no control characters" in " ".join(shown.split())


def test_a_reason_is_one_line(capsys):
    record = run(Problem(vocab=16, samples=32, dim=8, length=2), 0, test_samples=64)
    bad = replace(record, reason=f"{HOSTILE}\nfake")
    print_run(RunResult(records=[bad], problem=record.problem))
    assert capsys.readouterr().err == f"recallscope: seed 0: {SHOWN}\\nfake\n"


def test_a_table_shows_markup_and_codes_of_emoji_as_text(capsys):
    print_table(("[b]x", ":boom:"), [("[/red]", "[bold]y"), ("\x1b[2J", "two\nlines")])
    shown = capsys.readouterr().out
    assert is_harmless(shown)
    for name in ("[b]x", ":boom:", "[/red]", "[bold]y", r"\x1b[2J", "lines"):
        assert name in shown


def test_progress_shows_markup_as_text(capsys, monkeypatch):
    monkeypatch.setattr("recallscope.cli.progress._PATIENCE", 0.0)
    monkeypatch.setattr("recallscope.cli.progress._FIRST_LINE", 0.0)
    with ProgressDisplay(HOSTILE) as display:
        display.update(1, 2, "[/red]")
        display.say(HOSTILE)
    shown = capsys.readouterr().err
    assert is_harmless(shown)
    assert shown.count(SHOWN) == 2
    assert "[/red]" in shown
