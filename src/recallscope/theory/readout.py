"""The noise met when a memory is read: of the first gradient or of the third (recall).

A memory stores u_π(v) against the features of token v, V facts in one matrix. Asked for a token, it
gives the right label a signal and every label noise. All functions give the variance of a wrong
label's logit in units of the signal of a fact seen as often as the average. Each is an equation
as a function: arguments broadcast, and docs/derivation.md derives it under the label given here.

All noise reaches a label in two ways. One is the label's own stored item; the other is the overlap
of its output with all others, V/d times as much. Hence the factor 1 + V/d.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.shapes import Float
from recallscope.problem.problem import ACTIVATIONS
from recallscope.theory import hermite
from recallscope.theory.problem_arrays import Array, ProblemArrays


def interference(vocab: Any, samples: Any, dim: Any, gain: Any = 1.0) -> Array:
    """Superposition: V associations are stored in d² numbers. See eq:interference.

    (1 + V/N) (1 + V/d) / d, times the squared fraction of the kernel's signal that is linear
    (`gain`, 1 for attention alone). It stays in the population, N = ∞.

    >>> interference(512, 8192, 64).round(4)
    np.float64(0.1494)
    """
    V, N, d = positive(vocab=vocab, samples=samples, dim=dim)
    return gain * (1 + V / N) * (1 + V / d) / d


def kernel_interference(vocab: Any, samples: Any, dim: Any, variance: Any) -> Array:
    """The same through the curved part of a kernel: (1 + V/N) (1 + V/d) `variance`.

    See eq:kernel-interference.

    `variance` is that of the curved part over two tokens, in units of the squared signal.

    >>> kernel_interference(512, 8192, 64, 0.001).round(5)
    np.float64(0.00956)
    """
    V, N, d = positive(vocab=vocab, samples=samples, dim=dim)
    return variance * (1 + V / N) * (1 + V / d)


def gradient_noise(vocab: Any, samples: Any, dim: Any, length: Any, gain: Any = 1.0) -> Array:
    """Distractors that happened to occur with a label: (L - 1) (1 + V/d)² / N. See eq:first-noise.

    Only the first gradient has it: once attention finds the trigger, distractors are not read.

    >>> gradient_noise(512, 8192, 64, 32).round(4)
    np.float64(0.3065)
    """
    V, N, d, L = positive(vocab=vocab, samples=samples, dim=dim, length=length)
    return gain * (L - 1) * (1 + V / d) ** 2 / N


def mean_bias(vocab: Any, samples: Any, dim: Any, ratio: Any) -> Array:
    """The common part of reads, times the label imbalance: `ratio`² (1 + V/d) V/N.

    See eq:read-bias.

    `ratio` is the part of a read common to all tokens, over the signal. It is 1 when the trigger is
    in the values of attention alone, κ̄/S for an MLP.

    >>> mean_bias(512, 8192, 64, 1.0)
    np.float64(0.5625)
    """
    V, N, d = positive(vocab=vocab, samples=samples, dim=dim)
    return np.square(ratio) * (1 + V / d) * V / N


def sampling(vocab: Any, samples: Any, ratio: Any = 0.0) -> Array:
    """A batch shows the facts unevenly: (1 + `ratio`)² V/N, of the right label. See eq:sampling.

    >>> sampling(512, 8192)
    np.float64(0.0625)
    """
    V, N = positive(vocab=vocab, samples=samples)
    return np.square(1 + np.asarray(ratio)) * V / N


def mlp_noise(vocab: Any, samples: Any, dim: Any, width: Any, variance: Any) -> Array:
    """A kernel of m random units is not its expectation: `variance` (1 + V/N)(1 + V/d) / m.

    See eq:read-mlp.

    `variance` is m times that of the kernel of two tokens, in units of the squared signal.

    >>> mlp_noise(512, 8192, 64, 256, 1.5).round(4)
    np.float64(0.056)
    """
    V, N, d, m = positive(vocab=vocab, samples=samples, dim=dim, width=width)
    return variance * (1 + V / N) * (1 + V / d) / m


class Readout(NamedTuple):
    """One read of one memory: its noise by name, and the shape of what is left over."""

    terms: dict[str, Array]  # variances of a wrong label's logit
    item_variance: Array  # of the kernel of two tokens
    bias: Array  # the coherent part of a read, over the signal
    bare_bias: Array  # the same of what is stored where attention missed, over `bias`
    slope: Array  # the fraction of an overlap of two tokens that the kernel keeps, over the signal
    token_variance: Array  # of the signal over the tokens asked for, relative
    third: Array  # cumulants of the kernel of two tokens
    fourth: Array
    spill_third: Array  # cumulants of the count of a distractor with a label
    spill_fourth: Array


class Storage(NamedTuple):
    """How much of each fact is stored: its strength is the fraction of samples read right.

    The moments are over all facts of an instance. Their averages over instances are weighted by how
    often attention finds the trigger.
    """

    strength: Float[np.ndarray, "*n strengths"]  # of the fact asked for
    share: Float[np.ndarray, "*n strengths"]  # of tests that find the trigger of such a fact
    lost: Float[np.ndarray, "*n strengths"]  # of its signal, to what missed the trigger
    mean: Array
    square: Array  # what interferes: the second moment, and what those samples add to it
    cube: Array
    fourth: Array
    variance: Array

    @classmethod
    def in_full(cls, s: ProblemArrays) -> Storage:
        """Attention always finds the trigger."""
        one, nothing = np.ones_like(s.vocab), np.zeros_like(s.vocab)
        always = one[..., None]
        return cls(always, always, nothing[..., None], one, one, one, one, nothing)


class ReadNoise(NamedTuple):
    """The noise of one read: a part that is common to all labels, and one for each label."""

    c2: Array  # E c² of what labels have in the memory
    imbalance: Array  # of the common part of all reads
    common: Array  # through all others' outputs
    own: Array  # through the label's own stored item
    within: Array  # the part of `own` that every sample draws again
    lean: Array  # the dimensions in which the logits of labels seem to be drawn
    across: Array  # of wrong labels
    spread: Array  # what the length of the read adds for the right one
    highest: Float[np.ndarray, "n levels"]  # wrong label, in standard deviations


def positive(**sizes: Any) -> list[Array]:
    """The arguments as arrays, or an error that names the one which is too small."""
    arrays = []
    for name, value in sizes.items():
        array = np.asarray(value, dtype=float)
        fine = array >= 1 if name == "length" else array > 0
        if not np.all(fine):
            smallest = "at least 1" if name == "length" else "positive"
            raise ProblemError(f"{name} must be {smallest}, not {array[~fine].flat[0]:g}")
        arrays.append(array)
    return arrays


def total(terms: dict[str, Array]) -> Array:
    """The sum of all terms of a stage."""
    return np.sum(list(terms.values()), axis=0)


def recall_readout(s: ProblemArrays) -> Readout:
    """The third step's memory, if every sample is read at its trigger."""
    plain, marked = _plain_items(s), _marked_items(s)
    items = {name: np.where(s.marked, marked[name], plain[name]) for name in plain}
    bias = items["bias"]
    sizes = (s.vocab, s.samples, s.effective_dim)
    nothing = np.zeros_like(s.vocab)
    return Readout(
        terms={
            "interference": interference(*sizes, gain=items["linear"] * s.dim),
            "kernel_interference": kernel_interference(*sizes, items["curved"]),
            "mlp_noise": mlp_noise(*sizes, s.width, items["mlp"]),
            "mean_bias": mean_bias(*sizes, bias),
        },
        item_variance=np.where(s.orthogonal, 0, items["linear"] + items["curved"])
        + items["mlp"] / s.width,
        bias=bias,
        bare_bias=items["bare_bias"],
        slope=np.sqrt(items["linear"] * s.dim),
        token_variance=items["token"],
        third=items["third"],
        fourth=items["fourth"],
        spill_third=nothing,
        spill_fourth=nothing,
    )


