"""The capacity as inequalities: what each noise asks of the sizes, and how far that is met.

Each condition keeps one noise of the closed forms: the right answer must stand so many of its
standard deviations above wrong ones as a recall of the target among so many rivals needs. Together,
variances of one stage add. docs/theory.md has the derivation. Nothing is fitted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

from recallscope.common.checks import LARGEST_SIZE, check_target
from recallscope.common.errors import ProblemError
from recallscope.common.plain import finite
from recallscope.plot.labels import describe_common_fields
from recallscope.plot.panels import Kind, Panel, Picture, Series
from recallscope.plot.result import Drawing, Result
from recallscope.problem.axes import axis_field
from recallscope.problem.problem import Problem, smallest_dim
from recallscope.theory.accuracy import different_rivals, on_sphere
from recallscope.theory.attention_scores import (
    attention_scores,
    crowd,
    gains,
)
from recallscope.theory.noise import POWERS
from recallscope.theory.problem_arrays import (
    POPULATION,
    Array,
    ProblemArrays,
    arrays_of,
    no_closed_form,
)
from recallscope.theory.readout import Readout, means, recall_readout, total

_levels, _weights = np.polynomial.legendre.leggauss(40)
_LEVELS, _LEVEL_WEIGHTS = (_levels + 1) / 2, _weights / 2
_SYMBOLS = ("V", "N", "d", "L", "m")
_TWICE = math.sqrt(2)  # attention: the trigger's score fluctuates as the marked token's own does
_ROUNDING = 1e-30  # a variance below this part of the signal's square is a rounding error
_OF_THE_MEAN = {("mean_bias", (2, -1, -1, 0, 0)), ("mlp_noise", (2, -2, -2, 3, -1))}
"""Leading terms that an activation has only with its mean."""
_HALVINGS = 40
_NEARLY = 1 - 1e-9  # what one stage is asked for where the other leaves nothing to lose
_GRID, _ROUNDS = 100, 4  # a size is searched on a grid, and on finer ones


def highest_rival(rivals: Any, level: Any = 0.5) -> Array:
    """The quantile of the highest of so many standard normal numbers; by default the median.

    >>> highest_rival([1e3, 1e6]).round(2)
    array([3.2 , 4.83])
    """
    count = np.maximum(np.asarray(rivals, dtype=float), 1.0)
    return np.asarray(-ndtri(-np.expm1(np.log(level) / count)))


def won(rivals: Any, lead: Any, spread: Any = 1.0) -> Array:
    """The probability that a right answer with this lead exceeds the highest of so many rivals.

    In units of the rivals' standard deviation; its own is `spread`.

    >>> won([1e3, 1e6], [3.24, 7.27]).round(2)
    array([0.5 , 0.99])
    """
    lead, spread = np.asarray(lead)[..., None], np.asarray(spread)[..., None]
    highest = highest_rival(np.asarray(rivals, dtype=float)[..., None], _LEVELS)
    return np.asarray(ndtr((lead - highest) / spread) @ _LEVEL_WEIGHTS)


def threshold(rivals: Any, target: Any, spread: float = 1.0) -> Array:
    """The standard deviations by which a right answer must lead for a probability of the target.

    It has to exceed the highest of so many rivals, and scatters itself, by `spread` of theirs.
    About √(2 ln rivals) for one half, and Φ⁻¹(target) √(spread² + …) more for other targets.

    >>> threshold([1e3, 1e6], 0.5).round(2), threshold([1e3, 1e6], 0.99).round(2)
    (array([3.24, 4.86]), array([5.73, 7.27]))
    """
    rivals, target = np.broadcast_arrays(np.asarray(rivals, dtype=float), target)
    (counts, targets), place = np.unique(
        [rivals.ravel(), target.ravel()], axis=1, return_inverse=True
    )
    low, high = np.full(counts.shape, -50.0), np.full(counts.shape, 50.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = won(counts, middle, spread) >= targets
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray(high[place].reshape(rivals.shape))


class _Noise(NamedTuple):
    """One noise by itself: its variance in units of the signal, and the standard deviations."""

    stage: str
    term: str
    exponents: Sequence[int]  # of V, N, d, L, m in the leading term of the variance
    variance: Array
    deviations: Array

    @property
    def uneven(self) -> bool:
        """Whether facts seen unevenly make it 1 + V/N times as large."""
        return self.stage == "recall" and self.exponents[1] == 0


def _attention_noises(s: ProblemArrays, target: float) -> list[_Noise]:
    """Leading noises of the tokens' scores; rivals are the different tokens of a sequence."""
    h = means(s)
    g, scores = gains(s, h), attention_scores(s, h)
    V, N, d, L = s.vocab, s.samples, s.effective_dim, s.length
    c, others, overlaps = V / d, L - 1, crowd(V, d)
    rivals = different_rivals(s)
    both, own = (
        np.where(L == 1, 0.0, np.maximum(threshold(rivals, target, spread), 0.0))
        for spread in (_TWICE, 1.0)
    )
    # Too frequent labels pull their tokens (eq:score-labels), and
    # two samples with a token in common share noise (eq:score-shared).
    labels = g.drift**2 * others**3 * (1 + c) * overlaps.fourth / (N * V) ** 2
    shared = (g.direct**2 + g.scatter) * L * others * (1 + c) ** 2 * (2 + c) / (N**2 * V)
    first, second, *_ = POWERS["attention"]["gradient_noise"]
    noises = [
        ("mean_bias", POWERS["attention"]["mean_bias"][0], scores.terms["mean_bias"]),
        ("gradient_noise", first, labels),
        ("gradient_noise", second, shared),
    ]
    if np.any(np.isfinite(s.width)):
        few_units = POWERS["attention"]["mlp_noise"][0]
        noises.append(("mlp_noise", few_units, scores.terms["mlp_noise"]))
    squared = np.where(L == 1, 1.0, scores.signal**2)
    found = [
        _Noise("attention", term, power, variance / squared, both)
        for term, power, variance in noises
    ]
    # Cross-talk is in proportion to the trigger's score, whose fluctuation then cancels.
    crossing = POWERS["attention"]["cross_talk"][0]
    return [*found, _Noise("attention", "cross_talk", crossing, 1 / d, own)]


