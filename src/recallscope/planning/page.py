"""The page of a plan: one file that needs nothing but itself."""

from __future__ import annotations

from pathlib import Path

from recallscope import __version__
from recallscope.planning import plan_in_words
from recallscope.planning.plan_result import Plan
from recallscope.plot.pages import check_page, page_styles, page_template, shown_panel, write_page


def plan_page(plan: Plan) -> str:
    """The page, as HTML."""
    picture = plan.picture()
    template = Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    return page_template(template).render(
        css=page_styles(),
        version=__version__,
        first=plan_in_words.first_line(plan),
        headline=plan_in_words.headline(plan),
        details=plan_in_words.details(plan),
        advice=plan_in_words.advice(plan),
        figures=[shown_panel(panel) for panel in picture.panels],
        caption=picture.caption,
        tables=plan_in_words.plan_tables(plan),
        sources=plan_in_words.sources(plan),
        verified=plan_in_words.verified(plan),
    )


def write_plan_page(plan: Plan, path: str | Path) -> None:
    """Write a page with the answer and its figure, which needs nothing but itself."""
    write_page(plan_page(plan), check_page(path))
