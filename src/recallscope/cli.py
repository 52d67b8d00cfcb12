"""The command line: options in, tables or JSON out, no logic of its own."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope import __version__
from recallscope.problem import (
    ACTIVATIONS,
    FAMILIES,
    LARGEST_SEED,
    LARGEST_SIZE,
    REGIMES,
    Problem,
    ProblemError,
    whole_number,
)
from recallscope.tables import check_output

if TYPE_CHECKING:
    from recallscope.checks import CheckReport
    from recallscope.measurement.ablation import Comparison
    from recallscope.measurement.critical import CriticalSearch, CriticalSize
    from recallscope.measurement.phase import PhaseDiagram
    from recallscope.measurement.scaling import Scaling
    from recallscope.record import Record
    from recallscope.theory.capacity import Prediction, Solution
    from recallscope.theory.lower_bound import Bound
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
Target = Annotated[str, typer.Option(metavar="SHARE", help="The accuracy to reach, 0 to 1.")]
Figure = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write a figure: .pdf, .png or .svg.")
]
Csv = Annotated[str | None, typer.Option("--csv", metavar="FILE", help="Write a table: .csv.")]
Accuracy = Annotated[str, typer.Option(metavar="NAME", help="recall, lock or one-step.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Quantity = Annotated[
    str, typer.Option("--for", metavar="SIZE", help="samples, dim, width, vocab or length.")
]
Low = Annotated[str | None, typer.Option(metavar="SIZE", help="The smallest size to look at.")]
High = Annotated[str | None, typer.Option(metavar="SIZE", help="The largest size to look at.")]
Precision = Annotated[
    str, typer.Option(metavar="SHARE", help="The width of the interval that is good enough.")
]
Budget = Annotated[str, typer.Option(metavar="COUNT", help="The most runs of one search.")]
NoTheory = Annotated[
    bool, typer.Option("--no-theory", help="Look everywhere first, not where theory points.")
]
Source = Annotated[
    str | None, typer.Option("--from", metavar="FILE", help="A table made before; no runs.")
]


_PROBLEM = {
    "vocab": (Vocab, None),
    "samples": (Samples, None),
    "dim": (Dim, None),
    "length": (Length, None),
    "width": (Width, None),
    "activation": (Activation, None),
    "embedding": (Embedding, "sphere"),
    "trigger_in_values": (TriggerInValues, False),
    "regime": (Regime, "limit"),
    "eta": (Eta, None),
    "gamma": (Gamma, None),
}
_SEARCH = {
    "target": (Target, "0.5"),
    "accuracy": (Accuracy, "recall"),
    "low": (Low, None),
    "high": (High, None),
    "precision": (Precision, "0.1"),
    "budget": (Budget, "64"),
    "seed": (Seed, "0"),
    "no_theory": (NoTheory, False),
}

_INTERRUPTED = 130


def _asks_for_a_problem(**defaults: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a problem, and hand them over as one dictionary."""
    return _shares("options", _PROBLEM, defaults)


def _asks_for_a_search() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of a search, and hand them over as one dictionary."""
    return _shares("how", _SEARCH, {})


def _shares(
    place: str, group: dict[str, tuple[Any, Any]], defaults: dict[str, str]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        shared = [
            Parameter(
                name, Parameter.KEYWORD_ONLY, default=defaults.get(name, default), annotation=kind
            )
            for name, (kind, default) in group.items()
        ]
        asked = signature(command, eval_str=True)
        own = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for name, parameter in asked.parameters.items()
            if name != place
        ]

        @wraps(command)
        def with_options(**given: Any) -> Any:
            given[place] = {name: given.pop(name) for name in group}
            return command(**given)

        with_options.__signature__ = asked.replace(parameters=[*shared, *own])  # type: ignore[attr-defined]
        with_options.__annotations__ = {each.name: each.annotation for each in [*shared, *own]}
        return with_options

    return decorate


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
@_asks_for_a_problem()
def run(
    options: dict[str, Any],
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

    arrays, options["embedding"] = _own_arrays(options["embedding"])
    problem = _problem(**options)
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
@_asks_for_a_problem()
def predict(
    options: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Predict the accuracies from closed forms, and say which noise binds.

    \b
    Examples:
      recallscope predict --vocab 512 --samples 8192 --dim 64 --length 32
      recallscope predict --vocab 1e9 --samples 1e13 --dim 16384 --length 1e6 --json
    """
    from recallscope.theory import capacity

    problem = _closed_form_problem(options)
    found = capacity.predict(problem)
    if as_json:
        _print_json(found.to_dict())
    else:
        _print_prediction(found)


