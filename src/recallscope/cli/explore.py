"""`recallscope explore`."""

from __future__ import annotations

from typing import Annotated

import typer

from recallscope.cli.options import AsJson
from recallscope.cli.output import print_json


def explore(
    to: Annotated[str, typer.Option(metavar="FILE", help="Where the page goes.")] = (
        "recallscope.html"
    ),
    open: Annotated[
        bool, typer.Option("--open/--no-open", help="Show it in the browser, or only write it.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Write one page to play with the closed forms, and open it in the browser.

    It needs no server and no network, and works on a phone: sliders, noises and the bottleneck,
    phase diagrams with measured points, and the three steps on small examples.

    \b
    Examples:
      recallscope explore
      recallscope explore --to page.html --no-open
    """
    from recallscope.explorer.explore import explore as write

    path = write(to, open=open)
    if as_json:
        print_json({"page": str(path), "bytes": path.stat().st_size, "opened": open})
    else:
        print(f"{path}: {path.stat().st_size:,} bytes, which need no network.")
