"""A picture of each noise, for docs/theory.md: one instance in which it is small, one in which not.

    noise_pictures

Everything drawn is computed from the weights of real runs at seed 0; a few seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recallscope import Instance, Learned, Problem, RecallTask, Threads, learn
from recallscope.plot.style import COLOURS, new_figure, save, style_axes
from recallscope.theory.hermite import kernel

FOLDER = Path(__file__).parents[3] / "docs" / "noise"
WRONG, RIGHT = COLOURS[:2]
_SMALL = {"fontsize": 7}


def learned(**sizes: float) -> tuple[Instance, Learned]:
    """An instance and what three steps make of it."""
    instance = Instance.make(Problem(**sizes), seed=0)  # type: ignore[arg-type]
    with Threads() as threads:
        return instance, learn(instance, threads)


def pair(name: str, draw: Callable[[Axes, int], str], x: str, y: str, legend: str) -> None:
    """Two panels side by side, with the same axes: the first where the noise is small."""
    figure: Figure = new_figure(6.75, 2.3)
    for number, axes in enumerate(figure.subplots(1, 2, sharex=True, sharey=True)):
        axes.set_title(draw(axes, number), fontsize=8)
        axes.set_xlabel(x, **_SMALL)
        if number == 0:
            axes.set_ylabel(y, **_SMALL)
        else:
            axes.legend(fontsize=7, frameon=False, loc=legend)
        style_axes(axes)
    save(figure, FOLDER / f"{name}.png")


def logits(axes: Axes, instance: Instance, memory: object) -> float:
    """Labels of every token, in units of the mean right one; the fraction recalled."""
    read = (instance.tokens @ memory.T @ instance.centred_outputs.T).numpy()  # type: ignore[attr-defined]
    rows = np.arange(len(read))
    right = read[rows, instance.labels.numpy()].copy()
    recalled = float(np.mean(read.argmax(axis=1) == instance.labels.numpy()))
    wrong = np.delete(read, np.ravel_multi_index((rows, instance.labels.numpy()), read.shape))
    scale = right.mean()
    bins = np.linspace(-2, 3, 101)
    for values, colour, label in ((wrong, WRONG, "wrong labels"), (right, RIGHT, "the right one")):
        axes.hist(values / scale, bins, color=colour, alpha=0.75, density=True, label=label)
    highest = np.sort(wrong.reshape(len(read), -1).max(axis=1) / scale)[len(read) // 2]
    axes.axvline(highest, color="black", linewidth=1, linestyle="--", label="highest wrong one")
    return recalled


def interference(axes: Axes, number: int) -> str:
    """Facts in few dimensions."""
    dim = (128, 32)[number]
    instance, done = learned(vocab=512, samples=math.inf, dim=dim, length=4)
    recalled = logits(axes, instance, done.V2)
    return f"d = {dim}: {recalled:.0%} recalled"


def gradient_noise(axes: Axes, number: int) -> str:
    """Distractors that happened to be there, in the first gradient."""
    length = (2, 64)[number]
    instance, done = learned(vocab=256, samples=16 * 256, dim=128, length=length)
    recalled = logits(axes, instance, done.V1)
    return f"L = {length}: {recalled:.0%} recalled by the first gradient"


def sampling(axes: Axes, number: int) -> str:
    """How often each fact was seen."""
    each = (16, 2)[number]
    task = RecallTask(vocab=4096, length=4)
    seen = np.bincount(task.draw(0, each * 4096).label, minlength=4096)
    axes.hist(seen, np.arange(-0.5, 36), color=WRONG, density=True, label="facts")
    axes.axvline(each, color="black", linewidth=1, linestyle="--", label="the mean")
    axes.hist(
        seen[seen == 0], [-0.5, 0.5], color=RIGHT, weights=np.full((seen == 0).sum(), 1 / 4096)
    )
    return f"N/V = {each}: {np.mean(seen == 0):.1%} of the facts never seen"


def scores(axes: Axes, instance: Instance, done: Learned, along: np.ndarray) -> None:
    """Attention scores of tokens against something, and how far above them the trigger is."""
    signal = float(instance.trigger @ done.alpha)
    token = (instance.tokens @ done.alpha).numpy() / signal
    axes.plot(along, token, ".", color=WRONG, markersize=2, label="tokens")
    axes.axhline(1, color=RIGHT, linewidth=1.2, label="what the trigger adds")


def cross_talk(axes: Axes, number: int) -> str:
    """Tokens that look like the trigger."""
    dim = (256, 16)[number]
    instance, done = learned(vocab=512, samples=65536, dim=dim, length=16)
    scores(axes, instance, done, (instance.tokens @ instance.trigger).numpy())
    return f"d = {dim}: overlaps of {1 / math.sqrt(dim):.2f}"


def mean_bias(axes: Axes, number: int) -> str:
    """Tokens that lie along the mean of all."""
    length = (8, 128)[number]
    instance, done = learned(vocab=512, samples=2048, dim=48, length=length)
    mean = instance.tokens.mean(dim=0)
    scores(axes, instance, done, (instance.tokens @ mean / mean.norm()).numpy())
    return f"L = {length}"


def mlp_noise(axes: Axes, number: int) -> str:
    """The kernel of some random units, the kernel of infinitely many, and its linear part."""
    width = (4096, 64)[number]
    instance = Instance.make(Problem(vocab=128, samples=1, dim=16, length=2, width=width), seed=0)
    hidden = np.maximum((instance.tokens @ instance.hidden_weights.T).numpy(), 0)  # type: ignore[union-attr]
    above = np.triu_indices(128, 1)
    overlap = (instance.tokens @ instance.tokens.T).numpy()[above]
    axes.plot(
        overlap,
        (hidden @ hidden.T / width)[above],
        ".",
        color=WRONG,
        markersize=1,
        alpha=0.4,
        label="pairs of tokens",
    )
    x = np.linspace(-0.8, 0.8, 41)
    limit = np.array([kernel("relu", float(each)) for each in x])
    axes.plot(x, limit, color=RIGHT, linewidth=1.5, label="infinitely wide MLP")
    middle, slope = kernel("relu", 0.0), (kernel("relu", 0.01) - kernel("relu", -0.01)) / 0.02
    axes.plot(x, middle + slope * x, color="black", linewidth=1, linestyle="--", label="its line")
    return f"m = {width}"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    logit, density = "logit, in units of the mean right one", "density"
    pair("interference", interference, logit, density, "upper left")
    pair("gradient-noise", gradient_noise, logit, density, "upper left")
    pair("sampling", sampling, "how often a fact was seen", "fraction of facts", "upper right")
    above = "attention score,\nin units of the trigger's"
    pair("cross-talk", cross_talk, "overlap of a token with the trigger", above, "lower right")
    pair(
        "mean-bias",
        mean_bias,
        "overlap of a token with the mean of all tokens",
        above,
        "lower right",
    )
    pair("mlp-noise", mlp_noise, "overlap of two tokens", "kernel of two tokens", "upper left")


if __name__ == "__main__":
    main()
