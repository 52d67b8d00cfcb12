"""The command line: options in, tables or JSON out, no logic of its own."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope import __version__
from recallscope.problem import (
    ACTIVATIONS,
    FAMILIES,
    LARGEST_SEED,
    REGIMES,
    Problem,
    ProblemError,
    whole_number,
)

if TYPE_CHECKING:
    from recallscope.record import Record
    from recallscope.world.embeddings import Embeddings

app = typer.Typer(
    name="recallscope",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="How many facts can a transformer learn to recall, from how much data, and why?",
)

# Sizes come as text, so that 1e6 and inf are numbers and every mistake is told the same way.
Vocab = Annotated[str | None, typer.Option(metavar="V", help="Tokens, and facts to learn.")]
Samples = Annotated[
    str | None, typer.Option(metavar="N", help="Samples in the batch, or inf for its expectation.")
]
Dim = Annotated[str | None, typer.Option(metavar="D", help="Dimension of the embeddings.")]
Length = Annotated[str | None, typer.Option(metavar="L", help="Tokens in a sequence.")]
Width = Annotated[str | None, typer.Option(metavar="M", help="Width of the MLP; none without.")]
Activation = Annotated[str | None, typer.Option(metavar="NAME", help=", ".join(ACTIVATIONS) + ".")]
Embedding = Annotated[
    str, typer.Option(metavar="NAME", help=", ".join(FAMILIES) + ", or your own arrays: FILE.npz.")
]
TriggerInValues = Annotated[
    bool, typer.Option("--trigger-in-values", help="Add the trigger to the values too.")
]
Regime = Annotated[str, typer.Option(metavar="NAME", help=", ".join(REGIMES) + ".")]
Eta = Annotated[str | None, typer.Option(metavar="STEP", help="First step; literal regime only.")]
Gamma = Annotated[
    str | None, typer.Option(metavar="STEP", help="Later steps; literal regime only.")
]
Engine = Annotated[str, typer.Option(metavar="NAME", help="auto, stream, counts.")]
Seed = Annotated[str, typer.Option(metavar="NUMBER", help="The first seed.")]
Seeds = Annotated[str, typer.Option(metavar="COUNT", help="How many seeds, from the first on.")]
TestSamples = Annotated[str, typer.Option(metavar="COUNT", help="Fresh samples to test on.")]
Dtype = Annotated[str, typer.Option(metavar="NAME", help="float64, float32.")]
Device = Annotated[str, typer.Option(metavar="NAME", help="Where torch computes: cpu, cuda, …")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


_INTERRUPTED = 130


def main() -> None:
    """Run the command line; a user's mistake is one sentence on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without α is no reason to fail
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        if code == _INTERRUPTED:
            _complain("stopped", code)
    except ProblemError as error:
        code = _complain(str(error), 2)
    except Exception as error:
        # Mistakes in the call itself share no public base class across versions of typer.
        if not hasattr(error, "format_message"):
            raise
        code = _complain(f"{error.format_message().rstrip('.')}; see recallscope --help", 2)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(sentence: str, code: int) -> int:
    print(f"recallscope: {sentence}", file=sys.stderr)
    return code


def _version(wanted: bool) -> None:
    if wanted:
        print(f"recallscope {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def run(
    vocab: Vocab = None,
    samples: Samples = None,
    dim: Dim = None,
    length: Length = None,
    width: Width = None,
    activation: Activation = None,
    embedding: Embedding = "sphere",
    trigger_in_values: TriggerInValues = False,
    regime: Regime = "limit",
    eta: Eta = None,
    gamma: Gamma = None,
    engine: Engine = "auto",
    seed: Seed = "0",
    seeds: Seeds = "1",
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float64",
    device: Device = "cpu",
    as_json: Json = False,
) -> int:
    """Run one experiment at one or more seeds.

    \b
    Examples:
      recallscope run --vocab 512 --samples 8192 --dim 64 --length 32 --seeds 16
      recallscope run --vocab 512 --samples 8192 --dim 64 --length 16 --width 256
      recallscope run --vocab 512 --samples inf --dim 64 --length 32 --json
    """
    from recallscope import experiment
    from recallscope.intervals import summarise
    from recallscope.progress import ProgressDisplay
    from recallscope.record import Status

    arrays, embedding = _own_arrays(embedding)
    problem = _problem(
        vocab=vocab,
        samples=samples,
        dim=dim,
        length=length,
        width=width,
        activation=activation,
        embedding=embedding,
        trigger_in_values=trigger_in_values,
        regime=regime,
        eta=eta,
        gamma=gamma,
    )
    count = whole_number("seeds", _number(seeds), 1, 10**6)
    first = whole_number("seed", _number(seed), 0, LARGEST_SEED - count + 1)
    tests = whole_number("test-samples", _number(test_samples), 1)
    how: dict[str, Any] = {"engine": engine, "test_samples": tests, "dtype": dtype}
    experiment.check(problem, device=device, embeddings=arrays, **how)
    experiment.check_memory(problem, **how)
    records: list[Record] = []
    with ProgressDisplay(f"{count} seed{'s' if count > 1 else ''}") as display:
        for number in range(first, first + count):

            def progress(done: int, total: int) -> None:
                display.update(len(records) + done / total, count)

            records.append(
                experiment.run(
                    problem, number, device=device, embeddings=arrays, progress=progress, **how
                )
            )
            display.update(len(records), count)
    summary = {name: mean._asdict() for name, mean in summarise(records).items()}
    if as_json:
        _print_json(
            {
                "problem": problem.to_dict() | {"key": problem.key},
                "records": [record.to_dict() for record in records],
                "summary": summary,
            }
        )
    else:
        _print_run(problem, records, summary)
    return 0 if all(record.status is Status.OK for record in records) else 1


