"""Trainings on facts as runs of searches and sweeps: keys, samples of facts, records, axes."""

from __future__ import annotations

import dataclasses
import pickle

import pytest
import tiny_llama

from recallscope import Problem, ProblemError, Store, Teach, critical, run, sweep
from recallscope.sweeps.store.merging import disagreements, together

FIELDS = {"exposures": 12.0, "batch": 10, "rate": 3e-3}


def record_of(teaching, seed=0, **fields):
    (record,) = run(teaching.problem(**(FIELDS | fields)), seed, seeds=1, run=teaching).records
    return record


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny_llama.checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture
def teaching(tmp_path, checkpoint):
    return Teach(tiny_llama.fact_file(tmp_path), checkpoint, precision="float32")


def test_a_problem_has_the_sizes_of_facts_and_checkpoint(teaching):
    problem = teaching.problem(rank=4)
    assert (problem.task, problem.samples, problem["rank"]) == ("text", 40, 4)
    assert (problem.vocab, problem.dim, problem.length) == (400, 64, 64)
    assert Problem.from_dict(problem.to_dict()) == problem


def test_a_record_has_recall_of_all_facts_and_what_the_training_was(teaching):
    record = record_of(teaching, seed=1, exposures=20.0)
    assert record.status == "ok", record.reason
    assert record.test_samples == 40
    assert record.recall_accuracy > 0.5
    assert record.metrics["used_rate"] == 3e-3
    assert record.metrics["steps"] == 80
    assert record.metrics["exposures_to_half"] < 20
    assert record.metrics["repeatable"] == 0
    assert record.measure == "Teach v1"


def test_a_key_is_of_facts_and_weights_wherever_they_lie(tmp_path, teaching, checkpoint):
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in checkpoint.iterdir():
        (moved / path.name).write_bytes(path.read_bytes())
    again = Teach(tiny_llama.fact_file(moved), moved, precision="float32")
    assert again.problem().key == teaching.problem().key
    other_facts = Teach(tiny_llama.fact_file(moved, 39), moved, precision="float32")
    assert other_facts.problem().key != teaching.problem().key
    weights = bytearray((moved / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (moved / "model.safetensors").write_bytes(weights)
    other_weights = Teach(tiny_llama.fact_file(tmp_path), moved, precision="float32")
    assert other_weights.problem().key != teaching.problem().key
    with pytest.raises(ProblemError, match="the problem must be one of these facts and this model"):
        other_weights(teaching.problem(), 0)


def test_fewer_facts_are_among_more_of_them(teaching):
    few, more = (set(teaching._some(count, 5).table["prompt"]) for count in (7, 20))
    assert len(few) == 7
    assert few < more
    assert few != set(teaching._some(7, 6).table["prompt"])
    with pytest.raises(ProblemError, match="at most the 40 of the file, not 41"):
        teaching.problem(facts=41)
    record = record_of(teaching, seed=5, facts=10)
    assert record.test_samples == 10


def test_it_travels_as_its_paths(teaching):
    assert len(teaching._facts) == 40
    sent = pickle.dumps(teaching)
    assert len(sent) < 2000
    assert pickle.loads(sent).problem().key == teaching.problem().key
    assert pickle.loads(sent)._some(7, 5).table["prompt"] == teaching._some(7, 5).table["prompt"]


def test_a_sweep_resumes_and_a_second_row_is_no_error(tmp_path, teaching):
    cells = [(teaching.problem(rank=rank, **FIELDS), 0) for rank in (0, 4)]
    place = tmp_path / "records"
    swept = sweep(cells, place, run=teaching, progress=False)
    assert swept.by_status == {"ok": 2}
    again = sweep(cells, place, run=teaching, progress=False)
    assert again.ran == 0
    store = Store(place)
    first, _ = store.records()
    numbers = {**first.metrics, "steps": 1.0, "new": 2.0}
    second = dataclasses.replace(first, recall_accuracy=0.025, metrics=numbers)
    assert disagreements(first, second) == []
    both = together([first, second])
    assert both.recall_accuracy == first.recall_accuracy
    assert both.metrics == {**first.metrics, "new": 2.0}
    exact = dataclasses.replace(second, metrics={"steps": 1.0})
    same = dataclasses.replace(first, metrics={"steps": 2.0})
    assert disagreements(same, exact) == ["recall_accuracy", "steps"]


@pytest.mark.slow
def test_other_processes_teach_too(tmp_path, teaching):
    cells = [(teaching.problem(facts=10, **FIELDS), seed) for seed in (0, 1)]
    swept = sweep(cells, tmp_path / "records", run=teaching, executor="processes", workers=2)
    assert swept.by_status == {"ok": 2}


def test_a_training_that_diverges_is_a_failed_record(teaching):
    record = record_of(teaching, rate=30.0)
    assert record.status == "failed"
    assert "the loss diverged" in record.reason
    assert record.recall_accuracy is None


def test_texts_are_no_samples(teaching):
    with pytest.raises(ProblemError, match="run it by Teach"):
        run(teaching.problem())


@pytest.mark.slow
def test_critical_finds_the_exposures_to_nine_tenths(teaching):
    problem = teaching.problem(batch=10, rate=3e-3)
    size = critical(
        *(problem, "exposures", 0.9), run=teaching, low=2, high=60, budget=24, precision=0.2
    )
    assert size.status == "ok"
    assert 8 < size.low < size.value < size.high < 25
    assert size.high / size.low < 1.5