def _attention_accuracy(s: ProblemArrays, noises: Sequence[_Noise]) -> Array:
    """How often the trigger is found against all noises of attention, whose variances add."""
    *others, cross_talk = (noise.variance for noise in noises)
    drawn = sum(others)
    spread = np.sqrt(1 + drawn / (drawn + cross_talk))
    found = won(different_rivals(s), 1 / np.sqrt(drawn + cross_talk), spread)
    return np.where(s.length == 1, 1.0, found)


def _read(s: ProblemArrays, target: Any) -> tuple[Array, Array]:
    """The highest wrong logit, and how much the right one has to exceed it by, per noise."""
    V, d = s.vocab, s.effective_dim
    normal = highest_rival(V - 1)
    highest = np.where(s.gaussian | s.orthogonal, normal, on_sphere(normal, s.dim))
    # A wrong label's output overlaps the right one's: eq:threshold.
    highest = highest / np.sqrt(np.maximum(1 - highest**2 / d, 1e-9))
    # The right label is disturbed through other labels' outputs alone, V/d of 1 + V/d.
    return highest, (threshold(V - 1, target) - normal) * np.sqrt(V / (V + d))


def _terms(readout: Readout) -> dict[str, Array]:
    return {name: value for name, value in readout.terms.items() if np.any(value > _ROUNDING)}


def _recall_noises(s: ProblemArrays, target: float) -> list[_Noise]:
    """Noises of logits."""
    deviations = sum(_read(s, target))
    return [
        _Noise("recall", name, POWERS["recall"][name][0], value, np.asarray(deviations))
        for name, value in _terms(recall_readout(s)).items()
    ]


def _all_read(s: ProblemArrays, target: Array) -> Array:
    """Whether facts are seen and read often enough, against all noises and uneven counts."""
    readout, few = recall_readout(s), s.vocab / s.samples
    highest, right = _read(s, target)
    deviation, z, signal = np.sqrt(total(_terms(readout))), ndtri(target), 1 + readout.bias
    uneven = z**2 * (signal**2 * few + readout.token_variance)
    lead = highest * deviation + np.sign(z) * np.sqrt((right * deviation) ** 2 + uneven)
    # Poisson counts are skewed: their median is below their mean.
    lead = lead - (z**2 - 1) * signal * few / 6
    return np.asarray((lead <= 1) & (s.samples >= -s.vocab * np.log1p(-target)))


