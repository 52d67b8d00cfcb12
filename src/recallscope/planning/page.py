"""The page of a plan: one file that needs nothing but itself."""

from __future__ import annotations

from pathlib import Path

from recallscope import __version__
from recallscope.planning.in_words import PlanWords
from recallscope.planning.plan_in_words import plan_words
from recallscope.planning.plan_result import Plan
from recallscope.planning.teaching_in_words import teaching_words
from recallscope.planning.teaching_plan import TeachingPlan
from recallscope.plot.pages import check_page, page_styles, page_template, shown_panel, write_page


def words_of(plan: Plan | TeachingPlan) -> PlanWords:
    """All that is said of a plan, for a terminal and for a page."""
    return teaching_words(plan) if isinstance(plan, TeachingPlan) else plan_words(plan)


def plan_page(plan: Plan | TeachingPlan) -> str:
    """The page, as HTML."""
    picture = plan.picture()
    template = Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    return page_template(template).render(
        css=page_styles(),
        version=__version__,
        figures=[shown_panel(panel) for panel in picture.panels],
        caption=picture.caption,
        **words_of(plan)._asdict(),
    )


def write_plan_page(plan: Plan | TeachingPlan, path: str | Path) -> None:
    """Write a page with the answer and its figure, which needs nothing but itself."""
    write_page(plan_page(plan), check_page(path))
