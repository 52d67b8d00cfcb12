"""Values that problems name by a hash of their content: read, stored once, and pickled."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pyarrow as pa
import pytest
import torch
from deltalake import DeltaTable, write_deltalake
from made_parts import made
from torch import nn

import recallscope
from recallscope import Model, Problem, ProblemError, Store, problem_field, run
from recallscope.problem import long_values
from recallscope.problem.long_values import json_of, named, text_of

BASE = {"vocab": 8, "samples": 16, "dim": 4, "length": 2, "learner": "adam", "steps": 1}


class _Table(nn.Module):
    def __init__(self, setup):
        super().__init__()
        size = json_of(setup.problem["config"])["size"]
        self.table = nn.Embedding(setup.problem.vocab + 2, size)
        self.out = nn.Linear(size, setup.problem.vocab)

    def forward(self, input_ids):
        return self.out(self.table(input_ids).mean(dim=1))


CONFIGURED = made(
    Model,
    name="configured",
    build=_Table,
    reads_ids=True,
    fields={"config": problem_field("", long="json", help="Sizes.")},
)


def test_a_value_a_text_and_a_file_have_one_name(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"b": [1, 2],\n "a": 1}')
    names = {named("json", "config", each) for each in (file, str(file), {"a": 1, "b": [1, 2]})}
    assert names == {named("json", "config", '{"b":[1,2],"a":1}')}
    assert json_of(names.pop()) == {"a": 1, "b": [1, 2]}


@pytest.mark.parametrize(
    "given", ["missing.json", "{bad", 5, "[" * 100_000, float("nan"), {"a": float("nan")}, {1: {2}}]
)
def test_malformed_json_is_refused_with_the_name_of_its_field(given):
    with pytest.raises(ProblemError, match="config"):
        Problem(**BASE, model=CONFIGURED, config=given)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    (tmp_path / "large.json").write_text("[" + "0," * 2_200_000 + "0]")
    with pytest.raises(ProblemError, match="4 MiB"):
        named("json", "config", tmp_path / "large.json")


def test_the_path_of_a_file_is_not_part_of_a_key(tmp_path):
    keys = set()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "config.json"
        file.write_text('{"size": 3}')
        keys.add(Problem(**BASE, model=CONFIGURED, config=str(file)).key)
    assert len(keys) == 1
    assert Problem(**BASE, model=CONFIGURED, config={"size": 4}).key not in keys


def test_a_value_is_stored_once_and_read_with_its_records(tmp_path, monkeypatch):
    problem = Problem(**BASE, model=CONFIGURED, config={"size": 5})
    cells = [(problem, seed) for seed in (0, 1)]
    recallscope.sweep(cells, tmp_path / "runs", executor="processes", workers=2, progress=False)
    store = Store(tmp_path / "runs")
    values = DeltaTable(f"{store.place}/_values")
    assert values.count() == 1
    whole = run(problem, seed=1).result()
    monkeypatch.setattr(long_values, "_known", {})
    with pytest.raises(ProblemError, match="not known here"):
        text_of(problem["config"])
    (record,) = (each for each in store.records() if each.seed == 1)
    assert run(record.problem, seed=1).result() == whole == record.result()
    other = Store(tmp_path / "other")
    other.merge(store)
    assert DeltaTable(f"{other.place}/_values").count() == 1


def test_a_damaged_value_is_not_taken(tmp_path, monkeypatch):
    problem = Problem(**BASE, model=CONFIGURED, config={"size": 6})
    recallscope.sweep([(problem, 0)], tmp_path / "runs", executor="serial", progress=False)
    forged = {"name": [problem["config"]], "content": [b'{"size":1000000000}']}
    write_deltalake(tmp_path / "runs" / "_values", pa.table(forged), mode="overwrite")
    monkeypatch.setattr(long_values, "_known", {})
    assert len(list(Store(tmp_path / "runs").records())) == 1
    assert not long_values.is_known(problem["config"])


def test_a_pickled_problem_includes_its_values(tmp_path):
    problem = Problem(**BASE, model="transformer")
    name = named("json", "config", {"size": 7})
    travelling = pickle.dumps(problem.__class__.__reduce__(problem)[1][2] | {name: text_of(name)})
    assert pickle.loads(travelling) == {name: '{"size":7}'}
    configured = Problem(**BASE, model=CONFIGURED, config={"size": 7})
    (tmp_path / "problem").write_bytes(pickle.dumps(configured))
    code = (
        "import pickle, sys; problem = pickle.load(open(sys.argv[1], 'rb'))\n"
        "from recallscope.problem.long_values import json_of; print(json_of(problem['config']))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "problem")], capture_output=True, text=True
    )
    assert found.stdout.strip() == "{'size': 7}", found.stderr


def test_a_folder_is_named_by_its_weights(tmp_path):
    from safetensors.torch import save_file

    for folder, number in (("a", 1.0), ("b", 1.0), ("c", 2.0)):
        (tmp_path / folder).mkdir()
        save_file({"w": torch.tensor([number])}, tmp_path / folder / "model.safetensors")
    a, b, c = (named("folder", "checkpoint", tmp_path / each) for each in "abc")
    assert a == b != c
    with pytest.raises(ProblemError, match="safetensors"):
        named("folder", "checkpoint", tmp_path)


def test_threads_are_one_unless_asked_for_and_part_of_the_problem():
    seen = []

    class Counting(_Table):
        def forward(self, input_ids):
            seen.append(torch.get_num_threads())
            return super().forward(input_ids)

    counting = made(
        Model,
        name="counting",
        build=Counting,
        reads_ids=True,
        fields={"config": problem_field("", long="json")},
    )
    one = Problem(**BASE, model=counting, config={"size": 3})
    run(one)
    assert set(seen) == {1}
    seen.clear()
    two = one.replace(threads=2)
    assert run(two).problem["threads"] == 2
    assert 2 in seen
    assert one.key != two.key
