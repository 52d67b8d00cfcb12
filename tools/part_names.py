"""Find comparisons with the names of parts and laws, which belong into the files of these alone.

    python tools/part_names.py             # exit code 1 if there are places that are not listed
    python tools/part_names.py --list      # every place

Code that asks what a part is called has to be changed for every new part. Places that may stay are
listed in `part-names-allowed.csv`, each with the reason.
"""

from __future__ import annotations

import ast
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recallscope.parts.registry import _KINDS, names

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "recallscope"
ALLOWED = Path(__file__).with_name("part-names-allowed.csv")
FIELDS = {"embedding", "task", "model", "learner", "metrics", "metric", "law", "name"}
"""What a part is compared by: attributes, variables and keys of these names."""


class Place(NamedTuple):
    """A comparison, by what does not change when lines above it do."""

    file: str
    compared: str


def known_names() -> set[str]:
    """The names of all parts and laws that come with the package."""
    return {name for kind in _KINDS for name in names(kind)}


def places(text: str, file: str, known: set[str]) -> Iterator[Place]:
    """Comparisons of a field that names a part with names of parts, in a file."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        constants = {
            each.value
            for side in sides
            for each in ast.walk(side)
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
        if constants & known and any(_names_a_part(side) for side in sides):
            yield Place(file, ast.unparse(node))


def _names_a_part(side: ast.expr) -> bool:
    return any(
        (isinstance(each, ast.Attribute) and each.attr in FIELDS)
        or (isinstance(each, ast.Name) and each.id in FIELDS)
        or (
            isinstance(each, ast.Subscript)
            and isinstance(each.slice, ast.Constant)
            and each.slice.value in FIELDS
        )
        for each in ast.walk(side)
    )


def found() -> list[Place]:
    """All places but those in the folders of parts, whose files are the parts' own."""
    own = {folder.removeprefix("recallscope.").replace(".", "/") for folder, _ in _KINDS.values()}
    known = known_names()
    return [
        place
        for path in sorted(SOURCE.rglob("*.py"))
        if (file := path.relative_to(SOURCE).as_posix()).rpartition("/")[0] not in own
        for place in places(path.read_text(encoding="utf-8"), file, known)
    ]


def main() -> int:
    """Compare what there is with what is allowed."""
    with ALLOWED.open(encoding="utf-8") as file:
        allowed = {Place(row["file"], row["compared"]) for row in csv.DictReader(file)}
    here = found()
    if "--list" in sys.argv:
        for place in here:
            print(f"{place.file}: {place.compared}")
        return 0
    new = [place for place in here if place not in allowed]
    for place in new:
        print(f"{place.file} compares a name: {place.compared}; ask the part what it can do")
    gone = allowed - set(here)
    for place in sorted(gone):
        print(f"{place.file} no longer has {place.compared}; take it from {ALLOWED.name}")
    if not new and not gone:
        print(f"Names of parts are compared in {len(here)} places, all of them listed.")
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main())
