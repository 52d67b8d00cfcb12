"""What is common to all learners that train with an optimiser, step by step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from recallscope.model.learner import Learner, Outcome
from recallscope.model.setup import Setup
from recallscope.problem.part import problem_field
from recallscope.training.cost import runs_at_once, training_cost
from recallscope.training.options import check

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

    from recallscope.model.cost import Cost
    from recallscope.problem.problem import Problem
    from recallscope.training.groups import Group, Together

    Weights = list[nn.Parameter] | list[Group]

METRICS = (
    *("curve_step", "curve_loss", "curve_recall", "curve_attention", "curve_mass", "curve_cosine"),
    *("ended", "rate_used", "steps_taken", "final_loss", "first_attention"),
)


def weight_decay(default: float) -> float:
    """The field for how strongly weights decay."""
    return problem_field(
        default,
        low=0.0,
        help="How strongly each step pulls the weights towards zero; 0 for not at all.",
    )


def momentum(default: float) -> float:
    """The field for how much of the last step the next one keeps."""
    return problem_field(
        default,
        low=0.0,
        high=0.9999,
        help="The share of the last step's direction that the next keeps; 0 for none.",
    )


def batch(default: int) -> int:
    """The field for how many samples each step is given."""
    return problem_field(
        default, low=0, help="Samples for each step; 0, or more than there are, for all."
    )


@dataclass(frozen=True)
class TrainedLearner(Learner):
    """A learner that trains with an optimiser; yours has an `optimiser` and a `usual_rate`.

    Attributes:
        by_weight: whether the optimiser treats each weight by itself. Tiny runs can then be trained
            in one tensor; an optimiser of matrices does not.
    """

    metrics = METRICS
    by_weight: ClassVar[bool] = False

    learning_rate: float = problem_field(
        0.0, low=0.0, help="The size of each step; 0 for one that is chosen from the sizes."
    )
    steps: int = problem_field(
        1000,
        low=0,
        high=10_000_000,
        monotone=1,
        help=(
            "The most steps; fewer if it converges before, by its loss over all samples, or over "
            "the last 1024 if they are fresh."
        ),
    )
    schedule: str = problem_field(
        "constant",
        choices=("constant", "cosine", "warmup"),
        help="Of the learning rate: constant, cosine (falls to 0), warmup (rises over a tenth).",
    )
    weight_decay: float = weight_decay(0.0)
    warmup: float = problem_field(
        0.0,
        low=0.0,
        high=1.0,
        help="The share of all steps over which the learning rate rises, before any schedule.",
    )
    clip: float = problem_field(
        0.0, low=0.0, help="The longest gradient; longer ones are cut. 0 for no limit."
    )
    threads: int = problem_field(
        1,
        low=1,
        high=1024,
        help="Threads of a training; another number may give other last digits.",
    )
    start: float = problem_field(
        0.0, low=0.0, help="Standard deviation of the random first weights; 0 for zero."
    )
    learn_embeddings: bool = problem_field(
        False, help="Whether the embeddings of tokens and labels learn too."
    )
    learn_mlp: bool = problem_field(False, help="Whether the first matrix of the MLP learns too.")
    saturation: float = problem_field(
        0.0,
        low=0.0,
        help=(
            "Begin with the first two of three steps, the second so large that scores of tokens "
            "have this standard deviation; 0 to begin at the start."
        ),
    )

    @abstractmethod
    def optimiser(self, weights: Weights, rate: float) -> Optimizer | Together:
        """The optimiser of what learns, at a learning rate."""

    @abstractmethod
    def usual_rate(self, problem: Problem) -> float:
        """The learning rate for problems that give none."""

    def check(self, problem: Problem) -> None:
        """Raise if a problem cannot be trained as it says."""
        check(problem)

    def learn(self, setup: Setup) -> Outcome:
        """One run alone."""
        (outcome,) = self.learn_together([setup])
        if isinstance(outcome, OverflowError):
            raise outcome
        return outcome

    def learn_together(self, setups: Sequence[Setup]) -> list[Outcome | OverflowError]:
        """Runs in one tensor, if there are several; each as it would be alone."""
        from recallscope.three_step.threads import Threads
        from recallscope.training.loop import Training

        problem = setups[0].problem
        usual = problem.part("model").default_rate(problem)
        rate = self.learning_rate or usual or self.usual_rate(problem)
        with Threads(self.threads):
            return Training(setups, self.optimiser, rate, self.at_once(problem)).run()

    def at_once(self, problem: Problem) -> int:
        """How many runs are trained in one tensor."""
        return runs_at_once(problem) if self.by_weight else 1

    def cost(self, problem: Problem, engine: str, dtype: str, test_samples: int) -> Cost:
        """What a training takes: by a formula, or of a module by a short probe."""
        if problem.part("model").batched:
            at_once = self.at_once(problem)
            return training_cost(problem, engine, dtype, test_samples, at_once=at_once)
        from recallscope.training.probe import module_cost

        return module_cost(problem, dtype, test_samples)


@dataclass(frozen=True)
class BatchedLearner(TrainedLearner):
    """The same with steps on a part of the samples, or on new ones."""

    batch: int = batch(0)
    fresh: bool = problem_field(False, help="Whether every step draws samples never seen before.")


def fused(weights: Weights) -> bool:
    """Whether all weights are stepped at once: faster, with other last bits."""
    return isinstance(weights[0], dict)  # groups, of a module; records of the paper's model stay


def of_matrices(kind: type[Optimizer], weights: Weights, **options: float) -> Optimizer | Together:
    """An optimiser of matrices, with AdamW for whatever else a module has."""
    from torch.optim import AdamW

    from recallscope.training.groups import REST_OF_RATE, Together, matrices_and_rest

    make: Any = kind
    if not isinstance(weights[0], dict):
        return make(weights, **options)  # type: ignore[no-any-return]
    matrices, rest = matrices_and_rest(weights)
    optimisers = [make(matrices, **options)] if matrices else []
    if rest:
        rest = [group | {"rate_share": REST_OF_RATE} for group in rest]
        decay = options["weight_decay"]
        optimisers.append(AdamW(rest, lr=options["lr"], weight_decay=decay, fused=True))
    return Together(*optimisers)
