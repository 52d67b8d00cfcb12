"""`recallscope bound`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import typer

from recallscope.cli import output
from recallscope.cli.options import (
    Activation,
    AsJson,
    Batch,
    Dim,
    EmbeddingFamily,
    Eta,
    Field,
    Figure,
    FigureWidth,
    Gamma,
    Learner,
    LearningRate,
    Length,
    Metric,
    Model,
    NoCaption,
    Regime,
    Samples,
    Steps,
    Table,
    Target,
    Task,
    TriggerInValues,
    Vocab,
    Width,
)
from recallscope.cli.parsing import closed_form_problem
from recallscope.common.csv_files import number_or_text
from recallscope.common.errors import ProblemError

if TYPE_CHECKING:
    from recallscope.theory.lower_bound import Bound


def bound(
    context: typer.Context,
    vocab: Vocab = None,
    samples: Samples = None,
    dim: Dim = None,
    length: Length = None,
    width: Width = None,
    activation: Activation = None,
    embedding: EmbeddingFamily = "sphere",
    trigger_in_values: TriggerInValues = False,
    regime: Regime = "limit",
    eta: Eta = None,
    gamma: Gamma = None,
    task: Task = "recall",
    model: Model = "transformer",
    learner: Learner = "three-step",
    learning_rate: LearningRate = None,
    steps: Steps = None,
    batch: Batch = None,
    metric: Metric = None,
    field: Field = None,
    target: Target = "0.5",
    table: Table = None,
    figure: Figure = None,
    figure_width: FigureWidth = None,
    no_caption: NoCaption = False,
    as_json: AsJson = False,
) -> None:
    """Lower bound for estimators that see only the first gradient.

    \b
    Examples:
      recallscope bound --vocab 512 --samples 8192 --dim 64 --length 32
      recallscope bound --vocab 512 --samples 8192 --dim 64 --length 16 --width 256 --target 0.9
    """
    from recallscope.theory.solve import bound as find

    options = dict(context.params)
    shown = output.output_from(options)
    # The bound on N needs no N; given one, it also bounds V.
    options["samples"] = options["samples"] or "inf"
    shown.show(find(closed_form_problem(options), number_or_text(target)), _print_bound)


def _print_bound(lower_bound: Bound) -> None:
    problem = lower_bound.problem
    least = math.ceil(lower_bound.samples) if lower_bound.samples < 1e15 else lower_bound.samples
    print(
        f"To have {lower_bound.accuracy:g} of {problem.vocab} facts right, any reader of the first "
        f"gradient needs N ≥ {least}."
    )
    if math.isfinite(problem.samples):
        print(
            f"From N = {problem.samples:g} none has them right for V above {lower_bound.vocab:g}."
        )
    rows = []
    for name in ("gradient", "counting", "coverage"):
        dominant = " (dominant)" if name == lower_bound.binding else ""
        rows.append((name + dominant, f"{getattr(lower_bound, f'{name}_samples'):.6g}"))
    output.print_table(("bound", "samples"), rows)
    _print_needed(lower_bound)
    print(
        f"Needed: {lower_bound.information_needed:.6g} nats. The gradient of "
        f"N = {problem.samples:g} has at most {lower_bound.gradient_information:.6g}, in "
        f"{lower_bound.gradient_rank:.6g} dimensions with a signal-to-noise of "
        f"{lower_bound.signal_to_noise:.3g} each."
    )
    print(lower_bound.assumption)
    print(lower_bound.not_covered)


def _print_needed(lower_bound: Bound) -> None:
    """Print what the bound is to be compared with, by closed forms."""
    from recallscope.theory.required_size import solve as solved

    readers = (("the first-gradient readout", "first_gradient"), ("three steps", "recall"))
    rows = []
    for name, accuracy in readers:
        question = (lower_bound.problem, "samples", lower_bound.accuracy, f"{accuracy}_accuracy")
        try:
            value = solved(*question).value
        except ProblemError:  # no closed form
            return
        rows.append((name, "none reaches it" if value is None else f"{value:,.0f}"))
    output.print_table(("what needs how many, by closed forms", "samples"), rows)
    print(
        "Three steps may need less than the bound: it is about readers of the first gradient, and "
        "the second and third gradients see which token is marked."
    )