@cache
def _tables(constants: Callable[[str], Any]) -> dict[str, Array]:
    """The constants of all activations, a row for each."""
    rows = [constants(name)._asdict() for name in ACTIVATIONS]
    return {field: np.array([row[field] for row in rows]) for field in rows[0]}


def _constants(s: ProblemArrays, constants: Callable[[str], Any]) -> dict[str, Array]:
    """The constants of each problem's activation."""
    return {field: table[s.activation] for field, table in _tables(constants).items()}


def _plain_items(s: ProblemArrays) -> dict[str, Array]:
    """Return the kernel of two tokens of length 1 through the features. See eq:token-kernel."""
    c = _constants(s, hermite.unit_constants)
    a = c["coefficients"]
    overlap2 = 1 / s.effective_dim
    overlap4 = 3 * overlap2 / (s.effective_dim + 2)
    mean = a[..., 0] ** 2 + a[..., 2] ** 2 * overlap2 + a[..., 4] ** 2 * overlap4
    signal = c["square"] - mean
    # a_3² ρ³ joins a_1² ρ, as ρ⁴ has a mean; a_2² ρ² makes the kernel nonlinear.
    linear = (a[..., 1] ** 4 + 6 * (a[..., 1] * a[..., 3]) ** 2 / (s.dim + 2)) / s.dim
    curved = a[..., 2] ** 4 * (overlap4 - overlap2**2)
    lengths = np.where(s.gaussian, a[..., 0] ** 2 * a[..., 2] ** 2 / s.dim, 0)
    mlp = c["square"] * (c["square"] - a[..., 0] ** 2)
    variance = np.where(s.orthogonal, 0, linear + curved + lengths) + mlp / s.width
    share = np.divide(mlp / s.width, variance, out=np.zeros_like(variance), where=variance > 0)
    # A token with long features has more signal, and as much more noise.
    token = (
        c["signal_variance"] / signal**2
        - share * c["signal_with_norm"] / (signal * c["square"])
        + share**2 * c["norm_variance"] / (4 * c["square"] ** 2)
    ) / s.width
    # So has a long token: log-derivative of signal and of noise by its squared length.
    signal_slope = (c["square_slope"] - c["log_slopes"][..., 0] * a[..., 0] ** 2) / signal
    noise_slope = np.divide(
        np.where(
            s.orthogonal,
            0,
            c["log_slopes"][..., 1] * linear
            + c["log_slopes"][..., 2] * curved
            + c["log_slopes"][..., 0] * lengths,
        )
        + 0.5 * mlp / s.width * c["square_slope"] / c["square"],
        variance,
        out=np.zeros_like(variance),
        where=variance > 0,
    )
    token = token + np.where(s.gaussian, 2 / s.dim * (1 + (signal_slope - noise_slope) ** 2), 0)
    return {
        "linear": linear / signal**2,
        "curved": (curved + lengths) / signal**2,
        "mlp": mlp / signal**2,
        "bias": mean / signal,
        "bare_bias": np.ones_like(s.vocab),
        "token": token,
        "third": c["third"] / s.width**2 / signal**3,
        "fourth": c["fourth"] / s.width**3 / signal**4,
    }