@app.command()
@_asks_for_a_problem()
def solve(
    options: dict[str, Any],
    quantity: Quantity,
    target: Target = "0.5",
    accuracy: Accuracy = "recall",
    as_json: Json = False,
) -> int:
    """Find the size that reaches a target accuracy, all else given.

    The smallest samples, dim or width, or the largest vocab or length; exit 1 if there is none.

    \b
    Examples:
      recallscope solve --for samples --target 0.9 --vocab 512 --dim 128 --length 16
      recallscope solve --for vocab --samples 1e6 --dim 256 --length 64
    """
    from recallscope.record import Status
    from recallscope.theory import capacity

    _fill_in(options, quantity)
    problem = _closed_form_problem(options)
    found = capacity.solve(problem, quantity, _number(target), _accuracy_name(accuracy))
    if as_json:
        _print_json(found.to_dict())
    else:
        _print_solution(found)
    return 0 if found.status is Status.OK else 1


@app.command()
@_asks_for_a_problem()
def bound(
    options: dict[str, Any],
    target: Target = "0.5",
    as_json: Json = False,
) -> None:
    """Say what no reader of the first gradient can do better than.

    \b
    Examples:
      recallscope bound --vocab 512 --samples 8192 --dim 64 --length 32
      recallscope bound --vocab 512 --samples 8192 --dim 64 --length 16 --width 256 --target 0.9
    """
    from recallscope.theory import lower_bound

    # The bound on N needs no N; with one, it also says how much V that N allows.
    options["samples"] = options["samples"] or "inf"
    problem = _closed_form_problem(options)
    found = lower_bound.bound(problem, _number(target))
    if as_json:
        _print_json({"problem": problem.to_dict() | {"key": problem.key}, "bound": found.to_dict()})
    else:
        _print_bound(problem, found)


@app.command()
@_asks_for_a_problem(vocab="256", samples="1024", dim="32", length="48")
def check(
    options: dict[str, Any],
    seeds: Seeds = "16",
    figure: Figure = None,
    as_json: Json = False,
) -> int:
    """Hold every closed form against its Monte-Carlo twin, around one small problem.

    Each size is halved and doubled; levels and slopes are compared. Exit code 1 if a term fails.

    \b
    Examples:
      recallscope check --figure check.png
      recallscope check --width 256 --trigger-in-values --json
    """
    from recallscope.checks import check as run_check
    from recallscope.progress import ProgressDisplay

    problem = _closed_form_problem(options)
    count = whole_number("seeds", _number(seeds), 2)
    path = _figure_path(figure)
    with ProgressDisplay(f"{count} seeds") as display:
        report = run_check(problem, count, display.update)
    if path is not None:
        from recallscope.pictures.check import check_figure
        from recallscope.pictures.style import save

        save(check_figure(report), path)
    if as_json:
        _print_json(report.to_dict())
    else:
        _print_check(report)
    return 1 if report.failed else 0


