"""Words are plain, class names unique, files short, studies in an index; tests need no studies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import words

ROOT = Path(__file__).parents[1]


def test_a_planted_word_is_reported_until_it_is_gone(tmp_path, capsys):
    page = tmp_path / "README.md"

    def report() -> list[str]:
        code = words.main(tmp_path)
        said = capsys.readouterr().out.splitlines()
        assert code == (0 if said == ["Words are plain."] else 1)
        return said

    page.write_text("One law is curved.\nSpeed is shown next to it.\n")
    assert report() == ["Words are plain."]
    page.write_text("One law is bent.\nRun it anew; is_told of a test goes\n# on where it was.\n")
    assert report() == [
        "README.md:2: anew: again",
        "README.md:1: bent: curved, or poor fit",
        "README.md:2: goes on where: resume",
        "README.md:2: told: reports, shows, raises",
    ]


def test_one_class_per_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            if not name.startswith("_"):
                homes.setdefault(name, []).append(path.name)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_no_file_is_too_long_and_nothing_lies_loose() -> None:
    package = ROOT / "src" / "recallscope"
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in package.rglob("*.py")}
    assert {str(path): count for path, count in lengths.items() if count > 500} == {}
    loose = {path.name for path in package.glob("*.py")}
    assert loose == {"__init__.py", "__main__.py", "cell.py", "problem.py", "record.py"}


# The name after `import` or `from`, or a string that ends with the name of a file of Python.
USED = re.compile(
    r"""^\s*(?:from|import)\ (\w+) | ["'](?:[^"'\n]*[/\ ])?(\w+)\.py["']""",
    re.MULTILINE | re.VERBOSE,
)


def studies_in(code: str, studies: set[str]) -> set[str]:
    """Studies that code imports, or names in a string as a file to run."""
    found = {name for names in USED.findall(code) for name in names}
    return found & {"studies", *studies}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import laws", {"laws"}),
        ("def late():\n    from laws import LAWS", {"laws"}),
        ("from studies.laws import LAWS", {"studies"}),
        ('script = ROOT / "studies" / "laws.py"', {"laws"}),
        ('run(f"{ROOT}/studies/laws.py")', {"laws"}),
        ('"""As in studies/laws.py."""', set()),
        ('rows = read_csv("studies/laws.csv")', set()),
        ("from recallscope.laws import LAWS", set()),
    ],
)
def test_a_planted_use_of_a_study_is_found(code, found):
    assert studies_in(code, {"laws"}) == found


def test_tests_import_and_run_no_studies() -> None:
    studies = {path.stem for path in (ROOT / "studies").glob("*.py")}
    found = {
        path.name: studies_in(path.read_text(encoding="utf-8"), studies)
        for path in (ROOT / "tests").rglob("*.py")
        # The first has planted ones; the others test scripts: of speeds, and of hosts.
        if path.name not in ("test_words.py", "test_bench.py", "test_hosts.py")
    }
    assert {name: used for name, used in found.items() if used} == {}


def test_the_index_of_studies_has_all_scripts_and_its_links_lead_to_files() -> None:
    studies = ROOT / "studies"
    index = (studies / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(\w+\.py)`", index)) == {path.name for path in studies.glob("*.py")}
    links = set(re.findall(r"\]\(([^)]+)\)", index))
    assert {"laws.csv", "../docs/laws.md"} <= links
    assert {link for link in links if not (studies / link).exists()} == set()
