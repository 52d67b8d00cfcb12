"""The capacity as inequalities: thresholds, conditions, all of them together, and exponents."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from recallscope import Problem, ProblemError, capacity, predict, solve
from recallscope.theory.accuracy import analyse
from recallscope.theory.conditions import (
    Conditions,
    all_met,
    highest_rival,
    joint_scaling,
    one_line,
    size_needed,
    threshold,
)
from recallscope.theory.problem_arrays import problem_arrays

LARGE = {"vocab": 10**7, "samples": 10**8, "dim": 20_000, "length": 5_000}


def ratio(problem, quantity, target):
    """The size that all conditions together need, over that of the full formulas."""
    found = solve(problem, quantity, target, progress=False).value
    return size_needed(problem, quantity, target) / found


# Thresholds.


@pytest.mark.parametrize(("rivals", "spread", "target"), [(50, 1.0, 0.5), (400, 1.4, 0.99)])
def test_a_lead_of_the_threshold_wins_as_often_as_the_target(rivals, spread, target):
    rng = np.random.default_rng(0)
    highest = np.concatenate([rng.standard_normal((1000, rivals)).max(axis=1) for _ in range(100)])
    lead = float(threshold(rivals, target, spread))
    won = np.mean(lead + spread * rng.standard_normal(highest.size) > highest)
    error = math.sqrt(target * (1 - target) / highest.size)
    assert won == pytest.approx(target, abs=4 * error)


def test_without_scatter_the_threshold_is_the_quantile_of_the_highest():
    for rivals in (10, 1e4, 1e8):
        assert threshold(rivals, 0.5, 1e-6) == pytest.approx(highest_rival(rivals), abs=0.03)


def test_one_rival_is_beaten_half_of_the_time_without_a_lead():
    assert threshold(1.0, 0.5) == pytest.approx(0, abs=1e-9)


# Each condition.


def test_a_condition_is_its_noise_of_the_full_formula_alone():
    """The product over what it must be is 1 where the noise alone fills the threshold."""
    s = problem_arrays(**LARGE)
    scores = analyse(s).attention
    deviations = threshold(LARGE["length"], 0.5, math.sqrt(2))
    (found,) = [each for each in capacity(Problem(**LARGE)).conditions if each.noise == "mean_bias"]
    noise = math.sqrt(float(scores.terms["mean_bias"][0])) / float(scores.signal[0])
    assert found.factor == pytest.approx(1 / (deviations * noise), rel=1e-3)


@pytest.mark.parametrize("mlp", [{}, {"width": 4096, "activation": "relu"}])
def test_listed_noises_of_attention_are_nearly_all_of_it(mlp):
    s = problem_arrays(**LARGE, **{"width": None, **mlp})
    scores = analyse(s).attention
    total = float(sum(scores.terms.values())[0] / scores.signal[0] ** 2)
    listed = capacity(Problem(**LARGE, **mlp)).conditions
    both, own = (float(threshold(LARGE["length"], 0.5, spread)) for spread in (math.sqrt(2), 1))
    shares = [(1 / each.factor / both) ** 2 for each in listed if each.stage == "attention"]
    cross_talk = 1 / LARGE["dim"] * (own / both) ** 2 + (1 / LARGE["dim"] / both) ** 2
    assert sum(shares) - shares[-1] == pytest.approx(total, rel=0.05), cross_talk


@pytest.mark.parametrize("target", [0.5, 0.99])
def test_the_factor_and_the_constant_say_the_same(target):
    V, N, d, L = LARGE.values()
    products = {
        "N ≥": (N, V),
        "N d^(3/2) ≥ √V L²": (N * d**1.5, V**0.5 * L**2),
        "N d² ≥ V L^(3/2)": (N * d**2, V * L**1.5),
        "N d^(3/2) ≥ V L": (N * d**1.5, V * L),
        "d ≥": (d, 1),
        "d² / (1 + V/N) ≥ V": (d**2 / (1 + V / N), V),
    }
    found = capacity(Problem(**LARGE), target).conditions
    for each, (name, (helps, hurts)) in zip(found, products.items(), strict=True):
        assert name.startswith(each.product), name
        assert each.factor == pytest.approx(helps / (each.constant * hurts), rel=1e-9), name


def test_constants_approach_those_of_many_tokens_and_long_sequences():
    """Where V ≫ d and L is long the constants are thresholds, and nothing else of the sizes."""
    huge = Problem(vocab=10**12, samples=10**13, dim=10**7, length=10**7)
    found = {(each.noise, each.product): each.constant for each in capacity(huge).conditions}
    both = float(threshold(1e7, 0.5, math.sqrt(2)))
    assert found["mean_bias", "N d^(3/2)"] == pytest.approx(both, rel=1e-3)
    assert found["gradient_noise", "N d²"] == pytest.approx(both, rel=1e-3)
    assert found["gradient_noise", "N d^(3/2)"] == pytest.approx(both, rel=1e-3)
    stored = found["interference", "d² / (1 + V/N)"]
    assert stored == pytest.approx(float(threshold(1e12, 0.5)) ** 2, rel=1e-3)


def test_data_without_end_leave_what_only_sizes_decide():
    found = capacity(Problem(vocab=4096, samples="inf", dim=128, length=64))
    assert {each.product for each in found.conditions if math.isfinite(each.factor)} == {
        "d",
        "d² / (1 + V/N)",
    }
    assert found.least.noise == "interference"


def test_an_mlp_asks_for_its_width():
    base = {"vocab": 4096, "samples": "inf", "dim": 512, "length": 16, "activation": "relu"}
    narrow, wide = (capacity(Problem(**base, width=width)) for width in (128, 4096))
    assert (narrow.least.noise, narrow.least.product) == ("mlp_noise", "m d / (1 + V/N)")
    assert narrow.least.factor < 1 < wide.least.factor
    factors = [
        next(each.factor for each in found.conditions if each.product == narrow.least.product)
        for found in (narrow, wide)
    ]
    assert factors[1] / factors[0] == pytest.approx(4096 / 128, rel=1e-6)


# All together, against the full formulas.

KINDS = [{}, {"trigger_in_values": True}, {"width": 3000, "activation": "tanh"}]


@pytest.mark.parametrize("more", KINDS, ids=str)
@pytest.mark.parametrize("target", [0.5, 0.99])
@pytest.mark.parametrize("sizes", [(2048, 450, 16), (2048, 500, 700), (10**6, 20_000, 10**5)])
def test_together_they_need_the_samples_of_the_full_formulas(sizes, target, more):
    vocab, dim, length = sizes
    problem = Problem(vocab=vocab, samples=1, dim=dim, length=length, **more)
    if size_needed(problem, "samples", target) is None:
        assert solve(problem, "samples", target, progress=False).value is None
        return
    assert abs(math.log(ratio(problem, "samples", target))) < math.log(1.3)


@pytest.mark.parametrize("target", [0.5, 0.99])
def test_together_they_need_the_other_sizes_of_the_full_formulas(target):
    alone = Problem(vocab=4096, samples="inf", dim=64, length=16)
    mlp = Problem(vocab=4096, samples="inf", dim=1024, length=16, width=64, activation="relu")
    assert ratio(alone, "dim", target) == pytest.approx(1, abs=0.05)
    assert ratio(alone, "vocab", target) == pytest.approx(1, abs=0.1)
    assert ratio(mlp, "width", target) == pytest.approx(1, abs=0.2)
    long = Problem(vocab=2048, samples=65536, dim=500, length=1)
    assert ratio(long, "length", target) == pytest.approx(1, abs=0.3)


def test_one_line_is_near_where_tokens_are_many():
    for dim, length in ((9000, 100), (9000, 10**5), (6000, 10**3)):
        problem = Problem(vocab=10**6, samples=1, dim=dim, length=length)
        for target in (0.5, 0.99):
            if one_line(problem, target) is not None:
                found = solve(problem, "samples", target, progress=False).value
                assert abs(math.log(one_line(problem, target) / found)) < math.log(1.3)


def test_together_is_never_easier_than_one_by_one():
    s = problem_arrays(vocab=4096, samples=np.geomspace(1e3, 1e8, 60), dim=200, length=300)
    assert np.all(all_met(s, 0.5) <= all_met(s, 0.5, together=False))


# Joint scaling.


def test_the_exponent_is_the_closed_form():
    for dim in np.arange(0.55, 1.0, 0.05):
        for length in np.arange(0.05, 1.0, 0.05):
            found = joint_scaling(dim, length)
            assert found.exponent == pytest.approx(max(1, 0.5 + 2 * length - 1.5 * dim))
            border = 0.25 + 0.75 * dim
            if abs(length - border) > 1e-6:
                expected = "mean bias of attention" if length > border else "sampling"
                assert found.condition == expected


def test_facts_are_stored_by_enough_numbers_only():
    assert joint_scaling(0.45, 0.1) == (math.inf, "interference of recall")
    assert joint_scaling(0.6, 0.1, width=0.3) == (math.inf, "mlp noise of recall")
    assert joint_scaling(0.6, 0.1, width=0.5, biased=False).exponent == 1


def test_a_mean_of_the_activation_asks_for_more():
    for dim, length, width in ((0.6, 0.9, 0.5), (0.8, 0.3, 0.4), (0.9, 0.95, 0.2)):
        wider = max(0, dim - width) / 2
        shared = max(1, 0.5 + 2 * length - 1.5 * dim + wider)
        asked = max(shared, 2 - dim, 1 + 1.5 * length - dim - width / 2)
        assert joint_scaling(dim, length, width).exponent == pytest.approx(asked)
        assert joint_scaling(dim, length, width, biased=False).exponent == pytest.approx(shared)


@pytest.mark.parametrize(
    ("dim", "length", "mlp"),
    [
        (Fraction(2, 3), Fraction(1, 3), {}),
        (Fraction(2, 3), Fraction(9, 10), {}),
        (Fraction(4, 5), Fraction(1, 3), {"activation": "relu", "width": Fraction(7, 10)}),
    ],
)
def test_the_full_formulas_grow_with_that_exponent(dim, length, mlp):
    vocabs, samples = (10**7, 10**9), []
    for vocab in vocabs:
        more = dict(mlp)
        if mlp:
            more["width"] = round(vocab ** float(mlp["width"]))
        problem = Problem(
            vocab=vocab,
            samples=1,
            dim=round(vocab ** float(dim)),
            length=round(vocab ** float(length)),
            **more,
        )
        samples.append(solve(problem, "samples", progress=False).value)
    slope = math.log(samples[1] / samples[0]) / math.log(vocabs[1] / vocabs[0])
    width = float(mlp["width"]) if mlp else None
    expected = joint_scaling(float(dim), float(length), width).exponent
    assert slope == pytest.approx(expected, abs=0.1)  # logarithms grow, too


# The result.


def test_it_goes_to_json_and_back():
    for samples in (4096, "inf"):
        found = capacity(Problem(vocab=512, samples=samples, dim=64, length=32))
        assert Conditions.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_rows_and_figure_have_every_condition():
    found = capacity(
        Problem(vocab=512, samples=4096, dim=64, length=32, width=256, activation="relu"), 0.9
    )
    assert [row["factor"] for row in found.rows()] == [each.factor for each in found.conditions]
    assert {row["target"] for row in found.rows()} == {0.9}
    assert found.plot().axes


def test_a_prediction_names_the_condition_that_is_met_least():
    problem = Problem(vocab=512, samples=8192, dim=64, length=32)
    least = capacity(problem).least
    assert predict(problem).least_met == least
    assert f"least met condition: {least.sentence}" in repr(predict(problem))


@pytest.mark.parametrize("more", [{"learner": "adam"}, {"embedding": "orthogonal", "dim": 600}])
def test_a_prediction_without_conditions_names_none(more):
    problem = Problem(**{"vocab": 512, "samples": 8192, "dim": 64, "length": 32, **more})
    assert predict(problem).least_met is None
    assert "condition" not in repr(predict(problem))


def test_a_sequence_of_one_token_asks_nothing_of_attention():
    for target in (0.5, 0.99):
        found = capacity(Problem(vocab=512, samples=8192, dim=64, length=1), target)
        assert {each.stage for each in found.conditions} == {"recall"}


@pytest.mark.parametrize(
    ("problem", "target", "complaint"),
    [
        ({"embedding": "orthogonal", "dim": 600}, 0.5, "random embeddings"),
        ({"learner": "adam"}, 0.5, "no closed form"),
        ({}, 1.5, "target"),
    ],
)
def test_mistakes_are_reported(problem, target, complaint):
    with pytest.raises(ProblemError, match=complaint):
        capacity(
            Problem(**{"vocab": 512, "samples": 4096, "dim": 64, "length": 32, **problem}), target
        )
