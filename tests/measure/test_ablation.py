"""Ablations: arms, pairs, the interval of a paired difference, the figure and the command."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import beta, norm

from recallscope import Instance, Problem, ProblemError, Record, Status, run
from recallscope.common.csv_files import read_csv, write_csv
from recallscope.experiment.record import Provenance
from recallscope.measure.ablation import (
    ABLATIONS,
    AblationOutcome,
    ablate,
    applicable,
    compare,
    plan,
)
from recallscope.plot.ablation import ablation_figure
from recallscope.plot.style import save
from recallscope.statistics.paired import paired_difference

PROBLEM = Problem(vocab=64, samples=256, dim=16, length=4)
MLP = PROBLEM.replace(width=32)
MADE = Provenance(
    engine=None, dtype="float64", device="cpu", versions={}, revision=None, elapsed_seconds=0.0
)


def record(problem, seed, rate=None, status=Status.OK):
    tested = {} if rate is None else {"test_samples": 4096, "recall_accuracy": rate}
    return Record(problem=problem, seed=seed, status=status, provenance=MADE, **tested)


@pytest.mark.parametrize("name", ABLATIONS)
def test_the_arms_differ_in_one_thing(name):
    made = ablate(name, MLP)
    a, b = made.a.problem, made.b.problem
    assert a == MLP
    changed = {field for field in a.to_dict() if getattr(a, field) != getattr(b, field)}
    assert (
        changed
        == {
            "embedding": {"embedding", "dim"},
            "mlp": {"width", "activation"},
            "trigger": {"trigger_in_values"},
            "steps": set(),
            "batch": {"samples"},
            "gaussian": {"embedding"},
        }[name]
    )
    assert made.a.label != made.b.label


def test_orthogonal_embeddings_say_which_dim_they_were_given():
    made = ablate("embedding", PROBLEM)
    assert made.b.problem.dim == 65
    assert made.note == "orthogonal embeddings need a dim above vocab: 65 instead of 16"
    large = ablate("embedding", PROBLEM.replace(dim=100))
    assert (large.b.problem.dim, large.note) == (100, None)


def test_all_that_apply():
    names = [made.name for made in applicable(PROBLEM)]
    assert names == ["embedding", "trigger", "steps", "batch", "gaussian"]
    assert "mlp" in [made.name for made in applicable(MLP)]
    assert "steps" not in [made.name for made in applicable(PROBLEM, "attention_accuracy")]
    population = PROBLEM.replace(samples=math.inf, embedding="orthogonal", dim=65)
    assert [made.name for made in applicable(population)] == ["trigger", "steps"]


def test_ablations_that_do_not_apply_are_refused():
    population = PROBLEM.replace(samples=math.inf)
    for name, problem, accuracy, said in [
        ("depth", PROBLEM, "recall_accuracy", "an ablation is one of embedding, mlp, trigger"),
        ("mlp", PROBLEM, "recall_accuracy", "takes the MLP away, and there is none; give a width"),
        ("batch", population, "recall_accuracy", "samples are inf already"),
        ("steps", PROBLEM, "attention_accuracy", "compares recall after three steps"),
        ("gaussian", PROBLEM.replace(embedding="gaussian"), "recall_accuracy", "are so already"),
        (
            "embedding",
            PROBLEM.replace(embedding="orthogonal", dim=65),
            "recall_accuracy",
            "changes random embeddings, not orthogonal; give sphere, gaussian or rademacher",
        ),
        ("trigger", PROBLEM, "accuracy", "accuracy must be one of attention_accuracy"),
    ]:
        with pytest.raises(ProblemError, match=said):
            ablate(name, problem, accuracy)


def test_every_run_is_planned_once_and_both_arms_have_the_same_seeds():
    made = applicable(PROBLEM)
    runs = plan(made, seeds=3, first=7)
    assert len(set(runs)) == len(runs) == 3 * 5
    for each in made:
        for arm in (each.a, each.b):
            assert [seed for problem, seed in runs if problem == arm.problem] == [7, 8, 9]


def pairs(rates_a, rates_b):
    made = ablate("trigger", PROBLEM)
    return made, [
        *(record(made.a.problem, seed, rate) for seed, rate in enumerate(rates_a)),
        *(record(made.b.problem, seed, rate) for seed, rate in enumerate(rates_b)),
    ]


def test_verdicts():
    low, high = [0.30, 0.32, 0.31, 0.33], [0.50, 0.53, 0.51, 0.52]
    assert compare(*pairs(low, high)).verdict is AblationOutcome.B
    assert compare(*pairs(high, low)).verdict is AblationOutcome.A
    same = compare(*pairs(low, low))
    assert same.verdict is AblationOutcome.NEITHER
    assert 0 < same.largest < 0.1
    assert same.largest == max(-same.difference.low, same.difference.high)


def test_the_interval_of_pairs_that_are_always_right_is_wide():
    found = compare(*pairs([1.0] * 4, [1.0] * 4))
    assert found.difference.mean == 0
    assert -0.4 < found.difference.low < -0.05
    assert 0.05 < found.difference.high < 0.4


def test_a_pair_with_a_lost_run_is_left_out_and_counted():
    made, records = pairs([0.3] * 5, [0.5] * 5)
    lost = {0: Status.FAILED, 1: Status.INFEASIBLE}
    records = [
        record(each.problem, each.seed, status=lost[each.seed])
        if each.seed in lost and each.problem == made.b.problem
        else each
        for each in records
    ]
    found = compare(made, records)
    assert (found.pairs, found.failed, found.infeasible) == (3, 1, 1)
    assert found.difference.mean == pytest.approx(0.2)
    none = compare(made, [each for each in records if each.seed in lost])
    assert none.verdict is AblationOutcome.NOTHING
    assert none.difference is None
    assert none.largest is None
    save_rows = none.row()
    assert (save_rows["difference"], save_rows["failed"], save_rows["infeasible"]) == (None, 1, 1)


def test_unpaired_runs_are_refused():
    made, records = pairs([0.3] * 3, [0.5] * 2)
    with pytest.raises(ProblemError, match="same seeds, but seed 2 is in one only"):
        compare(made, records)
    with pytest.raises(ProblemError, match="there are no runs of them"):
        compare(made, [])
    short = Record(**{**vars(records[3]), "test_samples": 10})
    with pytest.raises(ProblemError, match="tested on equally many samples"):
        compare(made, [*records[:2], short, records[4]])
    untested = Record(**{**vars(records[3]), "test_samples": None})
    with pytest.raises(ProblemError, match="without a number of tests"):
        compare(made, [*records[:2], untested, records[4]])


def test_arms_are_compared_by_a_metric_too():
    problem = PROBLEM.replace(metrics=["recall-at-k"])
    made = ablate("trigger", problem, "recall-at-k")
    found = compare(made, [run(*each) for each in plan([made], seeds=2)])
    assert found.a.mean > 0


def test_both_arms_of_a_pair_see_the_same_samples():
    made = ablate("embedding", PROBLEM)
    one, other = (Instance.make(arm.problem, 3).task.draw(0, 50) for arm in (made.a, made.b))
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)


RATES = (0.003, 0.03, 0.3, 0.5, 0.8, 0.97, 0.997)


def draw_pairs(rng):
    """Rates of both arms and the true difference of their means, from planted laws."""
    seeds, tests = int(rng.choice([4, 8, 16, 32])), int(rng.choice([400, 4096]))
    first = float(rng.choice(RATES))
    second = first if rng.random() < 0.5 else float(rng.choice(RATES))
    spread = float(rng.choice([0.01, 0.05, 0.15, 0.7], p=[0.3, 0.3, 0.25, 0.15]))
    correlation = float(rng.choice([0, 0.5, 0.9]))
    law = [[1, correlation], [correlation, 1]]
    quantiles = norm.cdf(rng.multivariate_normal([0, 0], law, seeds)).T
    many = spread**-2 - 1
    rates = [
        rng.binomial(tests, beta(mean * many, (1 - mean) * many).ppf(each)) / tests
        for mean, each in zip((first, second), quantiles, strict=True)
    ]
    return rates, tests, second - first


def coverage(cases, seed):
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(cases):
        (first, second), tests, truth = draw_pairs(rng)
        _, low, high = paired_difference(first, second, [tests] * len(first)).difference
        held += low <= truth <= high
    return held / cases


def test_the_interval_holds_the_planted_difference():
    assert 0.90 <= coverage(120, seed=0) <= 1.0


@pytest.mark.slow
def test_the_interval_holds_many_planted_differences():
    assert 0.94 <= coverage(1500, seed=1) <= 0.98


def test_pairing_pays_where_seeds_agree():
    rng = np.random.default_rng(0)
    first = 0.5 + rng.normal(0, 0.08, 16)
    alike = paired_difference(first, first + 0.03, [4096] * 16).difference
    apart = paired_difference(first, rng.permutation(first) + 0.03, [4096] * 16).difference
    assert alike.low > 0
    assert alike.high - alike.low < 0.5 * (apart.high - apart.low)


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="needs two accuracies and a number of tests each time"):
        paired_difference([0.5, 0.5], [0.5], [10, 10])


def test_the_figure_says_what_it_shows(tmp_path):
    made, records = pairs([0.3, 0.32, 0.31, 0.3], [0.5, 0.52, 0.51, 0.53])
    found = compare(made, records)
    lost = compare(made, [record(arm.problem, 0, status=Status.FAILED) for arm in made[1:3]])
    figure = ablation_figure([found.to_dict(), lost.to_dict()])
    caption = " ".join(figure.get_suptitle().split())
    assert "V=64, N=256, d=16, L=4, attention alone, sphere embeddings" in caption
    assert "Means over 4 seeds, the same in A and B, each tested on 4096 fresh samples" in caption
    assert "1 pairs are left out" in caption
    labels = [text.get_text() for text in figure.axes[1].get_yticklabels()]
    assert labels[0].endswith("B higher")
    assert labels[1] == "no pair to compare"
    for kind in ("png", "pdf", "svg"):
        save(figure, tmp_path / f"a.{kind}")
    write_csv([found.row(), lost.row()], tmp_path / "a.csv")
    assert read_csv(tmp_path / "a.csv")[0]["verdict"] == "B higher"


SIZES = ("--vocab", "64", "--samples", "256", "--dim", "16", "--length", "4", "--seeds", "3")


def test_the_command(command, tmp_path):
    table, picture = str(tmp_path / "a.csv"), str(tmp_path / "a.svg")
    done = command(
        "ablate",
        "steps",
        "mlp",
        *SIZES,
        "--width",
        "32",
        "--json",
        "--table",
        table,
        "--figure",
        picture,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document) == {"problem", "seeds", "ablations"}
    assert [each["ablation"] for each in document["ablations"]] == ["steps", "mlp"]
    for each in document["ablations"]:
        assert each["pairs"] == 3
        assert each["low"] <= each["difference"] <= each["high"]
        assert each["verdict"] in ("A higher", "B higher", "no difference seen")
    assert document["ablations"][1]["problem_b"]["width"] is None
    assert len(read_csv(table)) == 2
    assert (tmp_path / "a.svg").stat().st_size > 1000


def call(arguments, monkeypatch):
    from recallscope.cli import main as cli

    monkeypatch.setattr("sys.argv", ["recallscope", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return stopped.value.code


def test_the_command_for_people(monkeypatch, capsys):
    assert call(["ablate", *SIZES], monkeypatch) == 0
    printed = capsys.readouterr().out
    assert "embedding: orthogonal embeddings need a dim above vocab: 65 instead of 16." in printed
    assert "Means over 3 seeds, the same in both arms, tested on 4096 fresh samples" in printed


def test_a_failed_run_is_counted_and_reported(monkeypatch, capsys):
    from recallscope.sweeps import jobs

    whole = jobs.experiment.run_together

    def breaks(problem, seeds, **how):
        if problem.samples == math.inf and seeds == [1]:
            return [record(problem, 1, status=Status.FAILED)]
        return whole(problem, seeds, **how)

    monkeypatch.setattr(jobs.experiment, "run_together", breaks)
    assert call(["ablate", "batch", *SIZES], monkeypatch) == 1
    assert "batch: 1 pairs with a failed and 0 with an infeasible run" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("depth", *SIZES),
            "an ablation is one of embedding, mlp, trigger, steps, batch, gaussian",
        ),
        (("bach", *SIZES), "not 'bach'; did you mean batch?"),
        (("mlp", *SIZES), "the mlp ablation takes the MLP away, and there is none; give a width"),
        ((*SIZES, "--embedding", "own.npz"), "your arrays are not ablated"),
        ((*SIZES, "--accuracy", "best"), "accuracy must be one of"),
        ((*SIZES, "--figure", "a.gif"), "a figure is written as .pdf, .png, .svg, not 'a.gif'"),
    ],
)
def test_mistakes_in_the_command_are_reported(arguments, said, monkeypatch, capsys):
    assert call(["ablate", *arguments], monkeypatch) == 2
    assert said in capsys.readouterr().err
