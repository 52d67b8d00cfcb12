from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from lanes import slow_after_first
from made_parts import made
from one_by_one import OneByOne

from recallscope import Instance, Problem, ProblemError, Record, Status, Threads, Transformer, run
from recallscope.experiment.cell import Settings
from recallscope.experiment.record import Provenance
from recallscope.model.learner import Learner, Outcome
from recallscope.statistics.intervals import mean_interval
from recallscope.sweeps.sharded import run_sharded
from recallscope.sweeps.store.cell_keys import CellKeys
from recallscope.three_step.batch import Tile
from recallscope.three_step.memory import ideal_memory
from recallscope.three_step.three_step import learn

PROBLEM = Problem(vocab=128, samples=2048, dim=32, length=6)


def test_a_record_is_a_pure_function_of_problem_and_seed():
    first = run(PROBLEM, 7)
    torch.manual_seed(123)
    np.random.seed(123)
    assert run(PROBLEM, 7).result() == first.result()
    assert run(PROBLEM, 8).result() != first.result()


def test_a_record_says_how_it_was_made():
    record = run(PROBLEM, 7, test_samples=500, dtype="float32")
    fields = record.to_dict()
    json.dumps(fields, allow_nan=False)
    assert fields["seed"] == 7
    assert fields["test_samples"] == 500
    assert fields["dtype"] == "float32"
    assert fields["problem_key"] == PROBLEM.key
    assert fields["engine"] in ("stream", "counts")
    assert fields["elapsed_seconds"] > 0
    assert set(fields["versions"]) == {"python", "recallscope", "torch", "numpy"}


def test_cosines_and_scores_are_those_of_the_weights():
    record = run(PROBLEM, 7)
    instance = Instance.make(PROBLEM, 7)
    with Threads() as threads:
        learned = learn(instance, threads)
        ideal = ideal_memory(instance, threads)
    expected = instance.outputs[instance.labels].T @ instance.tokens
    torch.testing.assert_close(ideal, expected)

    def cosine(a, b):
        return float(torch.nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0))

    assert record.first_value_cosine == pytest.approx(cosine(learned.V1, expected))
    assert record.second_value_cosine == pytest.approx(cosine(learned.V2, expected))
    assert record.trigger_cosine == pytest.approx(cosine(learned.alpha, instance.trigger))
    unit = 128 * 6**2
    assert record.score_signal == pytest.approx(float(instance.trigger @ learned.alpha) * unit)
    assert record.score_noise == pytest.approx(
        float((instance.tokens @ learned.alpha).std()) * unit
    )


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"trigger_in_values": True},
        {"length": 40, "dim": 12},
        {"width": 50},
        {"width": 50, "activation": "quadratic", "trigger_in_values": True},
    ],
    ids=str,
)
def test_accuracies_are_those_of_the_network_with_the_learnt_weights(change):
    """In the literal regime the module itself, given V2 and W1, must score the same."""
    problem = PROBLEM.replace(**change, regime="literal", eta=0.01, gamma=1e7)
    record = run(problem, 3, test_samples=3000)
    instance = Instance.make(problem, 3)
    with Threads() as threads:
        learned = learn(instance, threads)
    model = Transformer(instance)
    tokens, position, label = Tile.of(instance.task.draw(0, 3000, "test"))
    with torch.no_grad():
        model.V.copy_(learned.V2)
        model.W.copy_(problem.gamma * torch.outer(learned.alpha, instance.end))
        answer = model(tokens, position).argmax(dim=1)
        attended = model.attention(tokens, position).argmax(dim=1)
        model.V.copy_(learned.V1)
        asked = tokens.gather(1, position[:, None])
        model.trigger_value.zero_()
        alone = model(asked, torch.zeros_like(position)).argmax(dim=1)
    assert record.recall_accuracy == pytest.approx(float((answer == label).double().mean()))
    assert record.attention_accuracy == pytest.approx(float((attended == position).double().mean()))
    assert record.first_gradient_accuracy == pytest.approx(float((alone == label).double().mean()))


def test_asking_every_token_once_gives_the_same_accuracies():
    """With more tests than tokens a table of answers is made; with fewer, each test is asked."""
    problem = PROBLEM.replace(trigger_in_values=True)
    instance = Instance.make(problem, 3)
    with Threads() as threads, torch.no_grad():
        learned = learn(instance, threads)
        from recallscope.three_step.evaluation import answers

        table = answers(instance, learned.V2, instance.tokens + instance.trigger)
    tokens, position, label = Tile.of(instance.task.draw(0, 100, "test"))
    asked = tokens.gather(1, position[:, None])[:, 0]
    record = run(problem, 3, test_samples=100)
    assert record.attention_accuracy == 1
    assert record.recall_accuracy == pytest.approx(float((table[asked] == label).double().mean()))