@app.command()
@_asks_for_a_problem()
def phase(
    options: dict[str, Any],
    x: Annotated[
        str | None, typer.Option(metavar="AXIS", help="dim=16:256:30, or dim=16,32,64.")
    ] = None,
    y: Annotated[
        str | None, typer.Option(metavar="AXIS", help="samples=512:65536:30; boundary along it.")
    ] = None,
    seeds: Seeds = "4",
    seed: Seed = "0",
    accuracy: Accuracy = "recall",
    target: Target = "0.5",
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float32",
    source: Source = None,
    csv: Csv = None,
    figure: Figure = None,
    as_json: Json = False,
) -> int:
    """Measure accuracy over a plane of two sizes, and hold the theory against it.

    Every cell has seeds of its own. Exit code 1 if a run failed.

    \b
    Examples:
      recallscope phase --x dim=16:256:12 --y samples=256:65536:12 --vocab 512 --length 4 \\
          --csv phase.csv --figure phase.pdf
      recallscope phase --from phase.csv --figure phase.svg
    """
    from recallscope.measurement import phase as measurement
    from recallscope.tables import read_csv, write_csv

    table, picture = _csv_path(csv), _figure_path(figure)
    if source is not None:
        if x or y:
            raise ProblemError("--from takes the axes from the table; leave --x and --y out")
        diagrams = measurement.from_rows(read_csv(source))
    else:
        diagrams = [
            _measure_phase(options, x, y, seeds, seed, accuracy, target, test_samples, dtype)
        ]
    if table is not None:
        write_csv([row for diagram in diagrams for row in diagram.rows()], table)
    if picture is not None:
        from recallscope.pictures.phase_diagram import phase_diagram_figure
        from recallscope.pictures.style import save

        save(phase_diagram_figure(diagrams), picture)
    if as_json:
        documents = [diagram.to_dict() for diagram in diagrams]
        _print_json(documents[0] if len(documents) == 1 else {"diagrams": documents})
    else:
        for diagram in diagrams:
            _print_phase(diagram)
    return 1 if any(diagram.failed for diagram in diagrams) else 0


@app.command()
@_asks_for_a_problem()
def ablate(
    options: dict[str, Any],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="embedding, mlp, trigger, steps, batch, gaussian; all that apply if none is given."
        ),
    ] = None,
    seeds: Seeds = "16",
    seed: Seed = "0",
    accuracy: Accuracy = "recall",
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float32",
    csv: Csv = None,
    figure: Figure = None,
    as_json: Json = False,
) -> int:
    """Change one thing at a time, and see what it does to the accuracy at the same seeds.

    Exit code 1 if a run failed.

    \b
    Examples:
      recallscope ablate --vocab 512 --samples 8192 --dim 64 --length 32 --figure ablations.pdf
      recallscope ablate mlp trigger --vocab 512 --samples 8192 --dim 64 --length 32 --width 256
    """
    from recallscope.measurement import ablation as measurement
    from recallscope.record import Status
    from recallscope.tables import write_csv

    table, picture = _csv_path(csv), _figure_path(figure)
    if Path(options["embedding"]).suffix == ".npz":
        raise ProblemError("arrays of your own are not ablated; compare them with recallscope run")
    problem, name = _problem(**options), _accuracy_name(accuracy)
    if names:
        ablations = [measurement.ablate(each, problem, name) for each in dict.fromkeys(names)]
    else:
        ablations = measurement.applicable(problem, name)
    count = whole_number("seeds", _number(seeds), 1, 10**6)
    first = whole_number("seed", _number(seed), 0, LARGEST_SEED - count + 1)
    tests = whole_number("test-samples", _number(test_samples), 1)
    runs = measurement.plan(ablations, count, first)
    records = _run_all(runs, f"{len(runs)} runs", test_samples=tests, dtype=dtype)
    found = [measurement.compare(each, records) for each in ablations]
    if table is not None:
        write_csv([comparison.row() for comparison in found], table)
    if picture is not None:
        from recallscope.pictures.ablation import ablation_figure
        from recallscope.pictures.style import save

        save(ablation_figure(found), picture)
    if as_json:
        _print_json(
            {
                "problem": problem.to_dict() | {"key": problem.key},
                "seeds": count,
                "ablations": [comparison.to_dict() for comparison in found],
            }
        )
    else:
        _print_ablations(problem, found)
    for record in records:
        if record.reason:
            print(f"recallscope: seed {record.seed}: {record.reason}", file=sys.stderr)
    return 1 if any(record.status is Status.FAILED for record in records) else 0


