"""`recallscope bench`."""

from __future__ import annotations

from recallscope.cli.options import Device, Dim, Dtype, Json, Length, Repeats, Samples, Vocab
from recallscope.cli.parsing import problem_from
from recallscope.cli.tables.output import print_json
from recallscope.cli.tables.run import print_bench
from recallscope.common.csv_files import number_or_text


def bench(
    vocab: Vocab = "4096",
    samples: Samples = "65536",
    dim: Dim = "128",
    length: Length = "64",
    dtype: Dtype = "float32",
    device: Device = "cpu",
    repeats: Repeats = "5",
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
    from recallscope.cli.progress import ProgressDisplay
    from recallscope.experiment import bench as benchmark

    problem = problem_from(vocab=vocab, samples=samples, dim=dim, length=length)
    with ProgressDisplay("bench") as display:
        result = benchmark.bench(
            problem,
            dtype=dtype,
            device=device,
            repeats=number_or_text(repeats),
            progress=display.update,
        )
    if as_json:
        print_json(result.to_dict())
    else:
        print_bench(result)
