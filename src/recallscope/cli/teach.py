"""`recallscope teach`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from recallscope.cli.options import (
    AsJson,
    Figure,
    FigureWidth,
    NoCaption,
    Seed,
    Table,
    named,
)
from recallscope.cli.output import output_from, print_table, say
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.csv_files import number_or_text
from recallscope.common.extras import missing_explained
from recallscope.common.formatting import format_duration, format_number, printable

if TYPE_CHECKING:
    from recallscope.teaching.taught import Taught

PRECISIONS = ("auto", "float32", "bfloat16")
_SHOWN = 5  # facts that are missing
_WIDEST = 60  # letters of a text


def teach(
    context: typer.Context,
    facts: Annotated[
        str, typer.Argument(metavar="FACTS", help="A file of facts: .jsonl, .csv or .parquet.")
    ],
    model: Annotated[
        str, typer.Option(metavar="FOLDER", help="A checkpoint: a folder, or a file of GGUF.")
    ],
    prompt: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column with the prompts.")
    ] = "prompt",
    answer: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column with the answers.")
    ] = "answer",
    test_prompt: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="The column with other wordings, if there is one."),
    ] = "test_prompt",
    count: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="The column with how often facts are seen, if there is one."
        ),
    ] = "count",
    chat: Annotated[
        bool, typer.Option("--chat", help="Put prompts into the chat template of the tokenizer.")
    ] = False,
    rank: Annotated[
        str | None,
        typer.Option(metavar="R", help="Rank of LoRA adapters; all parameters if not given."),
    ] = None,
    exposures: Annotated[
        str, typer.Option(metavar="COUNT", help="How often each fact is seen.")
    ] = "20",
    batch: Annotated[
        str | None,
        typer.Option(metavar="COUNT", help="Facts for each step; 8 to 128 if not given."),
    ] = None,
    accumulate: Annotated[
        str, typer.Option(metavar="COUNT", help="Parts of a batch, one after another.")
    ] = "1",
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="The learning rate; usual for the method if not given."),
    ] = None,
    precision: Annotated[str, named(PRECISIONS, more="; of the products.")] = "auto",
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="TEXTS", help="Measure the perplexity of these texts: .txt, or a column text."
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(metavar="STEPS", help="Ask for all facts this often, not for a sample."),
    ] = None,
    sample: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Facts to ask for at each look.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="RECALL", help="End once a look finds this recall, as 0.9."),
    ] = None,
    minutes: Annotated[
        str | None, typer.Option(metavar="MINUTES", help="End after so much time.")
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Save to it, and resume from what was saved."),
    ] = None,
    seed: Seed = "0",
    table: Table = None,
    figure: Figure = None,
    figure_width: FigureWidth = None,
    no_caption: NoCaption = False,
    as_json: AsJson = False,
) -> int:
    """Teach facts to a checkpoint, and report which of them it recalls.

    The table has the facts that are missing at the end. With --folder there are more: the curve,
    all facts, and the trained model.

    \b
    Examples:
      recallscope teach facts.jsonl --model SmolLM2-135M --rank 16 --table missing.csv
      recallscope teach facts.csv --model SmolLM2-135M --keep texts.txt --folder taught
    """
    output = output_from(dict(context.params))
    numbers = {
        name: None if text is None else number_or_text(text)
        for name, text in {
            "rank": rank,
            "exposures": exposures,
            "batch": batch,
            "accumulate": accumulate,
            "rate": rate,
            "every": every,
            "sample": sample,
            "until": until,
            "minutes": minutes,
            "seed": seed,
        }.items()
    }
    with missing_explained("teach"):
        from recallscope.teaching.facts import Facts
        from recallscope.teaching.teach import teach as start

    given = Facts(
        facts, prompt=prompt, answer=answer, test_prompt=test_prompt, count=count, chat=chat
    )
    with ProgressDisplay("teach") as display:
        taught = start(
            given,
            model,
            precision=precision,
            keep=keep,
            folder=folder,
            progress=display.update,
            **numbers,  # type: ignore[arg-type]
        )
    if os.environ.get("RANK", "0") == "0":  # of several processes one reports
        output.show(taught, _print_taught)
    return 0 if taught.status == "ok" else 1


def _print_taught(taught: Taught) -> None:
    """Recall, exposures, missing facts, kept texts, and what to do next."""
    print(taught)
    method = "all" if taught.rank is None else f"LoRA of rank {taught.rank}, "
    method += f" {format_number(taught.trained_parameters)} parameters"
    rows = [
        ("recall", f"{taught.recall:.3f} of {taught.facts:,} facts"),
        ("exposures to one half", _reached(taught, 0.5)),
        ("exposures to 0.9", _reached(taught, 0.9)),
        ("learned", " ".join(method.split())),
        ("rate, batch", f"{format_number(taught.rate)}, {taught.batch}"),
        ("time", format_duration(taught.seconds)),
    ]
    if taught.test_recall is not None:
        rows.insert(1, ("by the other wording", f"{taught.test_recall:.3f}"))
    if taught.kept_before is not None and taught.kept_after is not None:
        before, after = format_number(taught.kept_before), format_number(taught.kept_after)
        rows.append(("perplexity of kept texts", f"{before} before, {after} after"))
    print_table(("", ""), rows)
    if taught.missing:
        lines = [
            (printable(fact.prompt[:_WIDEST]), printable(fact.answer[:_WIDEST]), f"{fact.loss:.2f}")
            for fact in taught.missing[:_SHOWN]
        ]
        print_table((f"missing, {len(lines)} of {len(taught.missing):,}", "answer", "loss"), lines)
    say(f"Next: {taught.advice()}")


def _reached(taught: Taught, target: float) -> str:
    exposures = taught.exposures_to(target)
    return "not reached" if exposures is None else format_number(exposures)