@app.command()
@_asks_for_a_problem()
@_asks_for_a_search()
def critical(
    options: dict[str, Any],
    how: dict[str, Any],
    quantity: Quantity,
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float32",
    csv: Csv = None,
    figure: Figure = None,
    as_json: Json = False,
) -> int:
    """Measure the size at which an accuracy crosses a target, with an interval.

    The smallest samples, dim or width, or the largest vocab or length. Exit code 1 if the target is
    not reached within the range, or if the runs failed. The table holds the points of the curve.

    \b
    Examples:
      recallscope critical --for samples --vocab 512 --dim 96 --length 16 --figure critical.pdf
      recallscope critical --for vocab --accuracy lock --target 0.9 --samples 8192 --dim 64 \\
          --length 64 --json
    """
    from recallscope.record import Status
    from recallscope.tables import write_csv

    table, picture = _csv_path(csv), _figure_path(figure)
    _fill_in(options, quantity)
    search = _search(_closed_form_problem(options), quantity, how)
    _carry_out([search], test_samples, dtype)
    found = search.result()
    if table is not None:
        write_csv(found.curve, table)
    if picture is not None:
        from recallscope.pictures.critical import critical_figure
        from recallscope.pictures.style import save

        save(critical_figure(found), picture)
    if as_json:
        _print_json(found.to_dict())
    else:
        _print_critical(found)
    return 0 if found.status is Status.OK else 1


@app.command()
@_asks_for_a_problem()
@_asks_for_a_search()
def fit(
    options: dict[str, Any],
    how: dict[str, Any],
    quantity: Annotated[
        str | None, typer.Option("--for", metavar="SIZE", help="The size whose law is sought.")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS", help="dim=32:128:5, or dim=32,64,96; once for each size."),
    ] = None,
    test_samples: TestSamples = "4096",
    dtype: Dtype = "float32",
    source: Source = None,
    csv: Csv = None,
    figure: Figure = None,
    as_json: Json = False,
) -> int:
    """Measure the power law of a critical size: exponents with intervals, and if it is one.

    Sizes are varied one at a time about the problem given. The table holds the critical sizes, and
    --from fits such a table without a run. Exit code 1 if the law is undetermined.

    \b
    Examples:
      recallscope fit --for samples --accuracy one-step --vocab 256 --dim 100 --length 16 \\
          --vary dim=64:160:5 --vary length=8:32:5 --csv law.csv --figure law.pdf
      recallscope fit --from law.csv --json
    """
    from recallscope.measurement import scaling
    from recallscope.measurement.law import FitStatus
    from recallscope.tables import read_csv, write_csv

    table, picture = _csv_path(csv), _figure_path(figure)
    if source is not None:
        if vary or quantity:
            raise ProblemError("--from takes all from the table; leave --for and --vary out")
        found = scaling.scaling_from_rows(read_csv(source))
    else:
        found = _measure_law(options, how, quantity, vary or [], test_samples, dtype)
    if table is not None:
        write_csv(found.rows, table)
    if picture is not None:
        from recallscope.pictures.scaling import scaling_figure
        from recallscope.pictures.style import save

        save(scaling_figure(found), picture)
    if as_json:
        _print_json(found.to_dict())
    else:
        _print_law(found)
    return 1 if found.law.status is FitStatus.UNDETERMINED else 0


@app.command()
def cite() -> None:
    """Print BibTeX for the paper and for this software."""
    from recallscope.citation import bibtex

    print(bibtex(__version__))


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