def test_one_token_leaves_attention_nothing_to_learn():
    record = run(Problem(vocab=16, samples=100, dim=8, length=1))
    assert record.attention_accuracy == 1
    assert record.score_signal == 0
    assert record.trigger_cosine is None


def test_a_problem_that_does_not_fit_is_infeasible_and_allocates_nothing():
    record = run(Problem(vocab=10**9, samples=10, dim=10**4, length=2))
    assert record.status is Status.INFEASIBLE
    assert "of memory for vocab=1000000000, dim=10000" in record.reason
    assert record.recall_accuracy is None


def test_a_crash_is_a_status_and_never_a_number(monkeypatch):
    def broken(*arguments):
        raise RuntimeError("the machine is on fire")

    monkeypatch.setattr("recallscope.three_step.evaluation.evaluate", broken)
    threads = torch.get_num_threads()
    record = run(PROBLEM)
    assert record.status is Status.FAILED
    assert record.reason == "RuntimeError: the machine is on fire"
    assert record.recall_accuracy is None
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("steps", "dtype"),
    [((1e200, 1e200), "float64"), ((1e37, 1e37), "float32")],
)
def test_weights_that_overflow_are_a_failure(steps, dtype):
    problem = PROBLEM.replace(regime="literal", eta=steps[0], gamma=steps[1])
    record = run(problem, dtype=dtype)
    assert record.status is Status.FAILED
    assert "overflow" in record.reason
    assert record.recall_accuracy is None


def test_steps_that_float32_cannot_hold_are_refused():
    problem = PROBLEM.replace(regime="literal", eta=1e-46, gamma=1.0)
    with pytest.raises(ProblemError, match="eta is 1e-46, which float32 cannot hold"):
        run(problem, dtype="float32")


def test_numbers_of_numpy_will_do():
    problem = Problem(vocab=np.int64(128), samples=np.float64(2048), dim=np.int32(32), length=6)
    assert problem == PROBLEM
    assert type(problem.vocab) is int
    assert run(problem, np.int64(7)).result() == run(PROBLEM, 7).result()


def test_workers_may_overlap_and_must_be_entered(threads):
    threads(2)
    first, second = Threads(), Threads()
    with pytest.raises(RuntimeError, match="threads must be entered first"):
        next(first.map(str, [1]))
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert torch.get_num_threads() == 1
    assert list(second.map(str, range(5))) == list("01234")
    second.__exit__()
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"seed": -1}, "seed must be a whole number from 0 to 2\\^63 - 1, not -1"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"seed": "x"}, "seed must be a whole number"),
        ({"device": "meta"}, "device 'meta' cannot be used"),
        ({"device": None}, "device None cannot be used"),
        ({"test_samples": 0}, "test_samples must be a whole number from 1 to 2\\^53, not 0"),
        ({"dtype": "float16"}, "dtype must be one of float32, float64, not 'float16'"),
        ({"device": "abacus"}, "device 'abacus' cannot be used"),
        ({"engine": "steam"}, "engine must be one of auto, stream, counts, reference, not 'steam'"),
    ],
)
def test_requests_that_make_no_sense_are_errors(how, sentence):
    with pytest.raises(ProblemError, match=sentence):
        run(PROBLEM, **how)


def test_progress_counts_every_sample_of_three_passes():
    seen = []
    run(PROBLEM, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3 * 2048, 3 * 2048)
    assert seen == sorted(seen)


