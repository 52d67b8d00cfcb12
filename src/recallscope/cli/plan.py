"""`recallscope plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recallscope.cli.options import Asked, takes
from recallscope.cli.output import print_table, say
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.csv_files import number_or_text

if TYPE_CHECKING:
    from recallscope.planning.plan import Plan

_WORDS = {"model", "precision", "method", "target_modules", "frequencies", "optimiser"}
_WORDS |= {"solve_for", "export"}


@takes("plan", "output")
def plan(asked: Asked, page: str | None, verify: bool) -> int:
    """Plan a training: recall of your facts, what limits it, and what to change.

    Of facts, exposures, d-model and, for LoRA, rank, one may be missing: it is solved for. Exit
    code 1 if no law answers.

    \b
    Examples:
      recallscope plan --model config.json --rank 16 --facts 50k
      recallscope plan --model config.json --rank 16 --facts 50k --exposures 100 --page plan.html
      recallscope plan --d-model 512 --layers 8 --heads 8 --vocab 32k --method pretrain \\
        --exposures 100
      recallscope plan --model config.json --rank 16 --facts 50k --exposures 100 --verify
      recallscope plan --method memory --d-model 256 --facts 10k --exposures 1000 --json
    """
    from recallscope.api.plan import plan as make
    from recallscope.plotting.pages import check_page

    path = None if page is None else check_page(page)
    given = {
        name: text if name in _WORDS else number_or_text(text)
        for name, text in asked.plan.items()
        if text is not None
    }
    with ProgressDisplay("plan") as display:
        found = make(**given, progress=display.update)
    if verify:
        from recallscope.api.verify import verified  # loads torch

        with ProgressDisplay("verify") as display:
            found = verified(found, display.update, lambda said: display.say(f"recallscope {said}"))
    if path is not None:
        found.write_page(path)
    asked.output.show(found, _print_plan)
    return 0 if found.laws else 1


def _print_plan(found: Plan) -> None:
    from recallscope.planning import sentences as said
    from recallscope.planning.verification import verification_lines

    say(said.first_line(found), said.headline(found), *said.details(found), said.advice(found))
    for each in said.plan_tables(found):
        print_table(each.head, each.rows)
    say(*said.sources(found), *verification_lines(found))