def _closed_form_problem(options: dict[str, Any]) -> Problem:
    """A problem to predict; arrays of one's own have no closed form."""
    if Path(options["embedding"]).suffix == ".npz":
        raise ProblemError("arrays of your own have no closed form; use recallscope run")
    return _problem(**options)


def _own_arrays(embedding: str) -> tuple[Embeddings | None, str]:
    """The arrays of a file and their name, or no arrays and the name of a family."""
    if Path(embedding).suffix != ".npz":
        return None, embedding
    from recallscope.world.embeddings import Embeddings

    arrays = Embeddings.load(embedding)
    return arrays, arrays.name


def _fill_in(options: dict[str, Any], size: str) -> None:
    """Give a size that is not asked for some value that makes a problem."""
    from recallscope.theory.capacity import SIZES

    if size not in SIZES:
        raise ProblemError(f"the size sought is one of {', '.join(SIZES)}, not {size!r}")
    options[size] = "2" if size == "vocab" else "1"
    if options["embedding"] == "orthogonal" and size == "dim" and options["vocab"]:
        vocab = whole_number("vocab", _number(options["vocab"]), 2, LARGEST_SIZE - 1)
        options["dim"] = str(vocab + 1)


def _accuracy_name(accuracy: str) -> str:
    return f"{accuracy.replace('-', '_').removesuffix('_accuracy')}_accuracy"


def _measure_phase(
    options: dict[str, Any],
    x: str | None,
    y: str | None,
    seeds: str,
    seed: str,
    accuracy: str,
    target: str,
    test_samples: str,
    dtype: str,
) -> PhaseDiagram:
    """Run every cell of a plane."""
    from recallscope.measurement.axis import parse_axis
    from recallscope.measurement.phase import check_question, phase_diagram, plan

    if x is None or y is None:
        raise ProblemError("a phase diagram needs --x and --y, as in --x dim=16:256:30")
    axes = parse_axis(x), parse_axis(y)
    for axis in axes:
        _fill_in(options, axis.name)
    problem = _closed_form_problem(options)
    name, share = _accuracy_name(accuracy), _number(target)
    check_question(name, share)
    count = whole_number("seeds", _number(seeds), 1, 10**6)
    first = whole_number("seed", _number(seed), 0, 2**62)
    tests = whole_number("test-samples", _number(test_samples), 1)
    runs = plan(problem, *axes, count, first)
    records = _run_all(runs, f"{len(runs)} runs", test_samples=tests, dtype=dtype)
    return phase_diagram(records, axes[0].name, axes[1].name, name, share)


def _run_all(runs: list[tuple[Problem, int]], what: str, **how: Any) -> list[Record]:
    """Run experiments, and show how far they have come."""
    from recallscope.progress import ProgressDisplay
    from recallscope.runs import run_all

    with ProgressDisplay(what) as display:
        return run_all(runs, display.update, **how)


def _search(problem: Problem, quantity: str, how: dict[str, Any]) -> CriticalSearch:
    """A search from the options of one."""
    from recallscope.measurement.critical import CriticalSearch

    low, high = (
        None if how[name] is None else whole_number(name, _number(how[name]), 1)
        for name in ("low", "high")
    )
    return CriticalSearch(
        problem,
        quantity,
        _number(how["target"]),
        _accuracy_name(how["accuracy"]),
        low=low,
        high=high,
        precision=_number(how["precision"]),
        budget=_number(how["budget"]),
        first_seed=whole_number("seed", _number(how["seed"]), 0, 2**62),
        prior=None if how["no_theory"] else "theory",
    )


def _carry_out(searches: list[CriticalSearch], test_samples: str, dtype: str) -> None:
    """Run searches to their end, and show how far they have come."""
    from recallscope import experiment
    from recallscope.progress import ProgressDisplay
    from recallscope.runs import carry_out

    tests = whole_number("test-samples", _number(test_samples), 1)
    for search in searches:
        experiment.check(search.problem, test_samples=tests, dtype=dtype)
    what = "1 search" if len(searches) == 1 else f"{len(searches)} searches"
    with ProgressDisplay(what) as display:
        carry_out(searches, display.update, test_samples=tests, dtype=dtype)


