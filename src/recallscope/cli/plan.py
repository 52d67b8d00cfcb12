"""`recallscope plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recallscope.cli.options import (
    OUTPUT,
    AsJson,
    Figure,
    FigureWidth,
    NoCaption,
    Table,
    Target,
    named,
)
from recallscope.cli.output import output_from, print_table, say
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError
from recallscope.planning.inputs import METHODS, SOUGHT

if TYPE_CHECKING:
    from recallscope.planning.plan_result import Plan
    from recallscope.planning.teaching_plan import TeachingPlan

PRECISIONS = ("float32", "bfloat16", "float16", "int8", "int4")
FREQUENCIES = ("uniform", "zipf")
OPTIMISERS = ("adam", "gd", "muon")
SOLVED = tuple(name.replace("_", "-") for name in SOUGHT)
_WORDS = {"model", "precision", "method", "target_modules", "frequencies", "optimiser"}
_WORDS |= {"solve_for", "export"}


def plan(
    call: typer.Context,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="A config.json of a model, or a folder with one; instead of sizes."
        ),
    ] = None,
    d_model: Annotated[
        str | None, typer.Option(metavar="D", help="Dimension of the embeddings.")
    ] = None,
    layers: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Layers; 1 if not given.")
    ] = None,
    heads: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Heads of attention; 1 if not given.")
    ] = None,
    mlp: Annotated[
        str | None,
        typer.Option(
            metavar="M", help="Hidden units of an MLP; 4 for each dimension if not given."
        ),
    ] = None,
    vocab: Annotated[str | None, typer.Option(metavar="COUNT", help="Tokens of the model.")] = None,
    precision: Annotated[
        str | None, named(PRECISIONS, more="; of the weights at inference.")
    ] = None,
    method: Annotated[
        str | None,
        named(METHODS, more="; lora with a rank, full with a model or layers, else memory."),
    ] = None,
    rank: Annotated[
        str | None, typer.Option(metavar="R", help="Rank of the LoRA adapters, or of a memory.")
    ] = None,
    target_modules: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="What LoRA adapts: q_proj,v_proj or all-linear; as in teach if not given.",
        ),
    ] = None,
    facts: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT|FILE", help="Facts to learn: how many, or a .jsonl, .csv or .parquet."
        ),
    ] = None,
    answers: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="Different answers; as many as facts if not given."),
    ] = None,
    frequencies: Annotated[str, named(FREQUENCIES, more="; how often facts are seen.")] = "uniform",
    zipf_exponent: Annotated[
        str | None,
        typer.Option(metavar="A", help="Fact number k is seen as often as k^-A; 1 if not given."),
    ] = None,
    exposures: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="How often each fact is seen: epochs, if once in each."),
    ] = None,
    tokens: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT",
            help="Tokens of training in all, instead of exposures; needs --context.",
        ),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT", help="Tokens of each text that states a fact; 1 if not given."
        ),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT",
            help="Facts for each step of a pretrained model; 8 to 128 if not given.",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Learning rate of a probe and of the script; usual for the method if not given.",
        ),
    ] = None,
    optimiser: Annotated[str, named(OPTIMISERS, more="; of a memory.")] = "adam",
    solve_for: Annotated[str | None, named(SOLVED, more="; what to find.")] = None,
    target: Target = "0.9",
    page: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a page with a figure: .html.")
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Train a scaled-down model in minutes, and compare; from scratch, or a memory.",
        ),
    ] = False,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe", help="Teach a sample of the facts to the pretrained model, and answer by it."
        ),
    ] = False,
    minutes: Annotated[
        str | None,
        typer.Option(metavar="MINUTES", help="How long the probe may take; 15 if not given."),
    ] = None,
    export: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the run: a .sh with the teach command, or a sweep file .toml.",
        ),
    ] = None,
    table: Table = None,
    figure: Figure = None,
    figure_width: FigureWidth = None,
    no_caption: NoCaption = False,
    as_json: AsJson = False,
) -> int:
    """Plan a training: exposures until facts are recalled, what limits it, what to change.

    A pretrained model needs the facts. Of training from scratch and of a memory, one of facts,
    exposures, d-model and rank may be missing: it is solved for. Exit code 1 if no law answers.

    \b
    Examples:
      recallscope plan --model config.json --facts 500
      recallscope plan --model config.json --rank 16 --facts facts.jsonl --page plan.html
      recallscope plan --model SmolLM2-135M --facts facts.csv --probe --export teach.sh
      recallscope plan --d-model 512 --layers 8 --heads 8 --vocab 32k --method pretrain \\
        --exposures 100 --verify
      recallscope plan --method memory --d-model 256 --facts 10k --exposures 1000 --json
    """
    from recallscope.planning.plan import plan as make
    from recallscope.planning.plan import refuse_to_verify
    from recallscope.planning.plan_result import Plan
    from recallscope.plot.pages import check_page

    options = dict(call.params)
    output = output_from(options)
    path = None if page is None else check_page(page)
    choices = {
        name: text if name in _WORDS else number_or_text(text)
        for name, text in options.items()
        if text is not None and name not in (*OUTPUT, "page", "verify", "probe")
    }
    # A probe has a display of its own, and what it finds is in the script.
    later = {name: choices.pop(name, None) for name in ("minutes", "export")} if probe else {}
    with ProgressDisplay("plan") as display:
        answer = make(**choices, progress=display.update)
    refuse_to_verify(answer.inputs, verify)
    if probe:
        answer = _probed(answer, model, choices.get("rate"), **later)
    if verify and isinstance(answer, Plan):
        from recallscope.planning.verify import verified  # loads torch

        with ProgressDisplay("verify") as display:
            answer = verified(
                answer, display.update, lambda line: display.say(f"recallscope {line}")
            )
    if path is not None:
        from recallscope.planning.page import write_plan_page

        write_plan_page(answer, path)
    output.show(answer, _print_plan)
    return 1 if isinstance(answer, Plan) and not answer.laws else 0


def _probed(
    answer: Plan | TeachingPlan,
    model: str | None,
    rate: float | None,
    minutes: float | None,
    export: str | None,
) -> TeachingPlan:
    """The plan after a probe, and its script."""
    from recallscope.planning.plan import script_path
    from recallscope.planning.probe import probed
    from recallscope.planning.teaching_command import write_command
    from recallscope.planning.teaching_plan import TeachingPlan

    if not isinstance(answer, TeachingPlan):
        raise ProblemError("a probe goes with pretrained models: the methods full and lora")
    path = script_path(export)
    with ProgressDisplay("probe") as display:

        def announce(line: str) -> None:
            display.say(f"recallscope {line}")

        answer = probed(answer, model, minutes, rate, display.update, announce)
    if path is not None:
        write_command(answer, path, model, rate)
    return answer


def _print_plan(answer: Plan | TeachingPlan) -> None:
    from recallscope.planning.page import words_of

    words = words_of(answer)
    say(words.first, words.headline, *words.details, words.advice)
    for table in words.tables:
        print_table(table.head, table.rows)
    say(*words.sources, *words.verified)
