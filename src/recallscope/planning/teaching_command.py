"""A plan for a pretrained model as the command that trains it."""

from __future__ import annotations

import math
import shlex
from pathlib import Path

from recallscope.common.new_files import write_whole
from recallscope.planning.teaching_plan import TeachingPlan

_FACTS, _MODEL = "facts.jsonl", "MODEL"  # to be put in by the user, where they are not known


def write_command(
    plan: TeachingPlan, path: Path, model: str | Path | None = None, rate: float | None = None
) -> None:
    """Write a shell script with the `teach` command of a plan.

    Args:
        plan: the plan.
        path: the file.
        model: what the plan read; used if it is a folder.
        rate: the learning rate; usual for the method if None.
    """
    write_whole(path, "script", "\n".join(["#!/bin/sh", *_lines(plan, model, rate)]) + "\n")
    path.chmod(0o755)


def _lines(plan: TeachingPlan, model: str | Path | None, rate: float | None) -> list[str]:
    inputs = plan.inputs
    folder = str(Path(model).absolute()) if model is not None and Path(model).is_dir() else _MODEL
    facts = _FACTS if plan.given is None else str(plan.given.path.absolute())
    nine = next(each.exposures for each in plan.reached if each.recall == 0.9)
    exposures = inputs.exposures or math.ceil(nine.high if math.isfinite(nine.high) else nine.value)
    options = {"model": folder, "exposures": f"{exposures:g}", "batch": str(inputs.batch)}
    rank = plan.rank_to_teach
    if rank is not None:
        options["rank"] = str(rank)
    if rate is not None:
        options["rate"] = f"{rate:g}"
    options["folder"] = "taught"
    lines = [f"# {inputs.facts:,} facts: {plan}."]
    if missing := [each for each in (_FACTS, _MODEL) if each in (facts, folder)]:
        lines.append(f"# Put yours in place of {' and '.join(missing)}.")
    if rank is not None and inputs.question().partial:
        lines.append("# The plan is about fewer matrices: teach adapts all of them.")
    words = " ".join(f"--{name} {shlex.quote(text)}" for name, text in options.items())
    return [*lines, f"recallscope teach {shlex.quote(facts)} {words}"]