def _measure_law(
    options: dict[str, Any],
    how: dict[str, Any],
    quantity: str | None,
    vary: list[str],
    test_samples: str,
    dtype: str,
) -> Scaling:
    """Search for the critical size of every problem about the one given."""
    from recallscope.measurement.axis import parse_axis
    from recallscope.measurement.scaling import one_at_a_time, scaling_of

    if quantity is None or not vary:
        raise ProblemError("a law needs --for and --vary, as in --for samples --vary dim=32:128:5")
    axes = [parse_axis(each) for each in vary]
    for axis in axes:
        if axis.name == quantity:
            raise ProblemError(f"{quantity} is the size sought; vary another")
        if options[axis.name] is None:
            raise ProblemError(
                f"sizes are varied one at a time about a problem; give --{axis.name} too"
            )
    _fill_in(options, quantity)
    problems = one_at_a_time(_closed_form_problem(options), axes)
    searches = [_search(problem, quantity, how) for problem in problems]
    _carry_out(searches, test_samples, dtype)
    return scaling_of([search.result() for search in searches])


def _number(text: str) -> Any:
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
    made = records[0].provenance
    _print_problem(problem)
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


def _print_prediction(found: Prediction) -> None:
    from rich.console import Console
    from rich.table import Table

    _print_problem(found.problem)
    for name in ("lock_accuracy", "recall_accuracy", "one_step_accuracy"):
        print(f"{name.replace('_', ' '):18} {getattr(found, name):.4f}")
    table = Table("noise", "one step", "lock", "recall")
    for column in table.columns[1:]:
        column.justify = "right"
    for term in dict.fromkeys(term for terms in found.noise.values() for term in terms):
        cells = [found.noise[stage].get(term) for stage in ("one_step", "lock", "recall")]
        if any(cells):
            shown = ["–" if cell is None else f"{cell:.3g}" for cell in cells]
            table.add_row(term.replace("_", " "), *shown)
    Console().print(table)
    stage, term = found.dominant
    law = " · ".join(f"{name}^{power:g}" for name, power in found.exponents.items() if power)
    print(
        "Variances in units of the squared signal. What binds: "
        f"{term.replace('_', ' ')} of {stage.replace('_', ' ')}, as {law or 'a constant'}."
    )
    if not found.in_tested_range:
        print("Not held against simulation: tested were vocab >= 256, dim >= 16, width >= 64.")


def _print_solution(found: Solution) -> None:
    from recallscope.theory.capacity import GROWS

    if found.value is None:
        print(f"No {found.quantity} reaches {found.target:g}: {found.reason}.")
        return
    at = getattr(found.prediction, found.accuracy)
    extreme = "smallest" if GROWS[found.quantity] else "largest"
    print(
        f"{found.quantity} = {found.value}, the {extreme} that reaches "
        f"{found.accuracy.replace('_', ' ')} {found.target:g} (predicted {at:.4f})"
    )


def _print_bound(problem: Problem, found: Bound) -> None:
    from rich.console import Console
    from rich.table import Table

    print(
        f"To have {found.accuracy:g} of {problem.vocab} facts right, any reader of the first "
        f"gradient needs N ≥ {math.ceil(found.samples) if found.samples < 1e15 else found.samples}."
    )
    if math.isfinite(problem.samples):
        print(f"From N = {problem.samples:g} none has them right for V above {found.vocab:g}.")
    table = Table("bound", "samples")
    table.columns[1].justify = "right"
    for name in ("gradient", "counting", "coverage"):
        binds = " (binds)" if name == found.binding else ""
        table.add_row(name + binds, f"{getattr(found, f'{name}_samples'):.6g}")
    Console().print(table)
    print(
        f"Needed: {found.information_needed:.6g} nats. The gradient of N = {problem.samples:g} "
        f"tells at most {found.gradient_information:.6g}, in {found.gradient_rank:.6g} dimensions "
        f"with a signal-to-noise of {found.signal_to_noise:.3g} each."
    )
    print(found.assumption)
    print(found.not_covered)


