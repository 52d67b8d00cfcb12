"""Self-contained pages: styles and drawings are embedded, and no script runs."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope.common.csv_files import check_output
from recallscope.common.new_files import write_whole
from recallscope.plot.panels import Panel, Picture

if TYPE_CHECKING:
    from jinja2 import Template

_PANEL_WIDTH = 3.25  # inches, as wide as a phone, to read text without zooming


def check_page(path: str | Path) -> Path:
    """The path of a page to be written, or an error before anything is computed."""
    return check_output(path, "page", (".html",))


def write_page(page: str, path: Path) -> None:
    """Write a page; it is moved to its place when it is whole."""
    write_whole(path, "page", page)


def page_template(template: str, **filters: Callable[..., Any]) -> Template:
    """A template from its text; what it is given is text, never markup."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_text),
    )
    environment.filters.update(filters)
    return environment.from_string(template)


def page_styles() -> str:
    """The styles of all pages."""
    return _text("page.css")


def shown_panel(panel: Panel) -> dict[str, str]:
    """Return a panel for a template, at the width of a column; the drawing is a data URL."""
    from recallscope.plot.picture import picture_figure  # loads matplotlib, only to draw
    from recallscope.plot.style import draw

    # The page has the title.
    alone = Picture(caption="", panels=[replace(panel, title="")])
    image = draw(picture_figure(alone, "", width=_PANEL_WIDTH), "svg")
    address = f"data:image/svg+xml;base64,{base64.b64encode(image).decode()}"
    return {"title": panel.title, "described": _described(panel), "drawn": address}


def _described(panel: Panel) -> str:
    """A panel for those who cannot see it; its numbers are in a table."""
    series = "; ".join(f"{series.label} ({series.kind})" for series in panel.series)
    return f"{panel.title}: {panel.y} against {panel.x}. Shown: {series or 'nothing yet'}."


def _text(name: str) -> str:
    """A file next to this one, which templates may include."""
    return files("recallscope.plot").joinpath(name).read_text(encoding="utf-8")