def all_met(s: ProblemArrays, target: float = 0.5, together: bool = True) -> Array:
    """Whether all conditions hold: together, or each by itself.

    Together, variances of a stage add, and a recall of the target is the product of both stages.

    >>> from recallscope.theory.problem_arrays import problem_arrays
    >>> all_met(problem_arrays(vocab=512, samples=[1e3, 1e4], dim=96, length=16))
    array([False,  True])
    """
    attention = _attention_noises(s, target)
    if together:
        found = _attention_accuracy(s, attention)
        rest = np.clip(target / np.maximum(found, target), target, _NEARLY)
        return np.asarray((found > target) & _all_read(s, rest))
    met = s.samples >= -s.vocab * math.log1p(-target)
    for noise in (*attention, *_recall_noises(s, target)):
        met &= noise.variance * noise.deviations**2 <= 1
    return met


def size_needed(
    problem: Problem, quantity: str, target: float = 0.5, together: bool = True
) -> float | None:
    """The size at which all conditions hold, together or each by itself; None if they never do.

    It is the smallest samples, dim or width, or the largest vocab or length, as in `solve`.

    >>> round(size_needed(Problem(vocab=512, samples=1, dim=96, length=16), "samples"))
    1407
    >>> size_needed(Problem(vocab=512, samples=1, dim=64, length=16), "samples")
    """
    s, grows = arrays_of(problem), axis_field(quantity, problem.parts(), searched=True).grows
    low = float(smallest_dim(problem.embedding, problem.vocab)) if quantity == "dim" else 1.0
    low, high = max(low, 2.0 if quantity == "vocab" else 1.0), float(LARGEST_SIZE)
    for _ in range(_ROUNDS):
        sizes = np.geomspace(low, high, _GRID)
        many = ProblemArrays(*(np.broadcast_to(field, sizes.shape) for field in s))
        met = all_met(many._replace(**{quantity: sizes}), target, together)
        if not grows:
            met, sizes = met[::-1], sizes[::-1]
        # As in `solve`, the crossing next to the sizes that do not reach the target counts.
        failing = np.flatnonzero(~met)
        if not met[-1]:
            return None
        if not len(failing):
            return float(sizes[0])
        place = int(failing[-1])
        low, high = sorted((float(sizes[place]), float(sizes[place + 1])))
    return high if grows else low


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One inequality: a product of sizes must be so many times another.

    Attributes:
        stage: attention or recall.
        noise: the noise by which the condition is due.
        product: the sizes that help.
        against: the sizes that hurt.
        constant: what the product must exceed the other by.
        factor: the product over what it must be: at least 1 where the condition is met.
    """

    stage: str
    noise: str
    product: str
    against: str
    constant: float
    factor: float

    @property
    def inequality(self) -> str:
        """The condition in symbols.

        >>> capacity(Problem(vocab=512, samples=8192, dim=64, length=32)).least.inequality
        'd² / (1 + V/N) ≥ 11.4 V'
        """
        return f"{self.product} ≥ {self.constant:.3g} {self.against}".rstrip()

    @property
    def source(self) -> str:
        """The noise and its stage, in words."""
        return f"{self.noise.replace('_', ' ')} of {self.stage}"

    @property
    def sentence(self) -> str:
        """The condition, its source and how far it is met."""
        return f"{self.inequality} ({self.source}): {self.factor:.3g} times what is needed"


@dataclass(frozen=True, kw_only=True, repr=False)
class Conditions(Result):
    """What each noise asks of the sizes of a problem, and how far that is met.

    Attributes:
        problem: whose sizes they are.
        target: the recall to reach.
        conditions: one for each noise by itself.
        samples: what all of them together ask for; None if no number is enough.
    """

    problem: Problem
    target: float
    conditions: list[Condition]
    samples: float | None

    @property
    def least(self) -> Condition:
        """The condition that is met least."""
        return min(self.conditions, key=lambda condition: condition.factor)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON: null is a factor without end."""
        fields = super().to_dict()
        return fields | {"conditions": finite(fields["conditions"])}

    def rows(self) -> list[dict[str, Any]]:
        """One row for each condition."""
        return [
            {
                "stage": condition.stage,
                "noise": condition.noise,
                "condition": condition.inequality,
                "product": condition.product,
                "constant": condition.constant,
                "against": condition.against,
                "factor": condition.factor,
                "target": self.target,
            }
            for condition in self.conditions
        ]

    def _words(self) -> str:
        many = "no number of" if self.samples is None else f"{self.samples:.4g}"
        return (
            f"for recall {self.target:g} the least met of {len(self.conditions)} conditions is "
            f"{self.least.sentence}; {many} "
            "samples meet all together"
        )

    def _drawing(self) -> Drawing:
        shown = [each for each in self.conditions if math.isfinite(each.factor)]
        names = [f"{each.inequality}\n{each.source}" for each in shown]
        series = [
            Series("met by a factor", Kind.MEASURED, names, [each.factor for each in shown]),
            Series("just met", Kind.REFERENCE, names, [1.0] * len(names)),
        ]
        panel = Panel(title="", x="condition", y="factor", series=series, log_y=True)
        caption = (
            f"{describe_common_fields([self.problem.to_dict()])}. How far the condition of each "
            f"noise is met, for recall {self.target:g}. Leading orders of the closed forms; "
            "nothing is fitted."
        )
        return Drawing("picture", Picture(caption=caption, panels=[panel]))


