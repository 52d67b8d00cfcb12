from __future__ import annotations

import doctest
import importlib
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from recallscope.common.errors import ProblemError
from recallscope.problem.problem import Problem

ROOT = Path(__file__).parents[2]
STUDY = [sys.executable, "-m", "reproduction", "study", "speed/bench"]
SIZES = ("--vocab", "64", "--samples", "512", "--dim", "16", "--length", "4")
PROBLEM = Problem(vocab=64, samples=512, dim=16, length=4)


@pytest.fixture(scope="module")
def module():
    return importlib.import_module("reproduction.studies.speed.bench")


def script(*arguments):
    line = [*STUDY, *arguments]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_script_prints_the_ratios():
    done = script(*SIZES, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    for name in ("speedup_over_autograd", "fraction_of_bare", "literal_fraction_of_bare"):
        ratio = document["ratios"][name]
        assert 0 < ratio["low"] <= ratio["high"]
        assert (ratio["median"] is None) == bool(ratio["reason"])
    table = script(*SIZES, "--repeats", "6").stdout
    assert "autograd's speed" in table
    assert "Medians of 6 turns, CPU time, 1 thread each." in table


def test_the_script_times_many_facts_and_hardly_any_samples():
    done = script("--vocab", "1e5", "--samples", "4", "--dim", "2", "--length", "1")
    assert done.returncode == 0, done.stderr
    assert "stream engine" in done.stdout


def test_the_script_refuses_too_few_turns_in_a_sentence():
    few = script(*SIZES, "--repeats", "2")
    assert (few.returncode, few.stdout) == (2, "")
    assert "repeats must be a whole number from 5 to 1000, not 2" in few.stderr


def test_examples_in_the_module_of_turns(module):
    assert doctest.testmod(sys.modules[module.take_turns.__module__]) == (0, 2)


def planted(monkeypatch, module, seconds):
    """A clock that gives each method a planted time, by its place in the turn and the turn."""
    now, calls = [0.0], [0]

    def clock():
        calls[0] += 1
        if calls[0] % 2 == 0:
            turn, way = divmod(calls[0] // 2 - 1, 5)
            now[0] += seconds(way, turn)
        return now[0]

    monkeypatch.setitem(module._CLOCKS, "CPU time", clock)


def test_ratios_are_of_times_in_the_same_turn(module, monkeypatch):
    # Everything takes longer in later turns, as on a machine that gets busy.
    took = (1.0, 0.5, 4.0, 3.0, 20.0)
    planted(monkeypatch, module, lambda way, turn: took[way] * 2.0**turn)
    result = module.bench(PROBLEM)
    assert {name: ratio["median"] for name, ratio in result["ratios"].items()} == {
        "speedup_over_autograd": 20.0,
        "fraction_of_bare": 0.5,
        "literal_speedup_over_autograd": 5.0,
        "literal_fraction_of_bare": 0.75,
    }
    assert all(each["low"] == each["median"] == each["high"] for each in result["ratios"].values())
    assert result["seconds"]["engine"] == 8.0  # of 2, 4, 8, 16 and 32; not the turn that warms up


def test_a_ratio_that_varies_too_much_is_not_reported(module, monkeypatch, capsys):
    noise = (1.0, 1.0, 1.25, 1.0, 1.75, 1.0)
    planted(monkeypatch, module, lambda way, turn: 2.0 * noise[turn] if way == 4 else 1.0)
    result = module.bench(PROBLEM)
    noisy = result["ratios"]["speedup_over_autograd"]
    assert noisy == {
        "median": None,
        "low": 2.0,
        "high": 3.5,
        "reason": "too noisy to say: the ratio varied from 2 to 3.5 over 5 turns; run it on a "
        "quieter machine or with more --repeats",
    }
    assert result["ratios"]["fraction_of_bare"]["median"] == 1.0
    module.print_bench(result)
    assert "speedup over autograd: too noisy to say: the ratio varied" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ratios", "median"),
    [
        ([2.0, 2.0, 2.0, 2.0, 3.0], 2.0),  # as wide as may be
        ([2.0, 2.0, 2.0, 2.0, 3.01], None),
        ([2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.01], None),  # one of seven is still in the interval
        ([2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.01], 2.0),  # one of eight is not: repeats help
        ([1.0] * 10 + [2.0] * 10, None),  # repeats do not help where two ratios are equally common
    ],
)
def test_the_rule_for_noise(module, ratios, median):
    assert module.Ratio.of_turns(ratios, [1.0] * len(ratios)).median == median


@pytest.mark.parametrize(
    ("turns", "exact"), [(5, 0.9375), (7, 0.984), (8, 0.930), (12, 0.961), (21, 0.922)]
)
def test_the_interval_holds_the_median_nine_times_in_ten_or_more(module, turns, exact):
    rng = torch.Generator().manual_seed(turns)
    drawn = torch.rand(4000, turns, generator=rng, dtype=torch.float64) + 1.0
    found = [module.Ratio.of_turns(row, [1.0] * turns) for row in drawn.tolist()]
    held = sum(each.low <= 1.5 <= each.high for each in found) / len(found)
    assert held == pytest.approx(exact, abs=0.015)


def test_every_way_has_the_same_threads(module, monkeypatch, threads):
    threads(2)
    seen = {}

    def looked_at(ways, *rest):
        def look(name, way):
            def work():
                way()
                seen.setdefault(name, set()).add(torch.get_num_threads())

            return work

        return take_turns({name: look(name, way) for name, way in ways.items()}, *rest)

    given = []
    learn, take_turns = module.learn, module.take_turns
    monkeypatch.setattr(module, "take_turns", looked_at)
    monkeypatch.setattr(
        module,
        "learn",
        lambda instance, pool, **more: given.append(pool._threads) or learn(instance, pool, **more),
    )
    result = module.bench(PROBLEM)
    ways = ("engine", "bare", "literal", "literal_bare", "autograd")
    assert seen == {name: {result["threads"]} for name in ways} == {name: {1} for name in ways}
    assert set(given) == {1}  # the threads among which engines distribute tiles
    assert torch.get_num_threads() == 2  # as it was


def test_threads_are_given_back_after_an_error(module, monkeypatch, threads):
    threads(2)
    monkeypatch.setattr(module, "take_turns", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        module.bench(PROBLEM)
    assert torch.get_num_threads() == 2


def test_autograd_is_timed_on_a_part_and_scaled(module, monkeypatch):
    monkeypatch.setattr(module, "AUTOGRAD_SAMPLES", 128)
    planted(monkeypatch, module, lambda way, turn: 1.0)
    samples = []
    by_autograd = module.three_steps_by_autograd
    monkeypatch.setattr(
        module,
        "three_steps_by_autograd",
        lambda instance, tile: samples.append(len(tile.label)) or by_autograd(instance, tile),
    )
    result = module.bench(PROBLEM)
    assert set(samples) == {128} == {result["autograd_samples"]}
    assert result["seconds"]["autograd"] == 4.0
    assert result["ratios"]["speedup_over_autograd"]["median"] == 4.0


def test_the_result_is_json_and_has_the_load(module, monkeypatch):
    monkeypatch.setattr(module, "load_average", lambda: 1.25)
    document = json.loads(json.dumps(module.bench(PROBLEM), allow_nan=False))
    assert document["load_at_start"] == 1.25
    assert document["cores"] >= 1
    assert document["problem"]["key"] == PROBLEM.key
    assert all(math.isfinite(each) and each > 0 for each in document["seconds"].values())
    monkeypatch.setattr(module, "load_average", lambda: None)
    assert module.bench(PROBLEM)["load_at_start"] is None


def test_too_few_turns_and_too_large_problems_are_refused(module):
    with pytest.raises(ProblemError, match="repeats must be a whole number from 5 to 1000, not 4"):
        module.bench(PROBLEM, repeats=4)
    with pytest.raises(ProblemError, match="on a finite batch"):
        module.bench(PROBLEM.replace(samples=math.inf))
    with pytest.raises(ProblemError, match="bench holds a batch of"):
        module._check_yardsticks(PROBLEM.replace(samples=10**13))
    large = Problem(vocab=64, samples=4, dim=10**4, length=10**7)
    with pytest.raises(ProblemError, match="and a graph of"):
        module._check_yardsticks(large)


def test_yardsticks_take_few_samples_at_once_where_samples_are_large(module):
    assert module._autograd_rows(Problem(vocab=4096, samples=4, dim=128, length=64)) == 128
    assert module._autograd_rows(Problem(vocab=10**6, samples=4, dim=2, length=1)) == 2
    assert module._autograd_rows(Problem(vocab=10**9, samples=4, dim=2, length=1)) == 1
