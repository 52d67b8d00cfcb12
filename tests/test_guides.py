"""The notebooks of the guides are their pages, run to the end, and print what the pages show."""

from __future__ import annotations

import doctest

import guide_notebooks
import nbformat
import pytest
from nbclient import NotebookClient

from blocks import blocks

PAGES = pytest.mark.parametrize("page", guide_notebooks.PAGES, ids=lambda page: page.stem)
WORDS_PER_MINUTE = 200


def test_there_are_four_guides():
    names = [page.stem for page in guide_notebooks.PAGES]
    assert names == ["llm-engineer", "research-engineer", "student", "theorist"]


@PAGES
def test_a_notebook_is_its_page(page):
    current = guide_notebooks.notebook_of(page).read_text(encoding="utf-8")
    assert current == guide_notebooks.notebook(page), "run python tools/guide_notebooks.py"


@PAGES
def test_a_door_takes_five_minutes(page):
    assert len(page.read_text(encoding="utf-8").split()) < 5 * WORDS_PER_MINUTE


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What each cell of each notebook printed and showed; one kernel for all, emptied between."""
    whole = nbformat.v4.new_notebook()
    for page in guide_notebooks.PAGES:
        cells = nbformat.read(guide_notebooks.notebook_of(page), as_version=4).cells
        whole.cells += [cell for cell in cells if cell.cell_type == "code"]
        whole.cells.append(nbformat.v4.new_code_cell("%reset -f"))
    folder = tmp_path_factory.mktemp("guides")
    NotebookClient(whole, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    found, pages = {}, iter(guide_notebooks.PAGES)
    done = []
    for cell in whole.cells:
        if cell.source == "%reset -f":
            found[next(pages)], done = done, []
        else:
            done.append(cell.outputs)
    return found


@pytest.mark.slow
def test_notebooks_run_and_print_what_their_pages_show(outputs):
    """One test for all, as workers of a test run would each start a kernel of their own."""
    for page in guide_notebooks.PAGES:
        code, checker, printed = iter(outputs[page]), doctest.OutputChecker(), ""
        for block in blocks(page):
            if block.language == "python":
                told = next(code)
                printed = "".join(each.text for each in told if each.output_type == "stream")
                shown = [each for each in told if each.output_type == "execute_result"]
                assert all("text/html" in each.data for each in shown)
            elif block.language == "text":
                same = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
                right = checker.check_output(block.code, printed, same)
                assert right, f"{page.stem}, line {block.line}: {printed}"
        assert next(code, None) is None