def capacity(problem: Problem, target: float = 0.5) -> Conditions:
    """The conditions on products of sizes under which three steps recall, and how far each is met.

    Each is due to one noise. It is derived from the closed forms to leading order, where tokens are
    many more than dimensions and sequences are long. Constants are those at the problem's sizes.

    Args:
        problem: with random embeddings, and for the three-step learner.
        target: the recall to reach.

    Returns:
        A list with the factor by which each condition is met, and the samples that all together
        ask for.

    Raises:
        ProblemError: a target that is not between 0 and 1, or a problem without closed forms.

    >>> capacity(Problem(vocab=512, samples=8192, dim=64, length=32))
    for recall 0.5 the least met of 6 conditions is d² / (1 + V/N) ≥ 11.4 V (...): 0.66 ...
    """
    check_target(target)
    if sentence := no_conditions(problem):
        raise ProblemError(sentence)
    return Conditions(
        problem=problem,
        target=float(target),
        conditions=conditions_of(problem, target),
        samples=size_needed(problem, "samples", target),
    )


def conditions_of(problem: Problem, target: float = 0.5) -> list[Condition]:
    """The conditions of a problem that has some, each by itself.

    >>> [each.noise for each in conditions_of(Problem(vocab=512, samples=8192, dim=64, length=2))]
    ['sampling', 'interference']
    """
    s = arrays_of(problem)
    enough = -math.log1p(-target)
    seen = Condition(
        stage="recall",
        noise="sampling",
        product="N",
        against="V",
        constant=enough,
        factor=problem.samples / problem.vocab / enough,
    )
    noises = (*_attention_noises(s, target), *_recall_noises(s, target))
    every = [_condition(s, noise) for noise in noises]
    # What asks for nothing is left out, as all of attention where a sequence has one rival.
    return [seen, *(condition for condition in every if condition.constant > 0)]


def no_conditions(problem: Problem) -> str | None:
    """Why there are no conditions for a problem; None if there are."""
    if sentence := no_closed_form(problem):
        return sentence
    if arrays_of(problem).orthogonal[0]:
        return "the conditions are for random embeddings: orthogonal ones have none of their noises"
    return None


def _condition(s: ProblemArrays, noise: _Noise) -> Condition:
    """The inequality of a noise: (sizes that help) ≥ constant · (sizes that hurt)."""
    order = abs(noise.exponents[1]) or 1  # N stands in it to the first power, if at all
    powers = {
        symbol: -power / order for symbol, power in zip(_SYMBOLS, noise.exponents, strict=True)
    }
    sizes = dict(zip(_SYMBOLS, (s.vocab, s.samples, s.dim, s.length, s.width), strict=True))
    ratio = math.prod(float(sizes[symbol][0]) ** power for symbol, power in powers.items() if power)
    product = _product({symbol: powers[symbol] for symbol in "Nmd" if powers[symbol] > 0})
    if noise.uneven:
        ratio /= 1 + float(s.vocab[0] / s.samples[0])
        product += " / (1 + V/N)"
    asked = float(noise.variance[0] * noise.deviations[0] ** 2) ** (1 / order)
    boundless = asked == 0 or (s.samples[0] >= POPULATION and powers["N"] > 0)
    return Condition(
        stage=noise.stage,
        noise=noise.term,
        product=product,
        against=_product({symbol: -powers[symbol] for symbol in "VL" if powers[symbol] < 0}),
        constant=ratio * asked,
        factor=math.inf if boundless else 1 / asked,
    )


def _product(powers: dict[str, float]) -> str:
    """A product in symbols.

    >>> _product({"N": 1, "d": 1.5}), _product({"V": 0.5, "L": 2})
    ('N d^(3/2)', '√V L²')
    """
    written = {0.5: "√{}", 1: "{}", 1.5: "{}^(3/2)", 2: "{}²", 3: "{}³"}
    return " ".join(written[power].format(symbol) for symbol, power in powers.items())


