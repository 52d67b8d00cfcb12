"""The page of a plan: one file that needs nothing but itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recallscope import __version__
from recallscope.planning import sentences
from recallscope.planning.picture import plan_picture
from recallscope.planning.verification import verification_lines
from recallscope.plotting.pages import page_styles, page_template, shown_panel

if TYPE_CHECKING:
    from recallscope.planning.plan import Plan


def plan_page(plan: Plan) -> str:
    """The page, as HTML."""
    picture = plan_picture(plan)
    template = Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    return page_template(template).render(
        css=page_styles(),
        version=__version__,
        first=sentences.first_line(plan),
        headline=sentences.headline(plan),
        details=sentences.details(plan),
        advice=sentences.advice(plan),
        figures=[shown_panel(panel) for panel in picture.panels],
        caption=picture.caption,
        tables=sentences.plan_tables(plan),
        sources=sentences.sources(plan),
        verified=verification_lines(plan),
    )
