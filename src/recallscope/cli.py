"""The command line: options in, tables or JSON out, no logic of its own."""

from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recallscope import __version__, cli_paper, cli_sweeps, terminal
from recallscope.options import (
    Accuracy,
    Csv,
    Device,
    Dim,
    Dtype,
    Engine,
    Figure,
    Json,
    Length,
    Quantity,
    Samples,
    Seed,
    Seeds,
    Source,
    Target,
    TestSamples,
    Vocab,
    asks_for_a_problem,
    asks_for_a_search,
    asks_where_to_run,
)
from recallscope.problem import (
    LARGEST_SEED,
    LARGEST_SIZE,
    Problem,
    ProblemError,
    whole_number,
)
from recallscope.record import accuracy_name
from recallscope.tables import check_output, number_or_text

if TYPE_CHECKING:
    from recallscope.measurement.critical import CriticalSearch
    from recallscope.measurement.phase import PhaseDiagram
    from recallscope.measurement.scaling import Scaling
    from recallscope.record import Record
    from recallscope.sweeps.cell import Settings
    from recallscope.world.embeddings import Embeddings

app = typer.Typer(
    name="recallscope",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="How many facts can a transformer learn to recall, from how much data, and why?",
)

app.command()(cli_sweeps.sweep)
app.add_typer(cli_sweeps.records)
app.add_typer(cli_paper.paper)

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; a user's mistake is one sentence on stderr and exit code 2."""
    signal.signal(signal.SIGINT, _interrupt)
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


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Ctrl-C. In the midst of an import it would be lost: some modules let no exception out."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"recallscope: stopped\n")
            os._exit(_INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


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
@asks_for_a_problem()
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
    count = whole_number("seeds", number_or_text(seeds), 1, 10**6)
    first = whole_number("seed", number_or_text(seed), 0, LARGEST_SEED - count + 1)
    tests = whole_number("test-samples", number_or_text(test_samples), 1)
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
        terminal.print_json(
            {
                "problem": problem.to_dict() | {"key": problem.key},
                "records": [record.to_dict() for record in records],
                "summary": summary,
            }
        )
    else:
        terminal.print_run(problem, records, summary)
    return 0 if all(record.status is Status.OK for record in records) else 1


@app.command()
@asks_for_a_problem()
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
        terminal.print_json(found.to_dict())
    else:
        terminal.print_prediction(found)


@app.command()
@asks_for_a_problem()
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
    found = capacity.solve(problem, quantity, number_or_text(target), accuracy_name(accuracy))
    if as_json:
        terminal.print_json(found.to_dict())
    else:
        terminal.print_solution(found)
    return 0 if found.status is Status.OK else 1


@app.command()
@asks_for_a_problem()
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
    found = lower_bound.bound(problem, number_or_text(target))
    if as_json:
        terminal.print_json(
            {"problem": problem.to_dict() | {"key": problem.key}, "bound": found.to_dict()}
        )
    else:
        terminal.print_bound(problem, found)


@app.command()
@asks_for_a_problem(vocab="256", samples="1024", dim="32", length="48")
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
    count = whole_number("seeds", number_or_text(seeds), 2)
    path = _figure_path(figure)
    with ProgressDisplay(f"{count} seeds") as display:
        report = run_check(problem, count, display.update)
    if path is not None:
        from recallscope.pictures.check import check_figure
        from recallscope.pictures.style import save

        save(check_figure(report), path)
    if as_json:
        terminal.print_json(report.to_dict())
    else:
        terminal.print_check(report)
    return 1 if report.failed else 0


@app.command()
@asks_for_a_problem()
@asks_for_a_search()
@asks_where_to_run()
def critical(
    options: dict[str, Any],
    how: dict[str, Any],
    where: dict[str, Any],
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
    cli_sweeps.carry_out([search], _settings(test_samples, dtype), where)
    found = search.result()
    if table is not None:
        write_csv(found.curve, table)
    if picture is not None:
        from recallscope.pictures.critical import critical_figure
        from recallscope.pictures.style import save

        save(critical_figure(found), picture)
    if as_json:
        terminal.print_json(found.to_dict())
    else:
        terminal.print_critical(found)
    return 0 if found.status is Status.OK else 1


@app.command()
@asks_for_a_problem()
@asks_for_a_search()
@asks_where_to_run()
def fit(
    options: dict[str, Any],
    how: dict[str, Any],
    where: dict[str, Any],
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
        settings = _settings(test_samples, dtype)
        found = _measure_law(options, how, where, quantity, vary or [], settings)
    if table is not None:
        write_csv(found.rows, table)
    if picture is not None:
        from recallscope.pictures.scaling import scaling_figure
        from recallscope.pictures.style import save

        save(scaling_figure(found), picture)
    if as_json:
        terminal.print_json(found.to_dict())
    else:
        terminal.print_law(found)
    return 1 if found.law.status is FitStatus.UNDETERMINED else 0


@app.command()
@asks_for_a_problem()
@asks_where_to_run()
def phase(
    options: dict[str, Any],
    where: dict[str, Any],
    x: Annotated[
        str | None, typer.Option(metavar="AXIS", help="dim=16:256:30, or dim=16,32,64.")
    ] = None,
    y: Annotated[
        str | None, typer.Option(metavar="AXIS", help="samples=512:65536:30; boundary along it.")
    ] = None,
    seeds: Seeds = "4",
    seed: Seed = "0",
    accuracy: Annotated[
        str | None, typer.Option(metavar="NAME", help="recall (the default), lock or one-step.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="SHARE", help="The accuracy to cross, 0.5 by default.")
    ] = None,
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
      recallscope phase --from facts --x dim --y samples --figure facts.pdf
    """
    from recallscope.measurement import phase as measurement
    from recallscope.tables import read_csv, write_csv

    table, picture = _csv_path(csv), _figure_path(figure)
    if source is not None:
        if _is_store(source):
            asked = (accuracy or "recall", target or "0.5")
            diagrams = [_phase_of_store(options, source, x, y, *asked)]
        elif x or y or accuracy:
            raise ProblemError(
                "--from takes axes and accuracy from the table; leave --x, --y and --accuracy out"
            )
        else:
            share = None if target is None else number_or_text(target)
            diagrams = measurement.from_rows(read_csv(source), share)
    else:
        asked = (accuracy or "recall", target or "0.5")
        settings = _settings(test_samples, dtype)
        diagrams = [_measure_phase(options, where, x, y, seeds, seed, *asked, settings)]
    if table is not None:
        write_csv([row for diagram in diagrams for row in diagram.rows()], table)
    if picture is not None:
        from recallscope.pictures.phase_diagram import phase_diagram_figure
        from recallscope.pictures.style import save

        save(phase_diagram_figure(diagrams), picture)
    if as_json:
        documents = [diagram.to_dict() for diagram in diagrams]
        terminal.print_json(documents[0] if len(documents) == 1 else {"diagrams": documents})
    else:
        for diagram in diagrams:
            terminal.print_phase(diagram)
    return 1 if any(diagram.failed or not diagram.compared for diagram in diagrams) else 0


@app.command()
@asks_for_a_problem()
@asks_where_to_run()
def ablate(
    options: dict[str, Any],
    where: dict[str, Any],
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
    problem, name = _problem(**options), accuracy_name(accuracy)
    if names:
        ablations = [measurement.ablate(each, problem, name) for each in dict.fromkeys(names)]
    else:
        ablations = measurement.applicable(problem, name)
    count = whole_number("seeds", number_or_text(seeds), 1, 10**6)
    first = whole_number("seed", number_or_text(seed), 0, LARGEST_SEED - count + 1)
    runs = measurement.plan(ablations, count, first)
    records = cli_sweeps.run_all(runs, _settings(test_samples, dtype), where)
    found = [measurement.compare(each, records) for each in ablations]
    if table is not None:
        write_csv([comparison.row() for comparison in found], table)
    if picture is not None:
        from recallscope.pictures.ablation import ablation_figure
        from recallscope.pictures.style import save

        save(ablation_figure(found), picture)
    if as_json:
        terminal.print_json(
            {
                "problem": problem.to_dict() | {"key": problem.key},
                "seeds": count,
                "ablations": [comparison.to_dict() for comparison in found],
            }
        )
    else:
        terminal.print_ablations(problem, found)
    for record in records:
        if record.reason:
            print(f"recallscope: seed {record.seed}: {record.reason}", file=sys.stderr)
    failed = any(record.status is Status.FAILED for record in records)
    return 1 if failed or not any(comparison.pairs for comparison in found) else 0


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
        terminal.print_json(result)
    else:
        terminal.print_bench(result)


def _problem(**options: Any) -> Problem:
    numbers = ("vocab", "samples", "dim", "length", "width", "eta", "gamma")
    fields = {
        name: number_or_text(value) if name in numbers else value
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
        vocab = whole_number("vocab", number_or_text(options["vocab"]), 2, LARGEST_SIZE - 1)
        options["dim"] = str(vocab + 1)


def _measure_phase(
    options: dict[str, Any],
    where: dict[str, Any],
    x: str | None,
    y: str | None,
    seeds: str,
    seed: str,
    accuracy: str,
    target: str,
    settings: Settings,
) -> PhaseDiagram:
    """Run every cell of a plane."""
    from recallscope.measurement.axis import parse_axis
    from recallscope.measurement.phase import phase_diagram, plan
    from recallscope.record import check_accuracy, check_target

    if x is None or y is None:
        raise ProblemError("a phase diagram needs --x and --y, as in --x dim=16:256:30")
    axes = parse_axis(x), parse_axis(y)
    for axis in axes:
        _fill_in(options, axis.name)
    problem = _closed_form_problem(options)
    name, share = accuracy_name(accuracy), number_or_text(target)
    check_accuracy(name)
    check_target(share)
    count = whole_number("seeds", number_or_text(seeds), 1, 10**6)
    first = whole_number("seed", number_or_text(seed), 0, 2**62)
    records = cli_sweeps.run_all(plan(problem, *axes, count, first), settings, where)
    return phase_diagram(records, axes[0].name, axes[1].name, name, share)


def _is_store(source: str) -> bool:
    return "://" in source or Path(source).is_dir()


def _phase_of_store(
    options: dict[str, Any],
    source: str,
    x: str | None,
    y: str | None,
    accuracy: str,
    target: str,
) -> PhaseDiagram:
    """The plane of two sizes in the records of a store, at the values given of the others."""
    from recallscope.measurement.phase import phase_diagram
    from recallscope.sweeps.store import Store
    from recallscope.theory.capacity import SIZES

    if x not in SIZES or y not in SIZES:
        raise ProblemError(
            "a store has values of its own: give --x and --y as names, as in --x dim --y samples"
        )
    given = {name: number_or_text(options[name]) for name in SIZES if options[name] is not None}
    records = [
        record
        for record in Store(source).records()
        if all(getattr(record.problem, name) == value for name, value in given.items())
    ]
    if len({(record.problem, record.seed) for record in records}) < len(records):
        raise ProblemError(
            f"the store {source!r} has the same problem and seed more than once, run in other "
            "ways; each world may count once only: draw from a store of one sweep"
        )
    return phase_diagram(records, x, y, accuracy_name(accuracy), number_or_text(target))


def _settings(test_samples: str, dtype: str) -> Settings:
    """How runs are to be run, from the options of a command."""
    from recallscope.sweeps.cell import Settings

    tests = whole_number("test-samples", number_or_text(test_samples), 1)
    return Settings(test_samples=tests, dtype=dtype)


def _search(
    problem: Problem, quantity: str, how: dict[str, Any], number: int = 0
) -> CriticalSearch:
    """A search from the options of one; searches of different number share no seed."""
    from recallscope.measurement.critical import CriticalSearch

    budget = whole_number("budget", number_or_text(how["budget"]), 1, 10**6)
    low, high = (
        None if how[name] is None else whole_number(name, number_or_text(how[name]), 1)
        for name in ("low", "high")
    )
    return CriticalSearch(
        problem,
        quantity,
        number_or_text(how["target"]),
        accuracy_name(how["accuracy"]),
        low=low,
        high=high,
        precision=number_or_text(how["precision"]),
        budget=budget,
        first_seed=whole_number("seed", number_or_text(how["seed"]), 0, 2**62) + number * budget,
        prior=None if how["no_theory"] else "theory",
    )


def _measure_law(
    options: dict[str, Any],
    how: dict[str, Any],
    where: dict[str, Any],
    quantity: str | None,
    vary: list[str],
    settings: Settings,
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
    searches = [_search(problem, quantity, how, number) for number, problem in enumerate(problems)]
    cli_sweeps.carry_out(searches, settings, where)
    return scaling_of([search.result() for search in searches])


def _figure_path(figure: str | None) -> Path | None:
    """Where a figure goes, checked before the work begins."""
    if figure is None:
        return None
    from recallscope.pictures.style import check_path

    return check_path(figure)


def _csv_path(table: str | None) -> Path | None:
    """Where a table goes, checked before the work begins."""
    return None if table is None else check_output(table, "table", (".csv",))