def one_line(problem: Problem, target: float = 0.5) -> float | None:
    """N* as the largest of three terms: seen, stored, and found. None if d and m are too small.

    The line that docs/theory.md quotes: leading orders alone, where V ≫ d and L is long.

    >>> problem = Problem(vocab=10**6, samples=1, dim=6000, length=10**5)
    >>> f"{one_line(problem):.3g}, {size_needed(problem, 'samples'):.3g}"
    '9.42e+07, 1.04e+08'
    """
    s = arrays_of(problem.replace(samples=problem.vocab))
    V, d, L, m = (float(field[0]) for field in (s.vocab, s.dim, s.length, s.width))
    read, z = float(threshold(V - 1, target)), float(ndtri(target))
    many = recall_readout(s._replace(samples=np.full(1, POPULATION)))
    items = sum(float(value[0]) for name, value in many.terms.items() if name != "mean_bias")
    load, bias = read**2 * items / (1 + d / V), float(many.bias[0])  # 1/q, and the mean over S
    if load >= 1:
        return None
    imbalance = read**2 * bias**2 * V / d
    if target == 0.5:
        stored = (load + imbalance + (1 + bias) / 3) / (1 - load)
    else:
        highest = float(highest_rival(V - 1)) / read
        counts = (z * (1 + bias)) ** 2 / (1 - math.sqrt(load))
        counts /= 1 - (highest - z / read) * math.sqrt(load)
        counts += ((1 - highest) ** 2) * imbalance / (1 - load)
        stored = (highest * math.sqrt(imbalance / (1 - load)) + math.sqrt(counts)) ** 2
        stored -= (z**2 - 1) * (1 + bias) / 3
    g = gains(s, means(s))
    noise = (1 + d / m) * (g.own**2 * V * L**4 / d**3 + g.drift**2 * V**2 * L**3 / d**4)
    noise += (g.direct**2 + g.scatter) * V**2 * L**2 / d**3 + g.pull**2 * V**2 * L**4 / (m * d**2)
    found = threshold(different_rivals(s), target, _TWICE) * np.sqrt(noise) / g.signal
    return max(-math.log1p(-target) * V, stored * V, float(found[0]))


class JointScaling(NamedTuple):
    """How N* grows with V where other sizes are powers of V, and which condition decides."""

    exponent: float
    condition: str


def joint_scaling(
    dim: float, length: float, width: float | None = None, biased: bool = True
) -> JointScaling:
    """The exponent of N* in V if d = V^dim, L = V^length and m = V^width; logarithms are left out.

    The largest exponent that a noise asks for. It is infinite where d and m cannot store the facts,
    whatever N is. For attention alone it is max(1, 1/2 + 2 length − 3/2 dim), as 1/2 < dim < 1.

    Args:
        dim: below 1.
        length: below 1.
        width: of the MLP; None for attention alone.
        biased: True for ReLU, False for an odd activation such as tanh, which has no mean bias of
            recall and less MLP noise of attention.

    >>> joint_scaling(dim=0.6, length=0.5), joint_scaling(dim=0.6, length=0.75)
    (JointScaling(exponent=1.0, condition='sampling'), JointScaling(exponent=1.1, ...))
    >>> joint_scaling(dim=0.6, length=0.5, width=0.7)
    JointScaling(exponent=1.4, condition='mean bias of recall')
    """
    mlp_alone = {("recall", "mean_bias"), ("recall", "kernel_interference")}
    powers = (1.0, 0.0, dim, length, width or 0.0)
    found = [JointScaling(1.0, "sampling")]
    for stage, terms in POWERS.items():
        for term, leading in terms.items():
            if term == "sampling" or (width is None and (stage, term) in mlp_alone):
                continue
            for exponents in leading:
                if width is None and exponents[-1]:
                    continue
                if not biased and (term, tuple(exponents)) in _OF_THE_MEAN:
                    continue
                grows = sum(map(operator.mul, exponents, powers))
                samples = -exponents[1]
                # A noise that N does not lessen has to vanish by itself.
                exponent = grows / samples if samples else math.inf if grows >= 0 else 0.0
                found.append(JointScaling(exponent, f"{term.replace('_', ' ')} of {stage}"))
    return max(found, key=lambda each: round(each.exponent, 9))
