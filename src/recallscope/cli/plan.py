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
from recallscope.planning.inputs import METHODS, SOUGHT

if TYPE_CHECKING:
    from recallscope.planning.plan_result import Plan

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
            help="What LoRA adapts: q_proj,v_proj or all-linear; as in PEFT if not given.",
        ),
    ] = None,
    facts: Annotated[str | None, typer.Option(metavar="COUNT", help="Facts to learn.")] = None,
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
    optimiser: Annotated[str, named(OPTIMISERS, more="; of a memory.")] = "adam",
    solve_for: Annotated[str | None, named(SOLVED, more="; what to find.")] = None,
    target: Target = "0.9",
    page: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a page with a figure: .html.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Train a scaled-down model in minutes, and compare.")
    ] = False,
    export: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the run at full size as a sweep file: .toml."),
    ] = None,
    table: Table = None,
    figure: Figure = None,
    figure_width: FigureWidth = None,
    no_caption: NoCaption = False,
    as_json: AsJson = False,
) -> int:
    """Plan a training: recall of your facts, what limits it, and what to change.

    Of facts, exposures, d-model and, for LoRA, rank, one may be missing: it is solved for. Exit
    code 1 if no law answers.

    \b
    Examples:
      recallscope plan --model config.json --rank 16 --facts 50k
      recallscope plan --model config.json --rank 16 --facts 50k --exposures 100 --page plan.html
      recallscope plan --d-model 512 --layers 8 --heads 8 --vocab 32k --method pretrain \\
        --exposures 100
      recallscope plan --model config.json --rank 16 --facts 50k --exposures 100 --verify
      recallscope plan --method memory --d-model 256 --facts 10k --exposures 1000 --json
    """
    from recallscope.planning.plan import plan as make
    from recallscope.plot.pages import check_page

    options = dict(call.params)
    output = output_from(options)
    path = None if page is None else check_page(page)
    choices = {
        name: text if name in _WORDS else number_or_text(text)
        for name, text in options.items()
        if text is not None and name not in (*OUTPUT, "page", "verify")
    }
    with ProgressDisplay("plan") as display:
        answer = make(**choices, progress=display.update)
    if verify:
        from recallscope.planning.verify import verified  # loads torch

        with ProgressDisplay("verify") as display:
            answer = verified(
                answer, display.update, lambda line: display.say(f"recallscope {line}")
            )
    if path is not None:
        from recallscope.planning.page import write_plan_page

        write_plan_page(answer, path)
    output.show(answer, _print_plan)
    return 0 if answer.laws else 1


def _print_plan(answer: Plan) -> None:
    from recallscope.planning import plan_in_words

    say(
        plan_in_words.first_line(answer),
        plan_in_words.headline(answer),
        *plan_in_words.details(answer),
        plan_in_words.advice(answer),
    )
    for table in plan_in_words.plan_tables(answer):
        print_table(table.head, table.rows)
    say(*plan_in_words.sources(answer), *plan_in_words.verified(answer))
