"""A sweep file says what varies; a mistake in it is one sentence, and nothing in it is executed."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from recallscope import Problem, ProblemError, Store
from recallscope.measure.sweep_file import read_sweep, sweep_from
from recallscope.sweeps.estimate import estimate, measured_pace

EXAMPLE = Path(__file__).parents[2] / "examples" / "sweep.toml"
VALID = {
    "seeds": "1k",
    "problem": {
        "vocab": "50k",
        "samples": "inf",
        "trigger_in_values": True,
        "metrics": ["confidence"],
    },
    "zip": {"dim": [8, 16], "embedding": ["sphere", "arrays:0123456789abcdef"]},
    "critical": {"for": "length", "target": 0.5, "theory": False},
}
FIXED = {"problem": {"vocab": 64, "length": 4}}


def test_the_example_has_twelve_lines():
    assert len(EXAMPLE.read_text().splitlines()) == 12
    sweep = read_sweep(EXAMPLE)
    assert len(set(sweep.cells())) == sweep.size * sweep.seeds == 224


def test_a_grid_is_every_combination_and_a_zip_goes_row_by_row():
    sweep = sweep_from(
        {
            "seed": 10,
            "seeds": 2,
            "problem": {"length": 4},
            "zip": {"vocab": [32, 64], "dim": [8, 16]},
            "grid": {"samples": [100, "inf"], "trigger_in_values": [False, True]},
        }
    )
    problems = list(sweep.problems())
    assert [(p.vocab, p.dim) for p in problems] == [(32, 8)] * 4 + [(64, 16)] * 4
    assert [(str(p.samples), p.trigger_in_values) for p in problems[:4]] == [
        ("100", False),
        ("100", True),
        ("inf", False),
        ("inf", True),
    ]
    assert [cell.seed for cell in sweep.cells()] == [10, 11] * 8


def test_a_range_is_even_in_the_logarithm():
    grid = {"dim": {"from": 10, "to": 1000, "count": 5}, "samples": [100]}
    assert [p.dim for p in sweep_from(FIXED | {"grid": grid}).problems()] == [
        10,
        32,
        100,
        316,
        1000,
    ]


def test_each_problem_has_one_search_with_separate_seeds():
    sweep = sweep_from(
        FIXED
        | {
            "grid": {"dim": [16, 32, 32]},
            "critical": {
                "for": "samples",
                "accuracy": "first-gradient",
                "target": 0.4,
                "budget": 10,
            },
        }
    )
    searches = sweep.searches()
    assert [search.problem.dim for search in searches] == [16, 32]
    assert [search.ask()[0][1] for search in searches] == [0, 10]
    assert {(search.accuracy, search.target) for search in searches} == {
        ("first_gradient_accuracy", 0.4)
    }


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"sede": 1}, "unknown name 'sede' in the file; known are seed, seeds, engine"),
        ({"problem": {"dims": 1}}, "unknown name 'dims' in [problem]; known are vocab, samples"),
        ({"grid": {"dims": [1]}}, "unknown name 'dims' in [grid]"),
        ({"problem": 3}, "problem is a table: write [problem]"),
        (FIXED | {"grid": {"dim": 3}}, "dim varies over a list, as in [16, 32], or over a range"),
        (FIXED | {"grid": {"dim": []}}, "dim needs from 1 to 20000 values, not 0"),
        (
            FIXED | {"grid": {"dim": {"from": 9, "to": 3, "count": 4}}},
            "the range of dim must rise, not go from 9 to 3",
        ),
        (
            FIXED | {"grid": {"dim": {"from": "a", "to": 3, "count": 4}}},
            "from of dim must be a positive number, not 'a'",
        ),
        (FIXED | {"grid": {"vocab": [3]}}, "vocab is given twice, in problem and grid"),
        (
            {"zip": {"vocab": [3, 4], "dim": [3]}},
            "what varies together needs as many values each, but vocab has 2, dim has 1",
        ),
        (FIXED | {"seeds": 0}, "seeds must be a whole number from 1"),
        (FIXED | {"dtype": 32}, "dtype must be one of float32, float64, not 32"),
        (FIXED | {"time_limit": -1}, "time_limit must be a positive number, not -1"),
        (FIXED | {"time_limit": 10**400}, "time_limit must be a positive number, not 1000"),
        (FIXED | {"critical": {"accuracy": 5}}, "accuracy is a name in quotes"),
        (FIXED | {"critical": {"theory": "no"}}, "theory is true or false, not 'no'"),
        (FIXED | {"seeds": True}, "seeds must be a whole number from 1"),
        (FIXED | {"critical": {"fro": "dim"}}, "unknown name 'fro' in [critical]"),
        (FIXED | {"critical": {"for": "dims"}}, "not 'dims'; did you mean dim?"),
        ({"problm": {}}, "zip, critical; did you mean problem?"),
        (FIXED | {"grid": {"sample": [1]}}, "metrics; did you mean samples?"),
        (FIXED | {"seeds": "1m"}, "not '1m'; did you mean 1M?"),
        (FIXED | {"engine": 3}, "engine is a name in quotes, not 3"),
        (FIXED | {"seeds": 3, "critical": {}}, "leave seeds out"),
        (FIXED | {"critical": {"for": "length"}}, "length is the size sought"),
        (
            FIXED | {"seeds": 10**9, "grid": {"dim": {"from": 1, "to": 1e6, "count": 10**4}}},
            "seeds, more than 20000 problems or 1000000 cells; cut it into several",
        ),
    ],
)
def test_mistakes_are_reported_in_one_sentence(document, message):
    with pytest.raises(ProblemError, match=re.escape(message)):
        sweep_from(document)


def test_sizes_are_texts_with_units_too():
    found = sweep_from(
        {
            "seeds": "1k",
            "test_samples": ".1k",
            "problem": {"vocab": "2k", "length": 4},
            "grid": {"dim": ["1k", 64], "samples": {"from": "1k", "to": "1M", "count": 4}},
        }
    )
    assert (found.seeds, found.settings.test_samples) == (1000, 100)
    problems = list(found.problems())
    assert {(p.vocab, p.dim) for p in problems} == {(2000, 1000), (2000, 64)}
    assert sorted({p.samples for p in problems}) == [10**3, 10**4, 10**5, 10**6]


def test_a_mistake_is_reported_with_its_file(tmp_path):
    (tmp_path / "a.toml").write_text("[grid]\ndims = [16]")
    with pytest.raises(ProblemError, match=r"in the sweep file '.*a.toml', unknown name 'dims'"):
        read_sweep(tmp_path / "a.toml")


def test_editors_have_a_schema(command):
    found = json.loads(command("sweep", "--schema").stdout)
    known = set(found["properties"])
    assert known >= {"seed", "seeds", "dtype", "problem", "grid", "zip", "critical"}
    assert found["additionalProperties"] is False
    problem, grid = found["$defs"]["Problem"], found["$defs"]["Grid"]
    assert problem["properties"]["regime"]["enum"] == ["limit", "literal"]
    assert problem["properties"]["k"]["type"] == "integer"  # of a metric
    assert {"vocab", "embedding", "metrics", "k"} <= set(grid["properties"])
    assert found["$defs"]["Range"]["properties"].keys() == {"from", "to", "count"}
    for document in (tomllib.loads(EXAMPLE.read_text()), VALID):
        jsonschema.validate(document, found)
    with pytest.raises(jsonschema.ValidationError, match="dims"):
        jsonschema.validate({"grid": {"dims": [1]}}, found)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(ProblemError, match="cannot be read: No such file"):
        read_sweep(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("a = = 1")
    with pytest.raises(ProblemError, match="is not TOML"):
        read_sweep(tmp_path / "bad.toml")
    (tmp_path / "long.toml").write_text(f"seeds = 1{'0' * 5000}")
    with pytest.raises(ProblemError, match="is not TOML"):
        read_sweep(tmp_path / "long.toml")
    (tmp_path / "large.toml").write_text("#" * (2**20 + 1))
    with pytest.raises(ProblemError, match="larger than 1 MiB; cut it"):
        read_sweep(tmp_path / "large.toml")


def test_deep_nesting_is_refused_in_a_sentence():
    deep: dict = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(ProblemError, match="not something nested too deeply to be shown"):
        sweep_from(FIXED | {"seeds": deep})


@pytest.mark.parametrize(
    "text",
    [
        "seeds = \"__import__('os').system('touch ran')\"",
        '[problem]\nembedding = "!!python/object/apply:os.system [touch ran]"',
        '[problem]\nvocab = "$(touch ran)"',
        'device = "`touch ran`"\n[problem]\nvocab=8\nlength=2\ndim=4\nsamples=8',
    ],
)
def test_a_file_executes_nothing(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(text)
    with pytest.raises(ProblemError):
        estimate(
            read_sweep("sweep.toml").cells(),
            Store("s"),
            read_sweep("sweep.toml").settings,
            "serial",
        )
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.toml"]


def test_an_estimate_counts_and_adds_up(tmp_path):
    from recallscope import predict_cost, sweep

    problems = [Problem(vocab=64, samples=n, dim=16, length=4) for n in (100, 10**6)]
    cells = [(problem, seed) for problem in problems for seed in range(4)]
    spec = sweep_from(FIXED)
    sweep(cells[:3], tmp_path)
    found = estimate([*cells, *cells], Store(tmp_path), spec.settings, "processes", 2)
    assert (found.cells, found.done, found.to_run, found.workers) == (8, 3, 5, 2)
    costs = [predict_cost(problem, dtype="float32") for problem in problems]
    assert found.multiply_adds == sum(
        c.multiply_adds * k for c, k in zip(costs, (1, 4), strict=True)
    )
    assert found.memory_bytes == 2 * max(cost.memory_bytes for cost in costs)
    seconds = costs[0].seconds + 4 * costs[1].seconds
    assert found.core_hours == pytest.approx(seconds / 3600)
    assert seconds / 2 <= found.seconds < seconds / 2 + 10


def test_an_estimate_goes_by_the_pace_of_the_machine_and_the_threads_of_a_cell(tmp_path, threads):
    from recallscope import predict_cost

    small, large = (Problem(vocab=64, samples=n, dim=16, length=4) for n in (100, 10**6))
    how = (Store(tmp_path), sweep_from(FIXED).settings, "serial", None, None)
    threads(2)
    for problem, busy in ((small, 1), (large, 2)):  # a small batch is one tile
        alone = predict_cost(problem, dtype="float32").seconds
        assert estimate([(problem, 0)], *how, pace=3.0).seconds == pytest.approx(3 * alone / busy)
    assert 0.01 < measured_pace("float32") < 1000
