"""`recallscope audit`."""

from __future__ import annotations

from typing import Annotated

import typer

from recallscope.cli.options import Asked, takes
from recallscope.cli.output import output_from


@takes("output", "audit")
def audit(
    asked: Asked,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="safetensors, GGUF, .npy or .npz files, or folders of them.",
            show_default=False,
        ),
    ],
    page: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a page with figures: .html.")
    ] = None,
) -> None:
    """Say what the embedding table of a checkpoint can hold.

    Finds the tables by itself. Several files are set side by side; a folder of checkpoints along
    a training gives a curve. Nothing of a file is run.

    \b
    Examples:
      recallscope audit model.safetensors --page audit.html
      recallscope audit ~/models/my-model
      recallscope audit before.gguf after.gguf --json
      recallscope audit rows.npy --tokens words.txt --measure
    """
    # Loads numpy, which the list of commands does without.
    from recallscope.api.audit import audit as look
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.cli.tables.audit import print_audit
    from recallscope.plotting.pages import check_page

    to = output_from(asked.output)
    path = None if page is None else check_page(page)
    with ProgressDisplay("audit") as display:
        found = look(*what, **asked.audit, progress=display.update)
    if path is not None:
        found.write_page(path)
    to.show(found, print_audit)
