"""Every change of the public API since 0.2 is written down, a line each."""

from __future__ import annotations

import difflib
import json
import re

import public_api


def test_every_change_of_the_api_is_written_down():
    released = json.loads(public_api.RELEASED.read_text(encoding="utf-8"))
    current = public_api.changes(released, public_api.public_api()).splitlines()
    written = public_api.CHANGES.read_text(encoding="utf-8").splitlines()
    difference = difflib.unified_diff(written, current, "written down", "now", n=0, lineterm="")
    assert written == current, "\n".join(
        [
            "the public API has changed; if that is meant, run python tools/public_api.py --write",
            *difference,
        ]
    )


def test_names_that_are_gone_are_in_the_changelog():
    changelog = (public_api.TESTS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    section = changelog.partition("## 0.3.0")[2].partition("\n## ")[0]
    named = {word for code in re.findall(r"`(.+?)`", section) for word in _words(code)}
    gone = dict(_gone(public_api.CHANGES.read_text(encoding="utf-8").splitlines()))
    assert {"BenchResult", "problems"} <= {*gone.values()}
    assert not {line: word for line, word in gone.items() if word not in named}


def test_an_option_is_named_unless_its_command_is():
    command, option = "removed command recallscope cite: command", "removed command recallscope {}"
    lines = [command, option.format("cite --full: flag"), option.format("run --low: SIZE")]
    renamed = "renamed command recallscope run --share -> --part"
    assert [word for _, word in _gone([*lines, renamed])] == ["cite", "cite", "--low", "--share"]


def _gone(lines):
    """Lines of names that users can no longer write, each with the word that has to be said."""
    for how, part, name in (line.split(" ", 2) for line in lines):
        words = _words(re.split(": | -> ", name)[0])
        whole = words[part == "command"]  # a class, or a command after `recallscope`
        removed = part == "python" or f"removed command recallscope {whole}: command" in lines
        if how == "renamed" or (how == "removed" and part != "json"):
            yield name, whole if how == "removed" and removed else words[-1]


def _words(text):
    return re.findall(r"[\w-]+", text)


def test_changes_are_added_changed_renamed_or_removed():
    before = {
        "python": {"run(seed)": "int = 0", "Drawing": "class", "learn()": "() -> None"},
        "command": {"recallscope run --share": "NUMBER", "recallscope run --low": "SIZE"},
        "json": {"run records[].lock": "number", "run a": "null", "run b": "null"},
    }
    after = {
        "python": {"run(seed)": "int = 1", "Instance": "class", "train()": "() -> str"},
        "command": {"recallscope run --fraction": "NUMBER", "recallscope solve --low": "SIZE"},
        "json": {"run records[].attention": "number", "run c": "null"},
    }
    assert public_api.changes(before, after).splitlines()[1:] == [
        "renamed python Drawing -> Instance",
        "removed python learn(): () -> None",
        "changed python run(seed): int = 0 -> int = 1",
        "added python train(): () -> str",
        "removed command recallscope run --low: SIZE",
        "renamed command recallscope run --share -> --fraction",
        "added command recallscope solve --low: SIZE",
        "removed json run a: null",
        "removed json run b: null",
        "added json run c: null",
        "renamed json run records[].lock -> attention",
    ]


def test_objects_that_users_receive_are_in_the_list():
    api = json.loads(public_api.RELEASED.read_text(encoding="utf-8"))
    assert api["python"]["Problem.replace()"] == "(**changes) -> Problem"
    assert api["python"]["CriticalSize.status"] == "Status"  # returned, though not exported
    assert api["command"]["recallscope solve --target"].startswith("SHARE, default")
    assert api["json"]["critical curve[].size"] == "number"
    assert api["json"]["records list shown[].recall_accuracy.low"] == "number"