def _marked_items(s: ProblemArrays) -> dict[str, Array]:
    """The same for tokens that carry the trigger. See eq:marked-kernel."""
    c = _constants(s, hermite.marked_constants)
    signal = c["square"] - c["mean"]
    by_trigger = c["overlap_slope"] + 2 * c["length_slope"]
    linear = (c["overlap_slope"] ** 2 + by_trigger**2) / s.dim
    curved = 2 * c["overlap_curvature"] ** 2 / s.dim**2
    curved = curved + np.where(s.gaussian, 2 * c["length_slope"] ** 2 / s.dim, 0)
    # Lengths as for attention alone: signal is proportional to the square, noise to the length.
    token = c["signal_variance"] / s.width / signal**2 + np.where(s.gaussian, 2.5 / s.dim, 0)
    nothing = np.zeros_like(s.vocab)
    return {
        "linear": linear / signal**2,
        "curved": curved / signal**2,
        "mlp": c["mlp_variance"] / signal**2,
        "bias": c["mean"] / signal,
        "bare_bias": c["bare_mean"] / c["mean"],
        "token": token,
        "third": nothing,
        "fourth": nothing,
    }


class Means(NamedTuple):
    """The mean of a sequence's values, which uniform attention reads. See eq:sequence-mean."""

    square: Array  # its squared length r²
    shared: Array  # the squared length of the common part of all sequences
    moments: hermite.Features  # of the activation at r


def means(s: ProblemArrays) -> Means:
    """Lengths of h = mean of L values, and what the activation makes of them."""
    mark = np.where(s.marked, 1 / s.length, 0)
    # V tokens have a mean of squared length 1/V, which no sequence escapes.
    square = (1 + (s.length - 1) / s.vocab + mark) / s.length
    shared = (s.length - 1) / (s.length * s.vocab) + mark / s.length
    radius = np.sqrt(square)
    coefficients = np.zeros((*s.vocab.shape, hermite.DEGREES))
    moments = [np.zeros_like(s.vocab) for _ in hermite.Features._fields[1:]]
    for code, name in enumerate(ACTIVATIONS):
        chosen = s.activation == code
        if np.any(chosen):
            features = hermite.features(name, radius[chosen])
            coefficients[chosen] = features.coefficients
            for array, values in zip(moments, features[1:], strict=True):
                array[chosen] = values
    return Means(square, shared, hermite.Features(coefficients, *moments))


