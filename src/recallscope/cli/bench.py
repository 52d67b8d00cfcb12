"""`recallscope bench`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from recallscope.cli.options import SIZES, Device, Dtype, Json, asks_for_a_problem
from recallscope.cli.parsing import problem_from
from recallscope.cli.tables.output import print_either
from recallscope.cli.tables.run import print_bench
from recallscope.common.csv_files import number_or_text


@asks_for_a_problem(only=SIZES[:4], vocab="4096", samples="65536", dim="128", length="64")
def bench(
    options: dict[str, Any],
    dtype: Dtype = "float64",
    device: Device = "cpu",
    repeats: Annotated[str, typer.Option(metavar="COUNT", help="Turns to time, 5 to 1000.")] = "5",
    as_json: Json = False,
) -> None:
    """Measure how fast this machine learns.

    Engines are timed against autograd and against the bare torch operations they need, all on one
    thread and in turns. A ratio is told with its 90 % interval, and not at all if turns differ
    too much.

    \b
    Examples:
      recallscope bench
      recallscope bench --vocab 1024 --samples 8192 --dtype float32 --json
    """
    from recallscope.experiment import bench as benchmark

    result = benchmark.bench(
        problem_from(**options),
        dtype=dtype,
        device=device,
        repeats=number_or_text(repeats),
        announce=lambda stage: print(f"timing {stage}", file=sys.stderr),
    )
    print_either(as_json, result.to_dict(), print_bench, result)
