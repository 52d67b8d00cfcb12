from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from problems import small_problems

from recallscope import Problem, ProblemError
from recallscope.problem.problem import FIELDS
from recallscope.problem.registry import names

SIZES = {"vocab": 512, "samples": 8192, "dim": 64, "length": 32}


@given(small_problems())
def test_json_round_trip_keeps_problem_and_key(problem):
    again = Problem.from_dict(json.loads(json.dumps(problem.to_dict())))
    assert again == problem
    assert again.key == problem.key


def test_a_dictionary_has_every_field():
    assert tuple(Problem(**SIZES).to_dict()) == FIELDS
    assert Problem(**SIZES, frequencies="zipf").to_dict()["frequencies"] == "zipf"


def test_a_key_is_fixed_and_distinguishes_problems():
    problem = Problem(**SIZES)
    assert problem.key == "15c99c2e38a4c733b3ce27628e8925f4"
    others = [
        problem.replace(vocab=513),
        problem.replace(samples=math.inf),
        problem.replace(width=64),
        problem.replace(trigger_in_values=True),
        problem.replace(regime="literal", eta=0.1, gamma=1.0),
    ]
    assert len({problem.key, *(other.key for other in others)}) == len(others) + 1


def test_infinite_samples_are_written_inf():
    problem = Problem(**SIZES | {"samples": math.inf})
    assert problem.to_dict()["samples"] == "inf"
    assert Problem.from_dict(problem.to_dict()) == problem


def test_a_width_without_activation_is_relu():
    assert Problem(**SIZES, width=16).activation == "relu"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"vocab": 1}, "vocab must be a whole number from 2 to 2^53, not 1"),
        ({"vocab": True}, "vocab must be a whole number from 2 to 2^53, not True"),
        ({"dim": 2.5}, "dim must be a whole number from 1 to 2^53, not 2.5"),
        ({"samples": 0}, "samples must be a whole number from 1 to 2^53, or inf, not 0"),
        ({"samples": -math.inf}, "samples must be a whole number from 1 to 2^53, or inf, not -inf"),
        ({"samples": math.nan}, "samples must be a whole number from 1 to 2^53, or inf, not nan"),
        ({"length": 2**60}, f"length must be a whole number from 1 to 2^53, not {2**60}"),
        (
            {"width": 8, "activation": "sine"},
            "activation must be one of relu, gelu, tanh, quadratic, identity, centred-relu, not "
            "'sine'",
        ),
        (
            {"activation": "relu"},
            "activation 'relu' needs an MLP to act in; give a width, "
            "or no activation for attention alone",
        ),
        (
            {"embedding": "orthogonal"},
            "orthogonal embeddings of 512 tokens and a trigger need dim >= 513, but dim is 64; "
            "raise dim or choose another embedding",
        ),
        (
            {"embedding": "cube"},
            f"embedding must be one of {', '.join(names('embedding'))} or the name of "
            "given arrays (arrays: and 16 hexadecimal digits), not 'cube'",
        ),
        (
            {"eta": 0.1},
            "eta has no meaning in the limit regime; leave it out, or choose the literal regime",
        ),
        ({"regime": "literal"}, "the literal regime needs eta, a positive step size"),
        (
            {"regime": "literal", "eta": True, "gamma": 1},
            "eta must be a positive number below 1e300, not True",
        ),
        (
            {"regime": "literal", "eta": 1e308, "gamma": 1},
            "eta must be a positive number below 1e300, not 1e+308",
        ),
        (
            {"regime": "literal", "eta": -1, "gamma": 1},
            "eta must be a positive number below 1e300, not -1",
        ),
        (
            {"regime": "literal", "eta": 1, "gamma": 1, "samples": math.inf},
            "the literal regime needs a finite number of samples, not inf; the expectation over "
            "the population is known in the limit regime only",
        ),
        (
            {"vocabulary": 3},
            "unknown field 'vocabulary'; the fields are vocab, samples, dim, length, width, "
            "activation, embedding, trigger_in_values, regime, eta, gamma, task, model, learner, "
            "metrics, frequencies, zipf_exponent, frequency_table, facts, "
            "distractor_frequencies, trigger, loss_function; did you mean vocab?",
        ),
        ({"trigger_in_values": 1}, "trigger_in_values must be true or false, not 1"),
    ],
)
def test_errors_say_what_was_expected_and_what_came(change, sentence):
    with pytest.raises(ProblemError) as caught:
        Problem.from_dict(SIZES | change)
    assert str(caught.value) == sentence


def test_a_missing_field_is_named():
    with pytest.raises(ProblemError, match="dim is missing"):
        Problem.from_dict({"vocab": 4, "samples": 4, "length": 4})


@pytest.mark.parametrize("given", [[], 3, "sphere", None])
def test_what_is_no_dictionary_is_refused(given):
    with pytest.raises(ProblemError, match="a problem is a dictionary of its fields, not"):
        Problem.from_dict(given)


def test_fields_without_meaning_are_dropped_or_refused_if_given():
    plain = Problem(vocab=64, samples=512, dim=16, length=4)
    assert plain.replace(width=32, activation="tanh").replace(width=None) == plain
    literal = plain.replace(regime="literal", eta=0.1, gamma=1.0)
    assert literal.replace(regime="limit") == plain
    with pytest.raises(ProblemError, match="activation 'gelu' needs an MLP"):
        plain.replace(width=32).replace(width=None, activation="gelu")
    with pytest.raises(ProblemError, match="eta has no meaning in the limit regime"):
        literal.replace(regime="limit", eta=0.1)


@pytest.mark.parametrize("step", [np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_step_sizes_are_any_real_numbers(step):
    how = {"regime": "literal", "eta": step, "gamma": step}
    problem = Problem(vocab=64, samples=512, dim=16, length=4, **how)
    assert (problem.eta, type(problem.eta)) == (0.5, float)
    assert problem == problem.replace(eta=0.5, gamma=0.5)
