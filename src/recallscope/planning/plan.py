"""An engineer's question: how many facts will my model recall, and what should I change?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from recallscope.common.checks import check_target, step_size, whole_number
from recallscope.common.csv_files import check_output
from recallscope.common.errors import ProblemError, did_you_mean
from recallscope.common.progress_bar import ProgressCallback, shown_progress
from recallscope.planning.experiments import write_sweep
from recallscope.planning.given_facts import GivenFacts, given_facts
from recallscope.planning.inputs import ALL, METHODS, Inputs
from recallscope.planning.plan_result import Plan, check_sought, make_plan, no_plan
from recallscope.planning.shape import ModelShape, shape_from_config
from recallscope.planning.solving import LOOKS, RANGES
from recallscope.planning.teaching_command import write_command
from recallscope.planning.teaching_plan import TeachingPlan, make_teaching_plan
from recallscope.problem.registry import names
from recallscope.theory.pretrained import usual_batch
from recallscope.theory.question import PRECISIONS

_FREQUENCIES = ("uniform", "zipf")
_PRECISIONS = (*PRECISIONS, "int8", "int4")
_TRAINED_IN = "bfloat16"
_SHORT = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_FEWEST_EXPOSURES = 1e-6  # fewer teach nothing, and quotients by them may overflow
_LARGEST = {"layers": 10**4, "heads": 10**4, "mlp": 10**7, "vocab": 10**7}


def plan(
    *,
    model: str | Path | None = None,
    d_model: int | None = None,
    layers: int | None = None,
    heads: int | None = None,
    mlp: int | None = None,
    vocab: int | None = None,
    precision: str | None = None,
    method: str | None = None,
    rank: int | None = None,
    target_modules: str | Iterable[str] | None = None,
    facts: int | str | Path | None = None,
    answers: int | None = None,
    frequencies: str = "uniform",
    zipf_exponent: float | None = None,
    exposures: float | None = None,
    tokens: float | None = None,
    context: int | None = None,
    batch: int | None = None,
    rate: float | None = None,
    optimiser: str = "adam",
    solve_for: str | None = None,
    target: float = 0.9,
    verify: bool = False,
    probe: bool = False,
    minutes: float | None = None,
    export: str | Path | None = None,
    progress: ProgressCallback | bool = True,
) -> Plan | TeachingPlan:
    """Say how many of some facts a model will recall, what limits it, and what to change.

    Of a pretrained model, exposures and steps to one half and 0.9 are the answer: a `TeachingPlan`.
    It needs the facts. Rank and exposures may be given.

    Of training from scratch, of a memory and of models of up to a million parameters, recall is the
    answer: a `Plan`. Of facts, exposures, d_model and, for LoRA, rank, one may be missing: it is
    solved for. So is the rank of a memory, if asked for.

    Args:
        model: a config.json of Hugging Face, or a folder with one; instead of the sizes below.
        d_model: dimension of the embeddings.
        layers: how many; 1 if not given.
        heads: of attention; 1 if not given.
        mlp: hidden units of an MLP; four for each dimension if not given, none for a memory.
        vocab: tokens.
        precision: of the weights when the model answers, as bfloat16 or int4.
        method: pretrain, full (fine-tuning), lora or memory (one layer over frozen embeddings);
            lora if there is a rank, else full for a model and memory without one.
        rank: of LoRA, or of a memory.
        target_modules: the matrices that LoRA adapts, or all-linear. If not given all of a
            pretrained model, as `teach` does, and of small models those of PEFT.
        facts: how many, or a file of them, as `teach` reads it.
        answers: how many different answers a fact may have; as many as facts if not given.
        frequencies: uniform, or zipf: fact number k is seen as often as k^-zipf_exponent.
        zipf_exponent: of Zipf's law; 1 if not given.
        exposures: how often training shows each fact.
        tokens: of training in all, instead of exposures; needs a context.
        context: tokens of one text with a fact.
        batch: facts of one step, of a pretrained model; 128 if not given, or fewer if there are
            fewer than 384 facts.
        rate: the learning rate of a probe and of the script; usual for the method if not given.
            The law has none.
        optimiser: of a memory: adam, gd or muon.
        solve_for: the size to find, where several are missing.
        target: the recall that a size is to reach.
        verify: train a scaled-down model in some minutes, and compare; not of a pretrained model.
            It needs recallscope[models], and for a memory recallscope[torch].
        probe: teach a sample of the facts to a pretrained model until one half is recalled, and
            answer by that. It needs a file of facts, the folder of the model and
            recallscope[teach].
        minutes: how long the probe may take; 15 if not given.
        export: a file to write: the run at full size as .toml for `sweep`, or of a pretrained
            model the command of `teach` as .sh.
        progress: True for a bar in a terminal or a notebook, False for none, or a function that is
            called with (work done, work in all).

    Returns:
        Recall or exposures with their intervals, what limits recall, what to change; or which law
        is missing.

    Raises:
        ProblemError: sizes that are missing, unknown or do not go together.

    >>> plan(method="memory", d_model=64, facts=1000, exposures=1000)
    recall 0.1... (0.1... to 0.1...), tested
    >>> plan(model="examples/models/smollm2-135m.json", rank=16, facts=500)
    recall 0.5 after 8.1 (3.6 to 18) exposures, 0.9 after 14 (5.7 to 34), tested
    """
    method = method or ("lora" if rank is not None else "full" if model or layers else "memory")
    _one_of("method", method, METHODS)
    _one_of("frequencies", frequencies, _FREQUENCIES)
    _one_of("optimiser", optimiser, tuple(names("learner")))
    sizes = {"d_model": d_model, "layers": layers, "heads": heads, "mlp": mlp, "vocab": vocab}
    shape = _shape(model, precision, method, sizes)
    given = None
    if isinstance(facts, (str, Path)):
        given = given_facts(facts, model)
        facts, answers = given.facts, given.answers if answers is None else answers
    facts, rank = _whole("facts", facts), _whole("rank", rank)
    context = _whole("context", context) or 1
    if tokens is not None:
        if exposures is not None or facts is None or context == 1:
            raise ProblemError("tokens go with facts and a context above 1, and without exposures")
        exposures = max(_positive("tokens", tokens) / (facts * context), _FEWEST_EXPOSURES)
    elif exposures is not None:
        exposures = max(_positive("exposures", exposures), _FEWEST_EXPOSURES)
    exponent = 0.0
    if frequencies == "zipf":
        exponent = 1.0 if zipf_exponent is None else _positive("zipf_exponent", zipf_exponent)
    elif zipf_exponent is not None:
        raise ProblemError("zipf_exponent goes with frequencies zipf, not uniform")
    inputs = Inputs(
        method=method,
        shape=shape,
        facts=facts,
        exposures=exposures,
        rank=rank,
        modules=_modules(target_modules, shape, method),
        answers=_whole("answers", answers, least=2),
        context=context,
        zipf_exponent=exponent,
        learner=optimiser,
    )
    if rank is not None and method not in ("lora", "memory"):
        raise ProblemError(f"a rank goes with the method lora, not {method}")
    if method == "lora" and shape.dim:
        shape.adapter(1, inputs.modules)
    check_target(target)
    if inputs.pretrained:
        if rate is not None:
            step_size("rate", rate)
        if method == "lora" and target_modules is None:
            inputs = replace(inputs, modules=tuple(shape.matrices()))
        answer: Plan | TeachingPlan
        answer = _teaching(inputs, batch, given, solve_for, target, verify, export)
        if isinstance(answer, TeachingPlan) and probe:
            from recallscope.planning.probe import probed  # loads torch

            with shown_progress(progress, "probe") as update:
                answer = probed(answer, model, minutes, rate, update)
        if isinstance(answer, TeachingPlan) and export is not None:
            write_command(answer, Path(export), model, rate)
        return answer
    of_pretrained = {"batch": batch, "rate": rate, "probe": probe or None, "minutes": minutes}
    for name, value in of_pretrained.items():
        if value is not None:
            raise ProblemError(f"{name} goes with pretrained models: the methods full and lora")
    sought = check_sought(inputs, solve_for)
    path = None if export is None else check_output(export, "sweep file", (".toml",))
    with shown_progress(progress, "plan") as update:
        answer = make_plan(inputs, sought, target, lambda done: update(min(done, LOOKS), LOOKS))
    if path is not None:
        saved = model is not None and any(Path(model).glob("*.safetensors"))
        write_sweep(answer, path, Path(model) if saved and model is not None else None)
    if verify:
        from recallscope.planning.verify import verified  # loads torch

        with shown_progress(progress, "verify") as update:
            answer = verified(answer, update)
    return answer


def _teaching(
    inputs: Inputs,
    batch: int | None,
    given: GivenFacts | None,
    solve_for: str | None,
    target: float,
    verify: bool,
    export: str | Path | None,
) -> Plan | TeachingPlan:
    """The plan for a pretrained model; or which law is missing."""
    if inputs.facts is None:
        raise ProblemError("give the facts that a pretrained model is taught: --facts COUNT|FILE")
    if solve_for is not None:
        raise ProblemError(
            "--solve-for goes with training from scratch and memories: of a pretrained model "
            "exposures are always answered, and the rank if --rank is left out"
        )
    refuse_to_verify(inputs, verify)
    quantised = inputs.shape.precision not in PRECISIONS
    if inputs.zipf_exponent or quantised:
        return no_plan(inputs)
    script_path(export)
    batch = _whole("batch", batch) or usual_batch(inputs.facts)
    return make_teaching_plan(replace(inputs, batch=min(batch, inputs.facts)), target, given)


def script_path(export: str | Path | None) -> Path | None:
    """Where the script of a plan goes, or an error before anything is computed."""
    return None if export is None else check_output(export, "script", (".sh",))


def refuse_to_verify(inputs: Inputs, verify: bool) -> None:
    """Raise if a pretrained model is to be verified: scaled-down models say nothing of it."""
    if verify and inputs.pretrained:
        raise ProblemError(
            "--verify trains scaled-down models, which say nothing of a pretrained one; --probe "
            "teaches a sample of your facts to your model instead"
        )


def _shape(
    model: str | Path | None, precision: str | None, method: str, sizes: dict[str, int | None]
) -> ModelShape:
    precision = _SHORT.get(precision or "", precision)
    if precision is not None:
        _one_of("precision", precision, _PRECISIONS)
    chosen = {name: size for name, size in sizes.items() if size is not None}
    if model is not None:
        if chosen:
            raise ProblemError(f"give a model, or its sizes ({', '.join(chosen)}); not both")
        from_file = shape_from_config(model)
        if method == "memory":
            raise ProblemError("a memory has sizes, d_model and mlp, and no model")
        # Of a LoRA the adapter counts, which is not quantised with the model.
        own = _TRAINED_IN if method == "lora" else from_file.precision
        return replace(from_file, precision=precision or own)
    for name in chosen:
        chosen[name] = whole_number(name, chosen[name], 1, _LARGEST.get(name, RANGES["d_model"][1]))
    dim = chosen.pop("d_model", 0)
    return ModelShape(dim=dim, **chosen, precision=precision or _TRAINED_IN)  # type: ignore[arg-type]


def _modules(
    target_modules: str | Iterable[str] | None, shape: ModelShape, method: str
) -> tuple[str, ...]:
    if method != "lora":
        if target_modules is not None:
            raise ProblemError(f"target_modules go with the method lora, not {method}")
        return ()
    if target_modules is None:
        return shape.usual_modules()
    chosen = tuple(target_modules.split(",") if isinstance(target_modules, str) else target_modules)
    return tuple(shape.matrices()) if chosen == (ALL,) else tuple(dict.fromkeys(chosen))


def _one_of(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        meant = did_you_mean(str(value), known) or ";"
        raise ProblemError(f"there is no {what} {value!r:.40}{meant} known: {', '.join(known)}")


def _whole(name: str, value: Any, least: int = 1) -> int | None:
    if value is None:
        return None
    return whole_number(name, value, least, RANGES.get(name, RANGES["facts"])[1])


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ProblemError(f"{name} is a number above 0, not {value!r:.40}")
    return float(value)