@app.command()
def bench(
    vocab: Vocab = "4096",
    samples: Samples = "65536",
    dim: Dim = "128",
    length: Length = "64",
    dtype: Dtype = "float64",
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Measure how fast this machine learns.

    Engines are timed against autograd and against the bare torch operations they need.

    \b
    Examples:
      recallscope bench
      recallscope bench --vocab 1024 --samples 8192 --dtype float32 --json
    """
    from recallscope import bench as benchmark

    problem = _problem(vocab=vocab, samples=samples, dim=dim, length=length)
    result = benchmark.bench(
        problem,
        dtype=dtype,
        device=device,
        announce=lambda stage: print(f"timing {stage}", file=sys.stderr),
    )
    if as_json:
        _print_json(result)
    else:
        _print_bench(result)


def _problem(**options: Any) -> Problem:
    numbers = ("vocab", "samples", "dim", "length", "width", "eta", "gamma")
    fields = {
        name: _number(value) if name in numbers else value
        for name, value in options.items()
        if value is not None
    }
    return Problem.from_dict(fields)


def _own_arrays(embedding: str) -> tuple[Embeddings | None, str]:
    """The arrays of a file and their name, or no arrays and the name of a family."""
    if Path(embedding).suffix != ".npz":
        return None, embedding
    from recallscope.world.embeddings import Embeddings

    arrays = Embeddings.load(embedding)
    return arrays, arrays.name


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text  # the problem says what it expected instead


def _print_json(document: dict[str, Any]) -> None:
    print(json.dumps(document, indent=2, allow_nan=False))


def _print_run(problem: Problem, records: list[Record], summary: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    given = ", ".join(
        f"{name}={value}" for name, value in problem.to_dict().items() if value is not None
    )
    made = records[0].provenance
    console.print(given, highlight=False, soft_wrap=True)
    console.print(
        f"key {problem.key}, {made.engine} engine, {made.dtype}, "
        f"{sum(record.provenance.elapsed_seconds for record in records):.2f} s",
        highlight=False,
        soft_wrap=True,
    )
    table = Table("seed", "status", "lock", "recall", "one step", "signal", "noise", "cos(α, t)")
    table.columns[0].overflow = "fold"
    for column in table.columns[2:]:
        column.justify = "right"
    for record in records:
        cells = [
            record.lock_accuracy,
            record.recall_accuracy,
            record.one_step_accuracy,
            record.score_signal,
            record.score_noise,
            record.trigger_cosine,
        ]
        shown = ["–" if cell is None else f"{cell:.3f}" for cell in cells]
        table.add_row(str(record.seed), str(record.status), *shown)
    console.print(table)
    for record in records:
        if record.reason:
            print(f"recallscope: seed {record.seed}: {record.reason}", file=sys.stderr)
    tested = [record for record in records if record.test_samples]
    for name, mean in summary.items():
        console.print(
            f"{name.replace('_', ' '):18} {mean['mean']:.4f}  "
            f"(95 % interval {mean['low']:.4f} to {mean['high']:.4f})",
            highlight=False,
        )
    if tested:
        seeds = f"{len(tested)} seeds" if len(tested) > 1 else "one seed"
        print(
            f"Intervals are for the mean over all seeds, from {seeds} "
            f"tested on {tested[0].test_samples} fresh samples each."
        )


def _print_bench(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    problem, seconds = result["problem"], result["seconds"]
    print(
        f"V={problem['vocab']} N={problem['samples']} d={problem['dim']} L={problem['length']}, "
        f"{result['dtype']} on {result['device']}, {result['threads']} threads"
    )
    table = Table("three steps by", "seconds", "ratio", "of")
    table.columns[1].justify = table.columns[2].justify = "right"
    rows = (
        (f"{result['engine']} engine", "engine", "speedup_over_autograd", "autograd's speed"),
        ("its bare torch operations", "bare", "fraction_of_bare", "reached by the engine"),
        ("literal engine", "literal", "literal_speedup_over_autograd", "autograd's speed"),
        (
            "its bare matrix products",
            "literal_bare",
            "literal_fraction_of_bare",
            "reached by the engine",
        ),
    )
    for label, time, ratio, of in rows:
        table.add_row(label, f"{seconds[time]:.3f}", f"{result[ratio]:.2f}", of)
    table.add_row("autograd", f"{seconds['autograd']:.3f}", "", "")
    Console().print(table)
