"""The page of an audit: one file that needs nothing but itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from recallscope import __version__
from recallscope.audits import sentences, summary_tables
from recallscope.audits.facts import TableFacts
from recallscope.audits.picture import audit_picture, checkpoint_picture
from recallscope.plotting.pages import page_styles, page_template, panel_drawing, shown_panel
from recallscope.results.panels import Picture

if TYPE_CHECKING:
    from recallscope.audits.audit import Audit, CheckpointAudit

_MOST_IN_FULL = 6  # checkpoints, in addition to the table of all


def audit_page(found: Audit) -> str:
    """The page, as HTML."""
    several = len(found.checkpoints) > 1
    template = page_template("audits", "page.html.j2")
    return template.render(
        css=page_styles(),
        version=__version__,
        title=_title(found),
        several=several,
        compared=(summary_tables.COMPARED, summary_tables.comparison_table(found))
        if several
        else None,
        figures=_figures(audit_picture(found)) if several else [],
        caption=audit_picture(found).caption if several else "",
        checkpoints=[
            _shown(number, each)
            for number, each in enumerate(found.checkpoints[:_MOST_IN_FULL], start=1)
        ],
        left_out=max(len(found.checkpoints) - _MOST_IN_FULL, 0),
        fact=sentences.FACT,
        how_good=sentences.HOW_GOOD,
        not_said=sentences.NOT_SAID,
        shares=summary_tables.SHARE_NAMES,
    )


def _title(found: Audit) -> str:
    if len(found.checkpoints) > 1:
        return f"What {len(found.checkpoints)} embedding matrices can store"
    return f"What the embeddings of {Path(found.checkpoints[0].name).name[:80]} can store"


def _figures(picture: Picture) -> list[dict[str, str]]:
    return [shown_panel(panel, panel_drawing(panel).run()) for panel in picture.panels]


def _shown(number: int, found: CheckpointAudit) -> dict[str, Any]:
    """What the template needs of one checkpoint."""
    picture = checkpoint_picture(found)
    facts: TableFacts = found.facts
    return {
        "number": number,
        "name": found.name,
        "headline": sentences.headline(facts),
        "to_do": sentences.to_do(facts, found.tables[0].dim),
        "looked_at": f"{facts.looked_at:,}",
        "facts": summary_tables.facts_table(found),
        "measured": summary_tables.measured_table(found),
        "tables": [
            {name: getattr(table, name) for name in ("role", "name", "kind")}
            | {
                "left_out": sentences.rows_left_out(table.rows, table.unused, table.called_unused),
                "worst": summary_tables.worst_tokens(table),
                "sampled": f"{table.statistics.sampled:,}",
                "exact": table.statistics.sampled == table.used_rows,
            }
            for table in found.tables
        ],
        "found_by": found.found_by,
        "head": [table.role for table in found.tables],
        "statistics": summary_tables.statistics_table(list(found.tables)),
        "figures": _figures(picture),
        "caption": picture.caption,
    }
