"""The command of the reproduction: `python -m reproduction --help`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from recallscope.cli.progress import ProgressDisplay
from recallscope.common.errors import ProblemError
from reproduction.evidence import BUNDLE, Evidence
from reproduction.intervals import shown
from reproduction.statements import STATEMENTS, finding, statements_named

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

STUDIES = Path(__file__).with_name("studies")
_IS_RUN = 'if __name__ == "__main__":'
Size = Annotated[
    Literal["small", "short", "full"],
    typer.Option(help="To see that it runs, for a first answer, or what the verdicts rest on."),
]
Runs = Annotated[Path, typer.Option(help="The folder of your runs; each size has a part of it.")]
OwnRuns = Annotated[
    Path | None, typer.Option("--runs", help="The folder of your runs; by default the bundle.")
]


@app.command("list")
def list_all() -> None:
    """List the statements with their verdicts from the bundle, and the studies."""
    evidence = Evidence.at(BUNDLE)
    for statement in STATEMENTS.values():
        outcome = finding(statement, evidence)
        verdict = "not yet measured" if outcome is None else outcome.verdict
        print(f"{statement.name:22} {verdict:14} {statement.title}")
    print()
    for folder in sorted({script.parent for script in scripts()}):
        print(f"{folder.name:22} {question(folder)}")


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="A statement, or all of them.")],
    size: Size = "small",
    runs: Runs = Path("reproduction-runs"),
    executor: Annotated[str, typer.Option(help="serial, processes or ray.")] = "processes",
    workers: Annotated[int | None, typer.Option(help="As many as cores by default.")] = None,
) -> None:
    """Run the sweeps of a statement, and print its verdict.

    Interrupt it at any time: the same command goes on.
    """
    statements = statements_named(name)
    folder = runs / size
    from reproduction.run import run_sweep  # loads torch: after the checks

    sweeps = {sweep.name: sweep for statement in statements for sweep in statement.sweeps}
    before = Evidence.at(folder)
    for number, sweep in enumerate(sweeps.values(), start=1):
        if before.has(sweep):
            continue
        with ProgressDisplay(f"{sweep.name} ({number} of {len(sweeps)})") as display:
            where = {"executor": executor, "workers": workers}
            run_sweep(sweep, size, folder, progress=display.update, where=where)
    evidence = Evidence.at(folder)
    for statement in statements:
        outcome = finding(statement, evidence)
        assert outcome is not None
        print(f"\n{statement.title}: {outcome.verdict}\n{statement.statement}\n{outcome.answer}")
        for judgement in outcome.judgements:
            print(
                f"  {judgement.what}: {shown(judgement.measured)}, expected {judgement.expected}: "
                f"{judgement.verdict}"
            )


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def study(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Such as laws, or end_of_training/finding.")],
) -> None:
    """Run a script of a study with the rest of the line; --help says what it takes."""
    folder, _, script = name.partition("/")
    path = STUDIES / folder / f"{script or folder}.py"
    if path not in scripts():
        known = ", ".join(
            f"{script_path.parent.name}/{script_path.stem}" for script_path in scripts()
        )
        raise ProblemError(f"there is no study {name!r}; there are {known}")
    # Scripts start others, which import from here too.
    search = os.pathsep.join(filter(None, [str(STUDIES.parents[1]), os.environ.get("PYTHONPATH")]))
    line = [sys.executable, str(path), *context.args]
    os.execve(sys.executable, line, os.environ | {"PYTHONPATH": search})


@app.command()
def report(
    to: Annotated[Path, typer.Option(help="The page.")] = Path("report.html"),
    size: Size = "full",
    runs: OwnRuns = None,
) -> None:
    """Write a self-contained page with all verdicts, figures and numbers."""
    from reproduction.report import facts_about, write_report

    evidence = evidence_of(size, runs)
    findings = [(statement, finding(statement, evidence)) for statement in STATEMENTS.values()]
    with ProgressDisplay("drawing") as display:
        write_report(to, findings, facts_about(evidence, findings, size), display.update)
    print(to)


@app.command()
def figures(
    name: Annotated[str, typer.Argument(help="A statement, or all.")],
    to: Annotated[Path, typer.Option(help="The folder.")] = Path("figures"),
    size: Size = "full",
    runs: OwnRuns = None,
) -> None:
    """Draw the figure of a statement, or of all, for print, as PDF and PNG."""
    from reproduction.report import write_figures

    evidence = evidence_of(size, runs)
    findings = [finding(statement, evidence) for statement in statements_named(name)]
    print("\n".join(map(str, write_figures(filter(None, findings), to))))


@app.command()
def pages() -> None:
    """Write the pages of the statements in docs/ from the bundle."""
    from reproduction.pages import write_pages

    write_pages()


def evidence_of(size: str, runs: Path | None) -> Evidence:
    """The runs of one size in a folder, or those of the bundle."""
    if runs is not None:
        return Evidence.at(runs / size)
    if size != "full":
        raise ProblemError(f"the bundle has runs of size full; give --runs for those of {size}")
    return Evidence.at(BUNDLE)


def scripts() -> list[Path]:
    """The scripts of all studies."""
    return sorted(path for path in STUDIES.glob("*/*.py") if _IS_RUN in path.read_text())


def question(folder: Path) -> str:
    """The first line of a study's README, which is its question."""
    return (folder / "README.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def main() -> None:
    try:
        app(prog_name="python -m reproduction")
    except ProblemError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
