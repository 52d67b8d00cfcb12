"""Training: steps of an optimiser, with evaluations, until it converges or must stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from recallscope.common.blocks import blocks
from recallscope.common.shapes import Float
from recallscope.model.learner import Outcome, mean_of_tests, tested
from recallscope.model.setup import Setup
from recallscope.problem.problem import Problem
from recallscope.training.batches import Batches
from recallscope.training.checkpoint import resume, save
from recallscope.training.ended import Ended
from recallscope.training.grid import grid, look_samples
from recallscope.training.trainee import Snapshot, trainee_of

MakeOptimiser = Callable[[Any, float], Any]
"""From what learns, as weights or groups of them, the learning rate and the problem."""

ROWS_AT_ONCE = 2048
_LEARNT = 0.01  # a loss below it: nothing more will change
_FLAT = 3e-4  # the gradient, as a fraction of the largest there was
_RISEN, _AT_LEAST = 1.2, 0.05  # the last loss: this multiple of the lowest there was, and more
_WARM_UP = 0.1  # of the steps
_SECONDS_BETWEEN_SAVES = 5.0


@dataclass
class _Run:
    """The state of one run."""

    setup: Setup
    lowest: float = math.inf
    steepest: float = 0.0
    curve: dict[str, list[float]] = field(default_factory=dict)
    ended: Ended | None = None
    kept: Snapshot | None = None
    broken: OverflowError | None = None

    @property
    def over(self) -> bool:
        return self.ended is not None or self.broken is not None

    def see(self, step: int, loss: float, seen: dict[str, float]) -> None:
        for name, value in {"step": float(step), "loss": loss, **seen}.items():
            self.curve.setdefault(name, []).append(value)
        if self.setup.watch is not None:
            self.setup.watch({name: values[-1] for name, values in self.curve.items()})

    def how_it_ends(self, loss: float, slope: float, sure: bool, last: bool) -> Ended | None:
        """How the run ends here, or None if it continues or has ended before.

        It converges only by a loss of enough samples to be `sure`.
        """
        if self.over:
            return None
        self.lowest = min(self.lowest, loss)
        self.steepest = max(self.steepest, slope)
        if sure and (loss < _LEARNT or slope < _FLAT * self.steepest):
            return Ended.CONVERGED
        if not last:
            return None
        first = self.curve["loss"][0] if self.curve else loss
        risen = loss > min(first, _RISEN * self.lowest + _AT_LEAST)
        return Ended.DIVERGED if risen else Ended.BUDGET

    def outcome(self, rate: float) -> Outcome | OverflowError:
        """Return the outcome, tested on fresh samples; or the error that broke the run off."""
        if self.broken is not None:
            return self.broken
        assert self.kept is not None
        assert self.ended is not None
        metrics: dict[str, Any] = {f"curve_{name}": values for name, values in self.curve.items()}
        metrics |= {
            "ended": float(self.ended),
            "rate_used": rate,
            "steps_taken": self.curve["step"][-1],
            "final_loss": self.curve["loss"][-1],
        }
        looks = zip(self.curve["step"], self.curve.get("attention", []), strict=False)
        first = next((step for step, attention in looks if attention >= 0.5), None)
        if first is not None:
            metrics["first_attention"] = first
        logits, module, attended = self.kept
        numbers = tested(self.setup, logits)
        if attended is not None:
            numbers["attention_accuracy"] = mean_of_tests(
                self.setup,
                lambda tokens, position, label: attended(tokens, position) == position,
            )
            numbers["trigger_cosine"] = self.curve["cosine"][-1]
        return Outcome(logits=logits, metrics=metrics, numbers=numbers, module=module)


class Training:
    """Runs of one problem on their way; each is as it would be alone, to the bit.

    A group of fewer than `at_once` is filled up with copies of its last run, and their results are
    dropped. A run is always computed in operations of one shape, which round alike.
    """

    def __init__(
        self, setups: Sequence[Setup], optimiser_of: MakeOptimiser, rate: float, at_once: int = 1
    ) -> None:
        self.problem, self.rate = setups[0].problem, rate
        self.runs = [_Run(setup) for setup in setups]
        filled = [*setups, *[setups[-1]] * (at_once - len(setups))]
        self.trainee = trainee_of(filled)
        self.batches = Batches(filled)
        self.weights = [
            weight for weight in self.trainee.module.parameters() if weight.requires_grad
        ]
        self.optimiser = optimiser_of(self.trainee.groups(), rate)
        self.step = 0
        self.loss = torch.zeros(len(filled), dtype=torch.float64)
        self._looked_at = frozenset(grid(self.problem["steps"]))
        self._tests = self.batches.drawn(0, look_samples(self.problem), "test")

    def run(self) -> list[Outcome | OverflowError]:
        """Train to the end of every run; one that breaks has its error in its place."""
        progress, checkpoint = self.runs[0].setup.progress, self.runs[0].setup.checkpoint
        if checkpoint is not None and checkpoint.exists():
            resume(self, checkpoint)
        elif self.problem.regime == "literal":
            self._three_steps()
        saved = time.monotonic()
        while True:
            self.optimiser.zero_grad()
            losses = self._descend()
            # With batches of a part of the samples, a mean over steps: one batch may be lucky.
            self.loss += (losses - self.loss) / min(self.step + 1, self.batches.window)
            self._look()
            if all(run.over for run in self.runs):
                return [run.outcome(self.rate) for run in self.runs]
            if self.problem["clip"]:
                nn.utils.clip_grad_norm_(self.weights, self.problem["clip"])
            rate = self.rate * share_of_rate(self.problem, self.step)
            for group in self.optimiser.param_groups:
                group["lr"] = rate * group.get("rate_share", 1.0)
            self.optimiser.step()
            self.step += 1
            if progress is not None:
                progress(self.step, self.problem["steps"])
            if checkpoint is not None and time.monotonic() > saved + _SECONDS_BETWEEN_SAVES:
                save(self, checkpoint)
                saved = time.monotonic()

    def probe(self) -> int:
        """One step, for its time; the bytes that autograd has saved for it."""
        saved: dict[int, int] = {}

        def note(tensor: Tensor) -> Tensor:
            saved[tensor.data_ptr()] = tensor.nbytes
            return tensor

        self.optimiser.zero_grad()
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            self._descend()
        self.optimiser.step()
        return sum(saved.values())

    def look(self) -> dict[str, Float[Tensor, " runs"]]:
        """Return the measurements of the runs on fresh samples."""
        with torch.no_grad():
            return self.trainee.look(self._tests)

    def _descend(self) -> Float[Tensor, " runs"]:
        """The loss of each run, its gradient left with the weights; a part of the rows at once."""
        tokens, position, label = self.batches.of_step(self.step)
        count = label.shape[1]
        total = torch.zeros_like(self.loss)
        with self.trainee.noise(self.step):
            for rows in blocks(count, ROWS_AT_ONCE):
                part = (tokens[:, rows], position[:, rows], label[:, rows])
                losses = self.trainee.losses(part) * (part[2].shape[1] / count)
                losses.sum().backward()  # type: ignore[no-untyped-call]
                total += losses.detach().cpu()
        for run, finite in zip(self.runs, total.isfinite().tolist(), strict=False):
            if not finite and not run.over:
                run.broken = OverflowError(
                    f"the loss was not finite at step {self.step}; make the learning rate smaller"
                )
        return total

    def _look(self) -> None:
        """Note what is seen at this step, and end the runs that end here."""
        sure, last = self.step + 1 >= self.batches.window, self.step == self.problem["steps"]
        # What a part of the samples says of the slope is mostly noise.
        slopes = self._slopes() if self.batches.whole else [math.inf] * len(self.loss)
        ends = [
            run.how_it_ends(loss, slope, sure, last)
            for run, loss, slope in zip(self.runs, self.loss.tolist(), slopes, strict=False)
        ]
        if self.step not in self._looked_at and all(end is None for end in ends):
            return
        seen = {name: measured.tolist() for name, measured in self.look().items()}
        for place, (run, end) in enumerate(zip(self.runs, ends, strict=True)):
            if run.over:
                continue
            loss = float(self.loss[place])
            if end is not None or self.step in self._looked_at:
                run.see(self.step, loss, {name: values[place] for name, values in seen.items()})
            if end is not None:
                run.ended, run.kept = end, self.trainee.kept(place)

    def _slopes(self) -> list[float]:
        """The norm of the gradient of each run."""
        slopes = [weight.grad for weight in self.weights if weight.grad is not None]
        squares = [slope.reshape(len(self.loss), -1).square().sum(dim=1) for slope in slopes]
        return [float(square) for square in torch.stack(squares).sum(dim=0).sqrt()]

    def _three_steps(self) -> None:
        """The steps of the paper, of the sizes that the problem gives."""
        V, W = self.weights[:2]
        for weight, size in (
            (V, self.problem.eta),
            (W, self.problem.gamma),
            (V, self.problem.gamma),
        ):
            self.optimiser.zero_grad()
            self._descend()
            assert weight.grad is not None
            with torch.no_grad():
                weight.sub_(weight.grad, alpha=size)


def share_of_rate(problem: Problem, step: int) -> float:
    """The learning rate at a step, as a fraction of the one that was given."""
    # The schedulers of torch multiply from step to step, and round to other bits (1e-15).
    share, steps = 1.0, float(problem["steps"])
    if problem["schedule"] == "cosine":
        share = 0.5 * (1 + math.cos(math.pi * step / steps))
    if warm := _WARM_UP if problem["schedule"] == "warmup" else problem["warmup"]:
        share *= min(1.0, (step + 1) / (warm * steps))
    return share