def first_gradient_readout(s: ProblemArrays, h: Means) -> Readout:
    """The first gradient, asked for a bare token. See eq:first-signal to eq:first-bias."""
    c = _constants(s, hermite.unit_constants)
    bare, stored = c["coefficients"], h.moments.coefficients
    V, N, L, d, m = s.vocab, s.samples, s.length, s.effective_dim, s.width
    others, radius = L - 1, np.sqrt(h.square)
    # The overlap of the token with a mean, over the lengths: shifted by 1/(L r) if it is in it.
    shift = 1 / (L * radius)
    variance = others / (L**2 * d * h.square)
    elsewhere = variance + shift**2 / d
    products = [bare[..., j] * stored[..., j] for j in range(7)]
    mean = products[0] + products[2] * elsewhere + 3 * products[4] * elsewhere**2
    signal = sum(
        p * gain for p, gain in zip(products[1:], _shifts(shift, variance, d), strict=True)
    )
    # In one dimension an even kernel has none at all; what is divided by it is to stay finite.
    signal = np.maximum(signal, 1e-12 * np.abs(mean))
    slope, curve = products[1] / radius, 2 * products[2] / h.square
    length_slope = bare[..., 0] * stored[..., 2] / (np.sqrt(2) * h.square)

    linear = (slope / (L * signal)) ** 2
    curved = (curve / (2 * L**2)) ** 2 * 2 / d**2
    curved = curved + np.where(s.gaussian, (length_slope / L**2) ** 2 * 2 / d, 0)
    # One part of the features' variance is due to which token was marked, and one is common to all
    # sequences. The rest is due to distractors.
    marked_square = 1 / (L**2 * h.square)
    between = sum(stored[..., j] ** 2 * marked_square**j for j in range(1, 7))
    base = h.shared / h.square
    shared = sum(stored[..., j] ** 2 * base**j for j in range(1, 7))
    within = np.maximum(h.moments.square - stored[..., 0] ** 2 - shared - between, 0)
    curve_noise = 0.5 * (curve * others / (L**2 * d)) ** 2 + length_slope**2 * np.where(
        s.gaussian, 2 / (L**2 * d), 2 * others / (L**3 * d)
    )
    # The mean of V tokens overlaps each by 1/V on average, and by 1/√(V d) more or less.
    bias = mean / signal + np.sqrt(linear) * others / V
    loose = linear * ((others / V) ** 2 * V / d + np.where(s.marked, 1 / d, 0))
    drawn = c["square"] * shared + (c["square"] - bare[..., 0] ** 2) * stored[..., 0] ** 2
    loose = loose + np.maximum(drawn, 0) / m / signal**2
    weights = np.stack([stored[..., j] * marked_square ** (j / 2) for j in (1, 2, 3)], axis=-1)
    token = np.einsum("...i,...ij,...j->...", weights, c["weighted"], weights) - signal**2
    token = np.maximum(token, 0) / m / signal**2 + np.where(s.gaussian, 2.5 / s.dim, 0)
    spread = 1 + V / d
    return Readout(
        terms={
            "interference": interference(V, N, d, gain=linear),
            "kernel_interference": kernel_interference(V, N, d, curved / signal**2),
            "gradient_noise": gradient_noise(V, N, d, L, gain=linear)
            + spread * curve_noise / signal**2 * V / N,
            "mlp_noise": mlp_noise(V, N, d, m, c["square"] * between / signal**2)
            + spread * c["square"] * within / m / signal**2 * V / N,
            "mean_bias": mean_bias(V, N, d, np.sqrt(bias**2 + loose)),
        },
        item_variance=linear / d + (curved + c["square"] * between / m) / signal**2,
        bias=bias,
        bare_bias=np.ones_like(V),
        slope=np.sqrt(linear),
        token_variance=token,
        third=np.zeros_like(V),
        fourth=np.zeros_like(V),
        spill_third=linear**1.5 * others * V / N**2,
        spill_fourth=linear**2 * others * V**2 / N**3,
    )


def _shifts(shift: Array, variance: Array, dim: Array) -> list[Array]:
    """Return the gain of E x^j, j = 1 … 6, over shift²/d more variance, if x is shifted.

    Written out, for the difference of the moments themselves would be lost to rounding.
    """
    a, v, e = shift, variance, shift**2 / dim
    return [
        a,
        a**2 - e,
        a**3 + 3 * a * v,
        a**4 + 6 * a**2 * v - 6 * v * e - 3 * e**2,
        a**5 + 10 * a**3 * v + 15 * a * v**2,
        a**6 + 15 * a**4 * v + 45 * a**2 * v**2 - 15 * (3 * v**2 * e + 3 * v * e**2 + e**3),
    ]