def _figure_path(figure: str | None) -> Path | None:
    """Where a figure goes, checked before the work begins."""
    if figure is None:
        return None
    from recallscope.pictures.style import check_path

    return check_path(figure)


def _csv_path(table: str | None) -> Path | None:
    """Where a table goes, checked before the work begins."""
    return None if table is None else check_output(table, "table", (".csv",))


def _print_check(report: CheckReport) -> None:
    from rich.console import Console
    from rich.table import Table

    _print_problem(report.problem)
    table = Table("noise", "along", "ratio", "slope", "theory", "verdict")
    for column in table.columns[2:5]:
        column.justify = "right"
    last = None
    for c in report.comparisons:
        name = f"{c.stage}: {c.term}".replace("_", " ")
        table.add_row(
            "" if name == last else name,
            c.size,
            f"{c.ratio:.2f}",
            f"{c.measured_slope:.2f} ± {c.slope_error:.2f}",
            f"{c.predicted_slope:.2f}",
            str(c.verdict),
        )
        last = name
    Console().print(table)
    print(
        f"Ratio: measured over predicted. Slope: measured, of logarithms, ± a standard error, from "
        f"means over {report.seeds} worlds; beside it the theory's."
    )
    unclear = sum(str(c.verdict) == "unclear" for c in report.comparisons)
    if unclear:
        print(f"{unclear} of {len(report.comparisons)} comparisons are unclear: take more seeds.")
    if report.failed:
        names = ", ".join(f"{term} of {stage}" for stage, term in report.failed)
        print(f"FAILED: {names.replace('_', ' ')}.")
    else:
        print("No closed form failed.")


def _print_phase(diagram: PhaseDiagram) -> None:
    from rich.console import Console
    from rich.table import Table

    given = ", ".join(f"{name}={each}" for name, each in diagram.shared.items() if each is not None)
    Console().print(given, highlight=False, soft_wrap=True)
    kind = diagram.accuracy.replace("_", " ")
    table = Table(diagram.x.name, f"{diagram.y.name}, measured", "95 % interval", "predicted")
    for column in table.columns:
        column.justify = "right"
    first, last = diagram.y.values[0], diagram.y.values[-1]
    for x, found, predicted in zip(
        diagram.x.values, diagram.boundary, diagram.theory_boundary, strict=True
    ):
        low = f"under {first}" if found.low is None else f"{found.low:.0f}"
        high = f"over {last}" if found.high is None else f"{found.high:.0f}"
        measured = str(found.status) if found.value is None else f"{found.value:.0f}"
        ends = f"{low} to {high}"
        if found.low is None and found.high is None:
            ends = "unknown"
        elif found.value is None:
            ends = high if found.low == last else low
        theory = "none" if predicted is None else str(predicted)
        table.add_row(str(x), measured, ends, theory)
    Console().print(table)
    print(f"The {diagram.y.name} at which {kind} crosses {diagram.target:g}.")
    share = f" ({diagram.disagreeing / diagram.compared:.1%})" if diagram.compared else ""
    print(
        f"Theory lies outside the 95 % interval in {diagram.disagreeing} of {diagram.compared} "
        f"cells{share}, of {diagram.seeds} seeds each; by chance it would in one of twenty."
    )
    if diagram.failed:
        print(f"{diagram.failed} runs failed and are left out.")


