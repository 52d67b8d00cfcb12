"""`recallscope bench`."""

from __future__ import annotations

from typing import Annotated

import typer

from recallscope.cli.options import SIZES, Asked, Device, Dtype, takes
from recallscope.cli.output import output_from
from recallscope.cli.parsing import problem_from
from recallscope.cli.tables.run import print_bench
from recallscope.common.csv_files import number_or_text


@takes("problem", "output", only=SIZES[:4], vocab="4096", samples="65536", dim="128", length="64")
def bench(
    asked: Asked,
    dtype: Dtype = "float32",
    device: Device = "cpu",
    repeats: Annotated[str, typer.Option(metavar="COUNT", help="Turns to time, 5 to 1000.")] = "5",
) -> None:
    """Measure how fast this machine learns.

    Engines are timed against autograd and against the bare torch operations they need, all on one
    thread and in turns. A ratio is told with its 90 % interval, and not at all if turns differ
    too much.

    \b
    Examples:
      recallscope bench
      recallscope bench --vocab 1024 --samples 8192 --dtype float64 --json
    """
    from recallscope.api.bench import bench as measure
    from recallscope.cli.progress import ProgressDisplay

    to = output_from(asked.output)
    with ProgressDisplay("bench") as display:
        result = measure(
            problem_from(**asked.problem),
            dtype=dtype,
            device=device,
            repeats=number_or_text(repeats),
            progress=display.update,
        )
    to.show(result, print_bench)
