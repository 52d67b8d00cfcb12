"""The command line: options in, tables or JSON out, without any logic."""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Annotated, Any, TextIO, cast

import typer

from recallscope import __version__
from recallscope.cli.commands import Commands
from recallscope.cli.terminal import Guarded
from recallscope.common.errors import ProblemError, did_you_mean
from recallscope.common.extras import EXTRAS, MissingPackageError, missing_explained
from recallscope.common.formatting import printable
from recallscope.common.interrupts import interrupts_obeyed

app = typer.Typer(
    name="recallscope",
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="How many facts can a transformer learn to recall, from how much data, and why?",
)

_INTERRUPTED = 130
_LONGEST_SENTENCE = 1000
_WARNED: set[str] = set()  # warnings


def main() -> None:
    """Run the command line; a user's mistake is one sentence on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without α must not fail
    # Anything that a command prints may contain names from untrusted files.
    with (
        redirect_stdout(cast(TextIO, Guarded(sys.stdout))),
        redirect_stderr(cast(TextIO, Guarded(sys.stderr))),
    ):
        sys.exit(_run())


def _run() -> int:
    """Run the command that was asked for; its exit code."""
    warnings.showwarning = _show_warning
    _WARNED.clear()
    try:
        with interrupts_obeyed(exit_code=_INTERRUPTED), missing_explained():
            code = app(sys.argv[1:] or ["--help"], prog_name="recallscope", standalone_mode=False)
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except ProblemError as error:
        code = _complain(str(error), 2)
    except MissingPackageError as error:
        code = _complain(str(error), 2)
    except BrokenPipeError:  # the reader of the output has closed it
        code = 1
    except MemoryError:
        code = _complain("there is not enough memory for this; choose smaller sizes", 2)
    except OSError as error:
        where = "" if error.filename is None else f" ({error.filename})"
        code = _complain(f"the system refused: {error.strerror or error}{where}", 2)
    except Exception as error:
        # Mistakes in the call itself share no public base class across versions of typer.
        if not hasattr(error, "format_message"):
            raise
        code = _complain(_misuse(error), 2)
    if code == _INTERRUPTED:
        _complain("stopped", code)
    _let_go()
    return code if isinstance(code, int) else 0


def _misuse(error: Any) -> str:
    """Return what is wrong with a call, what was probably meant, and which help to read."""
    message = re.split(r"\.? (?:Did you mean|\(Possible)", error.format_message())[0].rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None:
        return f"{message}; see recallscope --help"
    known = [
        flag
        for parameter in context.command.params
        for flag in parameter.opts
        if parameter.name != "help"
    ]
    if hasattr(context.command, "list_commands"):
        known += context.command.list_commands(context)
    unknown = re.match(r"No such (?:option:|command) '?([^\s']+)", message)
    if unknown and "--field" in known and (field := _field_of_a_learner(unknown[1])):
        return f"{message}; a field of a part is given as --field {field}=VALUE"
    meant = did_you_mean(unknown[1], known) if unknown else ""
    return f"{message}{meant or ';'} see {context.command_path} --help".replace("? see", "? See")


def _field_of_a_learner(option: str) -> str | None:
    """Return the field that an option would be, if one of our learners has it."""
    from recallscope.problem.part import fields_of
    from recallscope.problem.registry import is_builtin, names, part

    field = option.lstrip("-").replace("-", "_")
    ours = [name for name in names("learner") if is_builtin("learner", name)]
    return field if any(field in fields_of(part("learner", name)) for name in ours) else None


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    """Print a warning as one sentence, once."""
    if (sentence := str(message)) not in _WARNED:
        _WARNED.add(sentence)
        _complain(sentence, 0)


def _complain(sentence: str, code: int) -> int:
    """Print what is wrong in one line; it may quote any input, so it is made printable."""
    line = printable(" ".join(sentence.split()))
    if len(line) > _LONGEST_SENTENCE:
        half = _LONGEST_SENTENCE // 2
        line = f"{line[:half]} … {line[-half:]}"
    with suppress(OSError):
        print(f"recallscope: {line}", file=sys.stderr, flush=True)
    return code


def _let_go() -> None:
    """Drop output that cannot be written, since Python would complain about it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _version(context: typer.Context, wanted: bool) -> None:
    if wanted:
        print(f"recallscope {__version__}")
        if context.params["verbose"]:
            from importlib.resources import files  # here, since it would slow other commands

            print(_installed())
            citation = files("recallscope.cli").joinpath("citation.bib")
            print(citation.read_text(encoding="utf-8"), end="")
        raise typer.Exit


def _installed() -> str:
    """Python, the packages that matter, and the GPUs that torch sees."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    installed = [f"Python {platform.python_version()} on {platform.platform()}"]
    for name in ("numpy", "scipy", *EXTRAS):
        with suppress(PackageNotFoundError):
            installed.append(f"{name} {version(name)}")
    with suppress(ImportError):
        import torch

        installed.append(f"GPUs: {torch.cuda.device_count()}")
    return ", ".join(installed)


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, help="Show the version.")
    ] = False,
    verbose: Annotated[  # eager, to be known when the version is shown
        bool,
        typer.Option(
            "--verbose", is_eager=True, help="With --version: packages, GPUs and BibTeX too."
        ),
    ] = False,
) -> None:
    if verbose:
        raise ProblemError("--verbose goes with --version")
