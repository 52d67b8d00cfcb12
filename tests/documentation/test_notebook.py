"""The notebook runs from its first cell to its last, and shows every result."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"
SHOWN = ("predict", "run", "critical", "phase", "fit", "ablate", "sweep")


def outputs(notebook, text: str) -> list[dict]:
    (cell,) = [cell for cell in notebook.cells if cell.cell_type == "code" and text in cell.source]
    return [output.data for output in cell.outputs if "data" in output]


@pytest.mark.slow
def test_the_notebook_shows_every_result(tmp_path):
    """One test, as it is run once."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()

    for name in SHOWN:
        call = {"critical": 'critical(problem, "samples", target'}
        shown = outputs(notebook, call.get(name, f"recallscope.{name}("))[-1]
        assert "\n" not in shown["text/plain"]
        assert "<table>" in shown["text/html"]
        image = re.search(r'src="data:image/png;base64,([^"]+)"', shown["text/html"])
        picture = base64.b64decode(image[1])
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 5000
        (tmp_path / f"{name}.png").write_bytes(picture)

    polars = outputs(notebook, "pl.DataFrame(swept)")[-1]["text/plain"]
    assert "i64" in polars
    assert "f64" in polars
    pandas = outputs(notebook, "diagram.to_pandas()")[-1]["text/plain"]
    assert "'samples': 'int64'" in pandas
    assert "'mean': 'float64'" in pandas
    assert "[(80," in outputs(notebook, "duckdb.sql(")[-1]["text/plain"]

    assert (tmp_path / "phase.pdf").read_bytes().startswith(b"%PDF")
    assert "Colour" in (tmp_path / "phase.caption.txt").read_text()
    assert "image/png" in outputs(notebook, "plt.subplots(1, 2")[-1]

    law = outputs(notebook, "law = recallscope.fit(")[-1]["text/plain"]
    assert float(re.search(r"goodness of fit p = ([\d.e-]+)", law)[1]) > 0.01, law