def _print_critical(found: CriticalSize) -> None:
    _print_problem(found.problem, found.quantity)
    kind = found.accuracy.replace("_", " ")
    if found.value is None:
        print(f"{found.status}: {found.reason}.")
    else:
        low, high = (
            f"{word} {end}" if end is not None else f"{word} outside of the range"
            for word, end in (("from", found.low), ("to", found.high))
        )
        print(
            f"{found.quantity} = {found.value}, where {kind} crosses {found.target:g} "
            f"(95 % interval {low} {high})"
        )
    said = "not at any size" if found.theory is None else found.theory
    print(f"Predicted by closed forms: {said}.")
    failed = f", {found.failures} of which failed and are left out" if found.failures else ""
    print(f"From {found.evaluations} runs{failed}, each with a seed of its own.")


def _print_law(found: Scaling) -> None:
    from rich.console import Console
    from rich.table import Table

    from recallscope.measurement.law import FitStatus

    law = found.law
    table = Table("size", "exponent", "95 % interval", "closed forms")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, power in law.exponents.items():
        theory = found.theory.get(name)
        table.add_row(
            name,
            f"{power.value:.3f}",
            f"{power.low:.3f} to {power.high:.3f}",
            "–" if theory is None else f"{theory:.3f}",
        )
    print(
        f"The law of {found.quantity} at {found.accuracy.replace('_', ' ')} {found.target:g}, "
        f"from {law.reached} critical sizes and {law.bounds} bounds:"
    )
    Console().print(table)
    print(f"{law.status}: {law.status.advice}")
    if law.status is not FitStatus.UNDETERMINED:
        print(
            f"Chance of points this far from a law: {law.chance:.2g}; "
            f"scatter beyond their errors: {law.scatter:.1%}."
        )
    if law.separable is not None:
        verdict = "rejected" if law.separable.rejected else "not rejected"
        print(
            f"That {found.quantity} depends on none of these: {verdict} "
            f"(chance {law.separable.chance:.2g})."
        )
    if found.collapse is not None:
        raw, by_law, own, seeds = found.collapse
        print(
            f"Collapse, rms of accuracy about one curve: {by_law:.3f} against the size over the "
            f"law's, {raw:.3f} against the size itself, {own:.3f} over each one's own critical "
            f"size; {seeds:.3f} about each one's own curve."
        )


def _print_ablations(problem: Problem, found: list[Comparison]) -> None:
    from rich.console import Console
    from rich.table import Table

    _print_problem(problem)
    table = Table("ablation", "A", "B", "B − A, 95 % interval", "verdict")
    for column in table.columns[1:4]:
        column.justify = "right"
    for each in found:
        name, a, b, _ = each.ablation
        means = ["–" if mean is None else f"{mean.mean:.3f}" for mean in (each.a, each.b)]
        seen = "–"
        if each.difference is not None:
            mean, low, high = each.difference
            seen = f"{mean:+.3f}\n{low:+.3f} to {high:+.3f}"
        table.add_row(f"{name}\n{a.label} → {b.label}", *means, seen, str(each.verdict))
    Console().print(table)
    for each in found:
        if each.ablation.note:
            print(f"{each.ablation.name}: {each.ablation.note}.")
        if str(each.verdict) == "no difference seen":
            print(
                f"{each.ablation.name}: a difference of up to {each.largest:.3f} is not excluded."
            )
        if each.failed or each.infeasible:
            print(
                f"{each.ablation.name}: {each.failed} pairs with a failed and {each.infeasible} "
                "with an infeasible run are left out."
            )
    print(
        f"Means over {max(each.pairs for each in found)} seeds, the same in both arms, tested on "
        f"{max(each.tests for each in found)} fresh samples each."
    )


def _print_problem(problem: Problem, sought: str | None = None) -> None:
    """The fields of a problem, without a size that is sought and so has no value."""
    from rich.console import Console

    given = ", ".join(
        f"{name}={value}"
        for name, value in problem.to_dict().items()
        if value is not None and name != sought
    )
    Console().print(given, highlight=False, soft_wrap=True)


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
