"""Pages name commands, options and public names that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import commands_page
import pytest
from blocks import blocks
from typer.testing import CliRunner

import recallscope
from recallscope.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = commands_page.commands()
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
LISTED = re.compile(r"^\| .*?(?=(?<!\\)\| )", re.MULTILINE)  # the first column of a table


def flags_in_help(name: str) -> set[str]:
    """Options as the command line itself prints them."""
    said = CliRunner().invoke(main.app, [*name.split(), "--help"]).stdout
    rows = re.findall(r"^  (--.*?)(?:  |$)", said.partition("Options:")[2], re.MULTILINE)
    return {flag for row in rows for flag in FLAG.findall(row)} - {"--help"}


def sections(text: str) -> dict[str, str]:
    """The text under each heading with an anchor, of any level."""
    parts = re.split(r"^##+ .*?\{#(\S+)\}$|^## .*$", text, flags=re.MULTILINE)
    return {name: body for name, body in zip(parts[1::2], parts[2::2], strict=True) if name}


def flags_on_the_page(name: str, said: dict[str, str]) -> set[str]:
    """Options of the section of a command, and of the groups that it links to."""
    section = said[name.replace(" ", "-")]
    found = {flag for row in LISTED.findall(section) for flag in FLAG.findall(row)}
    shared = re.search(r"^Shared options: (.*)$", section, re.MULTILINE)
    for each in shared[1].split("; ") if shared else ():
        group = re.search(r"\(#(\w+)\)", each)[1]
        flags = {flag for row in LISTED.findall(said[group]) for flag in FLAG.findall(row)}
        named = {*FLAG.findall(each)}
        found |= flags - named if "without" in each else named or flags
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_has_the_options_of_help(name):
    said = sections(commands_page.text())
    assert flags_on_the_page(name, said) == flags_in_help(name)


def calls(page: Path) -> list[str]:
    """Every call of the command that a page shows, in its blocks and in its sentences."""
    text = page.read_text(encoding="utf-8")
    shell = [block.code for block in blocks(page) if block.language in ("sh", "console")]
    if changes := re.findall("^```diff$.*?^```$", text, re.MULTILINE | re.DOTALL):
        shell = shell[: -len(changes)]  # another test makes each change, and its call
    for change in changes:
        text = text.replace(change, "")
    lines = "\n".join(shell).replace("\\\n", " ").splitlines()
    lines += re.findall(r"(?<!`)`(recallscope [^`\n]+)`(?!`)", text)
    return [match[0] for line in lines if (match := re.search(r"\brecallscope [a-z].*", line))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_pages_show_exist(page):
    check_calls(page)


def test_commands_in_examples_of_help_exist(tmp_path):
    (tmp_path / "commands.md").write_text(commands_page.text())
    assert len(calls(tmp_path / "commands.md")) > 20
    check_calls(tmp_path / "commands.md")


def check_calls(page: Path) -> None:
    for call in calls(page):
        words = shlex.split(call.partition(" | ")[0], comments=True)[1:]
        name = next((n for n in (" ".join(words[:2]), words[0]) if n in COMMANDS), None)
        if name is None:
            groups = {each.split()[0] for each in COMMANDS if " " in each}
            assert words[0] in groups, f"{page.name}: {call}"
            continue
        known = {flag for each in COMMANDS[name].params for flag in commands_page.flags_of(each)}
        wrong = {word for word in words if word.startswith("--")} - known - {"--help"}
        assert not wrong, f"{page.name}: {call}: {wrong}"


def test_calls_in_pages_are_found():
    assert len(calls(ROOT / "README.md")) >= 3
    assert sum(len(calls(page)) for page in PAGES) > 70


def test_the_api_page_has_every_public_name_once():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: recallscope\.(\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(recallscope.__all__)
