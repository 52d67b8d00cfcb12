"""`recallscope predict`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import typer

from recallscope.cli import output
from recallscope.cli.if_trained import if_trained
from recallscope.cli.options import (
    Activation,
    AsJson,
    Batch,
    Dim,
    Embedding,
    Eta,
    Field,
    Figure,
    FigureWidth,
    Gamma,
    Law,
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
    Task,
    TriggerInValues,
    Vocab,
    Width,
)
from recallscope.cli.parsing import problem_to_run
from recallscope.cli.progress import ProgressDisplay
from recallscope.common.formatting import format_duration
from recallscope.plot.labels import accuracy_label
from recallscope.theory.choosing import choose, law_named
from recallscope.theory.scope import exposures, scope

if TYPE_CHECKING:
    from recallscope.theory.prediction import Prediction

_PATIENCE = 10.0  # seconds that a command may be silent
_OF_THE_LABEL = "sampling"  # a noise of the right label alone


def predict(
    context: typer.Context,
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
    task: Task = "recall",
    model: Model = "transformer",
    learner: Learner = "three-step",
    learning_rate: LearningRate = None,
    steps: Steps = None,
    batch: Batch = None,
    metric: Metric = None,
    field: Field = None,
    law: Law = None,
    table: Table = None,
    figure: Figure = None,
    figure_width: FigureWidth = None,
    no_caption: NoCaption = False,
    as_json: AsJson = False,
) -> int:
    """Predict the accuracies by a law, and explain them; exit 1 if no law applies.

    With --learner adam (or gd, muon, converged) it predicts recall at the end of training, by a
    fitted law.

    \b
    Examples:
      recallscope predict --vocab 512 --samples 8192 --dim 64 --length 32
      recallscope predict --vocab 512 --samples 8192 --dim 64 --length 32 --learner adam
      recallscope predict --vocab 1e9 --samples 1e13 --dim 16384 --length 1e6 --json
      recallscope predict --vocab 512 --samples 4096 --dim 64 --length 8 \\
        --embedding structured --field common_mean=0.7
    """
    from recallscope.theory.predict import predict as find

    options = dict(context.params)
    shown = output.output_from(options)
    problem, arrays = problem_to_run(options)
    with ProgressDisplay("tables") as display:
        choice = choose(problem, law=law)
        seconds = 0.0 if choice.name is None else choice.law.seconds(problem)
        if seconds > _PATIENCE:  # products of large matrices report no progress
            display.say(f"the prediction takes about {format_duration(seconds)}")
        prediction = find(problem, embeddings=arrays, law=law, progress=display.update)
    shown.show(prediction, _print_prediction, lambda: if_trained(problem))
    return 0 if prediction.law is not None else 1


def _print_prediction(prediction: Prediction) -> None:
    output.print_problem(prediction.problem)
    _print_both(prediction)
    if prediction.law is None:
        print(f"There is {prediction.reason}.")
        _print_nearest(prediction)
        return
    law = law_named(prediction.law)
    print(
        f"{scope(prediction.problem)} Law: {prediction.law}, {prediction.kind}, "
        f"{prediction.status}."
    )
    errors = prediction.recorded_error
    columns = {
        "90 % interval": {name: _interval(*ends) for name, ends in prediction.intervals.items()},
        "mean error": {name: f"{error.mean:.4f}" for name, error in errors.items()},
        "median error": {name: f"{error.median:.4f}" for name, error in errors.items()},
        "numerical error": {name: f"{error:.4f}" for name, error in prediction.errors.items()},
    }
    known = {name: numbers for name, numbers in columns.items() if numbers}
    rows = [
        [accuracy_label(name), f"{value:.4f}", *(numbers.get(name) for numbers in known.values())]
        for name, value in prediction.accuracies.items()
    ]
    output.print_table(("accuracy", "predicted", *known), rows)
    texts = [f"{exposures(prediction.problem)}."]
    if prediction.recorded_error:
        error = next(iter(prediction.recorded_error.values()))
        texts.append(
            f"Errors: predicted minus measured, at the {error.problems} measured problems nearest "
            "to this one."
        )
    print(" ".join(texts))
    output.print_extrapolated([prediction.problem])
    if prediction.factors:
        factors = [
            [accuracy_label(name), f"{value:.3f}", origin]
            for name, (value, origin) in prediction.factors.items()
        ]
        output.print_table(("factor", "value", "from"), factors, slice(1, 2))
    if prediction.quantities:
        rows = [
            [accuracy_label(name), f"{value:.5g}"] for name, value in prediction.quantities.items()
        ]
        output.print_table(("quantity", "value"), rows)
    if prediction.noise:
        _print_noise(prediction.noise)
    if text := law.explain(prediction.problem, prediction):
        print(text)
    if (least := prediction.least_met) is not None:
        print(f"Least met condition for half of the facts: {least.sentence}.")


def _interval(low: float, high: float) -> str:
    return f"{low:.4f} to {high:.4f}"


def _print_both(prediction: Prediction) -> None:
    """Print recall after three steps and after training, each in a row with its name."""
    from recallscope.theory.if_trained import predict_if_trained

    trained = predict_if_trained(prediction.problem)
    if trained is None:
        return
    rows: list[list[str | None]] = []
    after = (
        ("three gradient steps", prediction),
        (f"training by {trained.problem.learner}", trained),
    )
    for name, predicted in after:
        if predicted.law is None:
            rows.append([name, None, None, predicted.reason or ""])
            continue
        recall, low, high, _ = predicted.estimates["recall_accuracy"]
        interval = None if low is None else _interval(low, high or 1.0)
        rows.append([name, f"{recall:.4f}", interval, str(predicted.status)])
    output.print_table(("after", "recall", "90 % interval", "status"), rows, slice(1, 3))


def _print_nearest(prediction: Prediction) -> None:
    """Print the nearest problem with an answer, by the fields that differ."""
    if prediction.nearest is None:
        return
    there, here = prediction.nearest.to_dict(), prediction.problem.to_dict()
    changed = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    fields = ", ".join(
        f"{name} {getattr(prediction.nearest, name, 'left out')}" for name in changed
    )
    print(f"The nearest problem with an answer has {fields}.")


def _print_noise(noise: Mapping[str, Mapping[str, float]]) -> None:
    """Print the variances of every stage; noise of the right label alone is not in the sum."""

    def row(name: str, values: Iterable[float | None]) -> list[str | None]:
        return [accuracy_label(name), *(output.number(value, ".3g") for value in values)]

    terms = dict.fromkeys(term for named in noise.values() for term in named)
    rows: list[list[str | None] | None] = [
        row(term, cells)
        for term in terms
        if any(cells := [named.get(term) for named in noise.values()]) and term != _OF_THE_LABEL
    ]
    others = [
        sum(variance for term, variance in named.items() if term != _OF_THE_LABEL)
        for named in noise.values()
    ]
    rows.append(row("together", others))
    if _OF_THE_LABEL in terms:
        rows += [None, row(_OF_THE_LABEL, [named.get(_OF_THE_LABEL) for named in noise.values()])]
    output.print_table(("noise", *map(accuracy_label, noise)), rows)