def test_progress_of_the_population_counts_hidden_units():
    seen = []
    problem = PROBLEM.replace(samples="inf", width=100)
    run(problem, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (200, 200)


def test_there_are_four_statuses_and_each_says_what_to_do():
    assert {str(status) for status in Status} == {"ok", "not_reached", "infeasible", "failed"}
    assert len({status.advice for status in Status}) == 4


def record_of(accuracy, samples=1000):
    made = Provenance(
        engine=None, dtype="float64", device="cpu", versions={}, revision=None, elapsed_seconds=0
    )
    return Record(
        problem=PROBLEM,
        seed=0,
        status=Status.OK,
        provenance=made,
        test_samples=samples,
        attention_accuracy=accuracy,
        recall_accuracy=accuracy,
        first_gradient_accuracy=accuracy,
    )


def test_an_error_of_the_progress_callback_is_raised_as_it_is():
    mistake = KeyError("a bug of the caller")

    def show(done, total):
        raise mistake

    with pytest.raises(KeyError) as raised:
        run(PROBLEM, progress=show)
    assert raised.value is mistake
    assert raised.value.__cause__ is None
    with pytest.raises(KeyError) as raised:
        run_sharded(PROBLEM, 0, OneByOne(), 2, test_samples=100, dtype="float64", progress=show)
    assert raised.value is mistake


def test_errors_of_a_callback_in_a_thread_of_a_learner_are_raised():
    def learn(setup):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(setup.progress, 1, 2)  # its result is not used
        return Outcome(logits=lambda tokens, position: torch.zeros(len(tokens), 128))

    def show(done, total):
        raise ZeroDivisionError

    problem = PROBLEM.replace(learner=made(Learner, name="threaded", learn=learn))
    with pytest.raises(ZeroDivisionError):
        run(problem, progress=show)


def test_the_summary_leaves_out_what_is_not_ok():
    from recallscope import summarise

    bad = run(Problem(vocab=10**9, samples=10, dim=10**4, length=2))
    summary = summarise([record_of(0.5), record_of(0.6), bad])
    assert summary["recall_accuracy"].mean == pytest.approx(0.55)
    assert summarise([bad]) == {}
    with pytest.raises(ProblemError, match="without a number of tests"):
        summarise([record_of(0.5), record_of(0.6, samples=None)])


LEAST = {2: 0.87, 4: 0.90, 16: 0.92}


@pytest.mark.parametrize("truth", [0.3, 0.9])
@pytest.mark.parametrize(
    ("spread", "seeds"),
    [
        *((0.0, seeds) for seeds in (2, 4)),
        (0.15, 4),
        *(pytest.param(0.15, seeds, marks=pytest.mark.slow) for seeds in (2, 16)),
        *(pytest.param(0.03, seeds, marks=pytest.mark.slow) for seeds in (2, 4, 16)),
        pytest.param(0.0, 16, marks=pytest.mark.slow),
    ],
)
def test_intervals_over_seeds_cover_the_planted_truth(truth, spread, seeds):
    """The bounds lie two standard errors below what was measured."""
    rng = np.random.default_rng(0)
    trials, covered = 200, 0
    for _ in range(trials):
        rates = truth * np.ones(seeds)
        if spread:
            concentration = truth * (1 - truth) / spread**2 - 1
            rates = rng.beta(truth * concentration, (1 - truth) * concentration, seeds)
        _, low, high = mean_interval(rng.binomial(1000, rates) / 1000, [1000] * seeds)
        covered += low <= truth <= high
    assert covered / trials >= LEAST[seeds]
    if spread == 0.15 and seeds == 16:
        assert covered / trials <= 0.98


@pytest.mark.parametrize("seeds", slow_after_first([4, 16]))
def test_intervals_cover_where_seeds_fall_into_two_camps(seeds):
    """With two tokens, near half of the seeds get all right and the others half."""
    problem = Problem(vocab=2, samples=64, dim=2, length=3)
    rates = [run(problem, seed, test_samples=500).recall_accuracy for seed in range(320)]
    truth = float(np.mean(rates))
    groups = np.reshape(rates, (-1, seeds))
    intervals = [mean_interval(group, [500] * seeds) for group in groups]
    assert np.mean([low <= truth <= high for _, low, high in intervals]) >= 0.85


def test_intervals_agree_with_a_fine_grid():
    """400 seeds around 0.5 and 16 of a million tests: both ends of what may be asked."""
    for seeds, tests in ((400, 4096), (16, 10**6)):
        rates = np.random.default_rng(0).binomial(tests, 0.5, seeds) / tests
        mean, low, high = mean_interval(rates, [tests] * seeds)
        error = np.sqrt(0.25 / (seeds * tests))
        assert 3.5 * error < high - low < 6 * error
        assert low < mean < high
    mean_interval([1.0], [10**10])
    with pytest.raises(ValueError, match="a confidence lies between 0 and 1, not 95"):
        mean_interval([0.5], [10], confidence=95)


def test_intervals_narrow_with_seeds_and_with_tests():
    wide = mean_interval([0.3, 0.32, 0.29], [1000] * 3)
    more_seeds = mean_interval([0.3, 0.32, 0.29] * 4, [1000] * 12)
    more_tests = mean_interval([0.3, 0.3, 0.3], [10**6] * 3)
    for narrow in (more_seeds, more_tests):
        assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)


def test_an_interval_never_claims_certainty():
    mean, low, high = mean_interval([1.0] * 16, [4096] * 16)
    assert mean == high == 1
    assert 0.9 < low < 0.99
    with pytest.raises(ValueError, match="at least one group"):
        mean_interval([], [])


def test_a_device_has_one_name():
    assert run(PROBLEM, device="cpu:0").result() == run(PROBLEM, device="cpu").result()
    assert Settings(device="cuda:0") == Settings(device="cuda") != Settings(device="cuda:1")
    keys = [CellKeys(Settings(device=device))((PROBLEM, 0)) for device in ("cuda", "cuda:0")]
    assert keys[0] == keys[1]


@pytest.mark.parametrize("device", ["mps", "mps:0"])
def test_a_device_without_float64_is_refused(device):
    with pytest.raises(ProblemError, match=r"'mps.*' cannot be used: it has no float64.*use cpu"):
        run(PROBLEM, device=device)
