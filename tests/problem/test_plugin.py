"""Parts of another package, and parts given as objects, are used like the built-in ones."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from made_parts import made
from plugin_sweep import SWEEP, results
from sound_stores import is_sound

import recallscope
from recallscope import Problem, ProblemError, Store
from recallscope.experiment.metric import Metric
from recallscope.model.family import Family
from recallscope.model.learner import Learner, Outcome
from recallscope.problem import registry
from recallscope.problem.part import problem_field
from recallscope.problem.registry import KINDS, names

# One of each kind.
ALL = (
    *("--vocab", "32", "--length", "4", "--embedding", "student-t", "--field", "degrees=3"),
    *("--task", "parity", "--field", "classes=4", "--model", "bag"),
    *("--learner", "gradient-descent", "--field", "steps=20", "--metric", "confidence"),
)
STRANGE = ("student-t", "parity", "bag", "gradient-descent", "confidence")


def test_a_plugin_has_a_part_of_each_kind() -> None:
    found = {kind: [name for name in names(kind) if name in STRANGE] for kind in KINDS}
    assert sorted(name for each in found.values() for name in each) == sorted(STRANGE)
    for file in (Path(__file__).parents[1] / "plugin").rglob("*.py"):
        assert len(file.read_text().splitlines()) <= 60


def test_a_plugin_on_the_command_line(command) -> None:
    done = command("run", *ALL, "--samples", "256", "--dim", "16", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (record,) = document["records"]
    assert len(record["metrics"]["loss"]) == 20
    assert 0 <= record["metrics"]["confidence"] <= 1
    assert record["recall_accuracy"] > 0.5  # of four labels
    assert record["engine"] == "gradient-descent"
    assert document["problem"]["degrees"] == 3
    people = command("run", *ALL, "--samples", "256", "--dim", "16")
    assert "confidence" in people.stdout
    assert "student-t" in command("run", "--help").stdout


@pytest.mark.parametrize(
    "change", [("--embedding", "student-t"), ("--metric", "recall-at-k"), ALL[4:]]
)
def test_a_plugin_is_not_predicted_as_something_else(command, change) -> None:
    sizes = ("--vocab", "32", "--length", "4", "--samples", "256", "--dim", "16")
    done = command("predict", *sizes, *change, "--json")
    document = json.loads(done.stdout)
    if change[0] == "--metric":  # a metric does not change the training
        assert done.returncode == 0, done.stderr
        assert document["prediction"] is not None
        return
    assert done.returncode == 1, done.stderr
    assert document["prediction"] is None
    assert document["reason"].startswith("no closed form for the embedding student-t")
    assert "There is no closed form" in command("predict", *sizes, *change).stdout
    refused = command("solve", "--for", "samples", *sizes, *change)
    assert (refused.returncode, "no closed form for the" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_a_plugin_in_a_sweep_on_processes(command, tmp_path) -> None:
    """And on Ray in test_on_ray.py."""
    (tmp_path / "sweep.toml").write_text(SWEEP)
    place = str(tmp_path / "facts")
    how = ("--store", place, "--executor", "processes", "--workers", "2", "--json")
    done = command("sweep", str(tmp_path / "sweep.toml"), *how)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["by_status"] == {"ok": 16}
    assert is_sound(Store(place))
    assert {problem.degrees for problem, _ in results(place)} == {3.0, 9.0}
    listed = command("records", "--store", place, "list", "--json")
    assert listed.returncode == 0, listed.stderr
    again = command("sweep", str(tmp_path / "sweep.toml"), "--store", place, "--json")
    assert json.loads(again.stdout)["ran"] == 0


@pytest.mark.parametrize("accuracy", ["recall", "confidence"])
def test_the_critical_size_of_a_plugin(command, accuracy, tmp_path) -> None:
    arguments = ("--for", "samples", "--dim", "24", "--high", "1000", "--budget", "16", "--json")
    how = ("--store", str(tmp_path / "facts"), "--test-samples", "256", "--accuracy", accuracy)
    done = command("critical", *ALL, *arguments, *how, "--figure", str(tmp_path / "critical.png"))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["low"] <= found["value"] <= found["high"]
    assert found["theory"] is None
    assert found["without_theory"].startswith("no closed form for the embedding student-t")


def test_the_phase_diagram_of_a_plugin(command, tmp_path) -> None:
    table, figure = str(tmp_path / "phase.csv"), str(tmp_path / "phase.png")
    axes = ("--x", "dim=8,24", "--y", "samples=16,64,256", "--seeds", "2")
    done = command("phase", *ALL, *axes, "--table", table, "--figure", figure, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {cell["predicted"] for cell in document["cells"]} == {None}
    again = command("phase", "--from", table, "--json")
    assert json.loads(again.stdout) == document
    assert "No closed form for the embedding student-t" in command("phase", "--from", table).stdout


def test_fields_of_parts_are_checked_and_read_like_others() -> None:
    sizes = {"vocab": 32, "samples": 64, "dim": 8, "length": 4}
    problem = Problem(**sizes, embedding="student-t", degrees=3)
    assert (problem.degrees, problem.to_dict()["degrees"]) == (3.0, 3.0)
    assert Problem.from_dict(problem.to_dict()) == problem
    assert problem.replace(dim=16).degrees == 3.0
    assert problem.replace(embedding="sphere") == Problem(**sizes)
    default = Problem(**sizes, embedding="student-t")
    assert default.degrees == 5.0
    assert default.key == problem.replace(degrees=5).key != problem.key
    for change, sentence in (
        ({"degrees": 1}, "degrees must be a number from 2.1, not 1"),
        ({"degree": 3}, "unknown field 'degree'; the fields are .*, degrees"),
        ({"task": "parity", "classes": 64, "learner": "gradient-descent"}, "more classes"),
        ({"task": "parity"}, "known for the task recall .*, not for task parity; give regime"),
        ({"learner": "adan"}, "learner must be one of .*trainer, gradient-descent, not 'adan'"),
    ):
        with pytest.raises(ProblemError, match=sentence):
            problem.replace(**change)


def test_records_of_parts_that_are_not_installed_are_read(tmp_path, monkeypatch) -> None:
    problem = Problem(
        vocab=32,
        samples=64,
        dim=8,
        length=4,
        embedding="student-t",
        degrees=3,
        metrics="confidence",
    )
    recallscope.sweep([(problem, 0)], tmp_path / "facts", test_samples=64)
    before = next(Store(tmp_path / "facts").records()).result()
    monkeypatch.setattr("recallscope.problem.registry._entry_points", lambda kind: {})
    monkeypatch.setattr("recallscope.problem.registry._loaded", {})
    with pytest.raises(ProblemError, match="embedding must be one of"):
        problem.replace(dim=16)
    (record,) = Store(tmp_path / "facts").records()
    assert record.result() == before
    assert record.problem.degrees == 3.0
    assert is_sound(Store(tmp_path / "facts"))


def spikes(random, count, dim):
    rows = np.zeros((count, dim))
    rows[np.arange(count), random.integers(dim, size=count)] = 1.0
    return rows


def shuffled_labels(setup):
    """Learns nothing, and has a metric."""
    tokens = setup.instance.tokens
    return Outcome(
        logits=lambda asked, position: tokens.new_zeros(len(asked), setup.problem.vocab),
        metrics={"nothing": 0.25},
    )


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_parts_given_as_objects(executor, tmp_path) -> None:
    family = made(Family, name="spikes", rows=spikes)
    learner = made(Learner, name="nothing", learn=shuffled_labels)
    problem = Problem(vocab=32, samples=64, dim=8, length=4, embedding=family, learner=learner)
    assert problem.embedding.startswith("spikes:")
    cells = [(problem, seed) for seed in range(4)]
    done = recallscope.sweep(cells, tmp_path / "facts", executor=executor, test_samples=64)
    assert done.by_status == {"ok": 4}
    (record, *_) = Store(tmp_path / "facts").records()
    assert record.metrics == {"nothing": 0.25}
    assert record.problem == problem
    assert recallscope.predict(problem).reason.startswith("no closed form for the embedding spikes")


def test_an_executor_given_as_an_object(tmp_path) -> None:
    problem = Problem(vocab=32, samples=64, dim=16, length=4)
    with ThreadPoolExecutor(2) as executor:
        recallscope.sweep([(problem, 0)], tmp_path / "facts", executor=executor, test_samples=64)
        found = recallscope.critical(problem, "samples", 0.5, budget=8, executor=executor)
    assert found.evaluations == 8


SMALL = {"vocab": 32, "samples": 64, "dim": 8, "length": 4}


@dataclass(frozen=True)
class Nothing(Learner):
    name = "nothing"

    def learn(self, setup):
        return shuffled_labels(setup)


def learner(name, **fields):
    return made(Nothing, name=name, fields=fields)


def test_an_edited_part_is_another_one() -> None:
    def other(random, count, dim):
        return np.ones((count, dim))

    first, second = (
        Problem(**SMALL, embedding=made(Family, name="mine", rows=rows)) for rows in (spikes, other)
    )
    assert first.embedding != second.embedding
    assert first != second


def test_learners_are_not_mixed_in_one_diagram() -> None:
    from recallscope.measure.planes import phase_diagram, plan
    from recallscope.problem.axes import Axis

    runs = plan(Problem(**SMALL), Axis("dim", (8, 16)), Axis("samples", (32, 64)), 1)
    ours = [recallscope.run(*run, test_samples=64) for run in runs]
    nothing = learner("nothing")
    theirs = [
        recallscope.run(problem.replace(learner=nothing), seed, test_samples=64)
        for problem, seed in runs
    ]
    for records in (ours + theirs, theirs + ours):
        with pytest.raises(ProblemError, match="but these have learner"):
            phase_diagram(records, "dim", "samples")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("hidden", "a part has a field hidden, which every problem has already"),
        ("dim", "a part has a field dim, which every problem has already"),
        ("declared", "a part has a field declared, which every problem has already"),
        ("Rate", "clash has a field 'Rate'; a field has a name of small letters"),
        ("learn", "clash has a field learn, which in Nothing is something else"),
    ],
)
def test_names_of_fields_that_are_taken(name, sentence) -> None:
    field = (name, int, problem_field(1))
    clash = dataclasses.make_dataclass("clash", [field], bases=(Nothing,), frozen=True)
    with pytest.raises(ProblemError, match=sentence):
        Problem(**SMALL, learner=clash)


@pytest.mark.parametrize("name", ["seed", "status", "versions", "elapsed_seconds"])
def test_a_field_of_a_part_is_not_named_as_a_column_of_records(name) -> None:
    problem = Problem(**SMALL, learner=learner("clash", **{name: problem_field(1)}))
    with pytest.raises(ProblemError, match=f"a part has a field {name}, which a table of records"):
        recallscope.run(problem, 0, test_samples=64)


def test_a_field_of_a_part_is_not_lost_in_a_table_of_predictions() -> None:
    problem = Problem(**SMALL, metrics=made(Confused, name="confused"))
    with pytest.raises(ProblemError, match="a part has a field law, which is a column of this"):
        recallscope.predict(problem).rows()


@dataclass(frozen=True)
class Confused(Metric):
    law: int = problem_field(3)

    def measure(self, setup, logits):
        return self.law


def test_a_class_stands_for_its_defaults_and_an_object_brings_its_values() -> None:
    one, two, three = (
        Problem(**SMALL, metrics=Deep),
        Problem(**SMALL, metrics=Deep(depth=5)),
        Problem(**SMALL, metrics=Deep(), depth=5),
    )
    assert (one.depth, two.depth) == (3, 5)
    assert one.metrics == two.metrics
    assert two == three
    assert two.part("metric", *two.metrics) == Deep(depth=5)
    assert Problem(**SMALL, metrics=Deep(depth=5), depth=7).depth == 7


@dataclass(frozen=True)
class Deep(Metric):
    name = "deep"

    depth: int = problem_field(3, low=1)

    def measure(self, setup, logits):
        return float(self.depth)


def test_values_of_an_object_are_checked() -> None:
    with pytest.raises(ProblemError, match="depth must be a whole number from 1, not 0"):
        Problem(**SMALL, metrics=Deep(depth=0))


class Undecorated(Metric):
    name = "undecorated"
    depth: int = problem_field(3)

    def measure(self, setup, logits):
        return 1.0


@dataclass(frozen=True)
class Empty(Metric):
    name = "empty"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (Undecorated, "Undecorated has a field depth, and is no dataclass; write @dataclass"),
        (Empty, "Empty cannot be made: Can't instantiate abstract class Empty"),
        (7.0, "metric must be a name, or an object of recallscope.Metric; this is a float"),
    ],
)
def test_parts_that_are_none(given, sentence) -> None:
    with pytest.raises(ProblemError, match=sentence):
        Problem(**SMALL, metrics=given)


@pytest.mark.parametrize("name", ["dim", "seed", "status", "k"])
def test_a_metric_of_a_part_has_a_name_that_no_column_has(name) -> None:
    metric = made(
        Metric, name=name, measure=lambda setup, logits: 7.0, fields={"k": problem_field(1)}
    )
    with pytest.raises(ProblemError, match=f"a metric is called '{name}', which a table"):
        recallscope.run(Problem(**SMALL, metrics=metric), 0, test_samples=64)


def test_a_metric_of_another_package_has_a_name_that_no_column_has(monkeypatch) -> None:
    metric = made(Metric, name="", measure=lambda setup, logits: 7.0)
    monkeypatch.setitem(registry._loaded, ("metric", "dim"), metric)
    with pytest.raises(ProblemError, match="a metric is called 'dim', which a table"):
        recallscope.run(Problem(**SMALL, metrics="dim"), 0, test_samples=64)


def test_a_metric_of_a_learner_has_a_name_that_no_column_has() -> None:
    def learn(setup):
        return dataclasses.replace(shuffled_labels(setup), metrics={"dim": 7.0})

    sentence = "a metric is called 'dim', which a table"
    named = made(Learner, name="clash", learn=learn, metrics=("dim",))
    with pytest.raises(ProblemError, match=sentence):
        recallscope.run(Problem(**SMALL, learner=named), 0, test_samples=64)
    # A metric that was not announced is found after the training, and only that record fails.
    silent = made(Learner, name="clash", learn=learn)
    record = recallscope.run(Problem(**SMALL, learner=silent), 0, test_samples=64)
    assert record.status == "failed"
    assert sentence in record.reason


def test_a_learner_and_a_metric_do_not_share_a_name() -> None:
    named = made(Learner, name="clash", learn=shuffled_labels, metrics=("nothing",))
    metric = made(Metric, name="nothing", measure=lambda setup, logits: 7.0)
    with pytest.raises(ProblemError, match=r"'nothing', which a table .* another metric"):
        recallscope.run(Problem(**SMALL, learner=named, metrics=metric), 0, test_samples=64)


def test_two_parts_with_one_field() -> None:
    other = learner("other", k=problem_field(50))
    with pytest.raises(
        ProblemError,
        match="the learner other and the metric recall-at-k both have a field k, and not",
    ):
        Problem(**SMALL, learner=other, metrics="recall-at-k")


def test_fields_of_one_name_and_two_types_are_kept_apart(tmp_path) -> None:
    problems = [
        Problem(**SMALL, learner=learner("whole", rate=problem_field(1)), rate=2),
        Problem(**SMALL, learner=learner("part", rate=problem_field(1.0)), rate=0.5),
        Problem(**SMALL, learner=learner("text", rate=problem_field("a")), rate="fast"),
    ]
    recallscope.sweep([(each, 0) for each in problems], tmp_path / "facts", test_samples=64)
    store = Store(tmp_path / "facts")
    assert {record.problem.rate for record in store.records()} == {2, 0.5, "fast"}
    assert is_sound(store)
    store.compact()
    assert store.export(tmp_path / "all.csv") == 3


@pytest.mark.parametrize(
    ("default", "value"), [("a", "x[1]"), ("a", "b" * 300), (1, 10**400), (1, 1.5), (0.5, 1e301)]
)
def test_values_that_no_field_can_have(default, value) -> None:
    with pytest.raises(ProblemError, match="rate must be"):
        Problem(**SMALL, learner=learner("odd", rate=problem_field(default)), rate=value)


def test_bounds_and_maps_are_not_for_plugins() -> None:
    problem = Problem(**SMALL, learner=learner("nothing"))
    with pytest.raises(ProblemError, match="the bound is not for the learner nothing"):
        recallscope.bound(problem)
    with pytest.raises(ProblemError, match="no closed form for the learner nothing"):
        recallscope.phase_map(problem, ("dim", [8, 16]), ("samples", [32, 64]))


def test_mistakes_with_parts_are_sentences() -> None:
    family = made(Family, name="spikes", rows=spikes)
    for wrong in ({"task": family}, {"metrics": 5}, {"metrics": None}, {"self": 1}):
        with pytest.raises(ProblemError):
            Problem.from_dict(SMALL | wrong)


def test_many_metrics_come_back(tmp_path) -> None:
    metrics = [
        made(Metric, name=f"confidence-of-number-{n}", measure=lambda setup, logits: 10**18 + 1)
        for n in range(8)
    ]
    problem = Problem(**SMALL, metrics=metrics)
    recallscope.sweep([(problem, 0)], tmp_path / "facts", test_samples=64)
    (record,) = Store(tmp_path / "facts").records()
    assert len(record.metrics) == 8


def test_a_pickled_problem_includes_its_parts(tmp_path) -> None:
    problem = Problem(**SMALL, embedding=made(Family, name="spikes", rows=spikes))
    packed = cloudpickle.dumps(problem)
    (tmp_path / "problem").write_bytes(packed)
    program = (
        "import pickle, sys; problem = pickle.loads(open(sys.argv[1], 'rb').read()); "
        "from recallscope.model.embeddings import draw_embeddings; "
        "print(draw_embeddings(problem, 0).tokens.sum())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "problem"],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "32.0\n", done.stderr
