"""The pages of docs/guides as notebooks: the same words and code, to be run and changed.

    python tools/guide_notebooks.py

writes examples/guides. A test compares them with the pages, and runs them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "guides").glob("*.md"))
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]+\)")


def notebook_of(page: Path) -> Path:
    """Where the notebook of a page is."""
    return ROOT / "examples" / "guides" / f"{page.stem}.ipynb"


def notebook(page: Path) -> str:
    """A page as a notebook: Python in cells, what it prints left for the run to show."""
    pieces = _BLOCK.split(page.read_text(encoding="utf-8"))
    cells: list[dict[str, Any]] = []
    for number, piece in enumerate(pieces):
        kind, text = pieces[number - 1] if number % 3 == 2 else "", piece.strip("\n")
        if number % 3 == 1 or kind == "text" or not text:
            continue
        made: dict[str, Any] = {"id": f"cell-{len(cells)}", "metadata": {}}
        if kind == "python":
            made |= {"cell_type": "code", "execution_count": None, "outputs": []}
        else:
            made["cell_type"] = "markdown"
            text = _LINK.sub(r"\1", text)  # which lead to pages of the site
        cells.append(made | {"source": text.splitlines(keepends=True)})
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def main() -> None:
    for page in PAGES:
        path = notebook_of(page)
        path.parent.mkdir(exist_ok=True)
        path.write_text(notebook(page), encoding="utf-8")


if __name__ == "__main__":
    main()
