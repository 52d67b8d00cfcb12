"""`recallscope plan`."""

from __future__ import annotations

from recallscope.cli.options import Asked, Page, takes
from recallscope.cli.output import output_from
from recallscope.common.csv_files import number_or_text

_WORDS = ("model", "precision", "method", "target_modules", "frequencies", "optimiser", "solve_for")


@takes("plan", "output")
def plan(
    asked: Asked,
    page: Page = None,
) -> int:
    """Plan a training: recall of your facts, what limits it, and what to change.

    Of facts, exposures, d-model and, for LoRA, rank, one may be missing: it is solved for. Exit
    code 1 if no law answers.

    \b
    Examples:
      recallscope plan --model config.json --rank 16 --facts 50k
      recallscope plan --model config.json --rank 16 --facts 50k --exposures 100 --page plan.html
      recallscope plan --d-model 512 --layers 8 --heads 8 --vocab 32k --method pretrain \\
        --exposures 100
      recallscope plan --method memory --d-model 256 --facts 10k --exposures 1000 --json
    """
    from recallscope.api.plan import plan as make
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.cli.tables.plan import print_plan
    from recallscope.plotting.pages import check_page

    to = output_from(asked.output)
    path = None if page is None else check_page(page)
    given = {
        name: text if name in _WORDS else number_or_text(text)
        for name, text in asked.plan.items()
        if text is not None
    }
    with ProgressDisplay("plan") as display:
        found = make(**given, progress=display.update)
    if path is not None:
        found.write_page(path)
    to.show(found, print_plan)
    return 0 if found.laws else 1
