"""Problems at the extremes: one token, one sample, two labels, repeats; and a sweep."""

from __future__ import annotations

from hypothesis import strategies as st

from recallscope.problem.problem import ACTIVATIONS, Problem


@st.composite
def small_problems(draw, *, mlp=None, **fixed):
    vocab = draw(st.integers(2, 12))
    width = draw(st.integers(1, 9)) if (draw(st.booleans()) if mlp is None else mlp) else None
    return Problem(
        vocab=vocab,
        samples=draw(st.integers(1, 40)),
        dim=draw(st.integers(1, 8)),
        length=draw(st.integers(1, 6)),
        width=width,
        activation=draw(st.sampled_from(ACTIVATIONS)) if width else None,
        embedding=draw(st.sampled_from(["sphere", "gaussian", "rademacher"])),
        trigger_in_values=draw(st.booleans()),
        **fixed,
    )


def sizes_of_terms(instance):
    """The sizes of the terms of V1, α and V2 at unit steps, before they are summed.

    Repeated tokens and labels can cancel a whole sum. The result is then rounding error, and is
    compared with the terms that cancelled.
    """
    outputs = float(instance.outputs.norm(dim=1).max())
    reads = float(instance.tokens.norm(dim=1).max() + instance.trigger.norm())
    features, slopes = reads, 1.0
    if instance.hidden_weights is not None:
        before = float(instance.hidden_weights.norm()) * reads
        features, slopes = before + before**2, (1 + 2 * before) * before
    return outputs * features, outputs**2 * features * slopes * reads**2, outputs * features


def assert_close(ours, expected, scale):
    """Equal to 1e-10 of the largest entry, or to rounding of the terms if all of them cancel."""
    error = (ours - expected).abs().max()
    assert error <= 1e-10 * expected.abs().max() + 1e-14 * scale


SMALL_SWEEP = """
seeds = 3
test_samples = 64
[problem]
vocab = 32
length = 4
[grid]
dim = [8, 16]
samples = [64, 128]
"""
