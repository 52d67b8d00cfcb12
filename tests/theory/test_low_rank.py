"""Memories of low rank: the law, its parts, and what `plan` makes of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.spatial import ConvexHull
from scipy.stats.qmc import Sobol

from recallscope import ProblemError, plan
from recallscope.theory.low_rank import low_rank_dimensions, low_rank_facts, nameable
from recallscope.theory.memory_recall import rival_draws
from recallscope.theory.output_cone import cone


@pytest.mark.parametrize(("m", "d"), [(64, 48), (192, 24)])
def test_dimensions_are_those_of_random_matrices(m, d) -> None:
    random = np.random.default_rng(0)
    values = [np.linalg.svd(random.standard_normal((m, d)), compute_uv=False) for _ in range(40)]
    for rank in (1, 4, 12, d):
        sums = np.mean([np.square(each[:rank]).sum() for each in values])
        assert low_rank_dimensions(m, d, rank) == pytest.approx(sums, rel=0.03)
        assert low_rank_dimensions(d, m, rank) == pytest.approx(low_rank_dimensions(m, d, rank))


def test_labels_that_can_be_named_are_outside_of_all_others() -> None:
    random = np.random.default_rng(0)
    for vocab, rank in ((64, 2), (64, 4), (256, 3), (256, 5)):
        hulls = [ConvexHull(random.standard_normal((vocab, rank))) for _ in range(20)]
        outside = np.mean([len(each.vertices) for each in hulls]) / vocab
        assert nameable(vocab, rank) == pytest.approx(outside, abs=0.03)
    assert nameable(64, 63) == pytest.approx(1)


def _recall(facts: int, m: int, d: int, vocab: int, rank: int) -> float:
    torch.manual_seed(facts)
    keys, outputs = torch.randn(facts, m), torch.randn(vocab, d)
    labels = torch.randint(vocab, (facts,))
    left = (torch.randn(d, rank) / math.sqrt(rank * d)).requires_grad_()
    right = (torch.randn(rank, m) / math.sqrt(m)).requires_grad_()
    optimiser = torch.optim.Adam([left, right], lr=0.1, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 800)
    for _ in range(800):
        logits = keys @ right.T @ (outputs @ left).T
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(logits, labels).backward()
        optimiser.step()
        schedule.step()
    return float((logits.argmax(dim=1) == labels).float().mean())


@pytest.mark.parametrize("rank", [4, 8])
def test_a_trained_memory_is_full_where_the_law_says(rank) -> None:
    sizes = {"m": 40, "d": 24, "vocab": 64, "rank": rank}
    facts = low_rank_facts(40, 24, rank, 64)
    assert _recall(round(0.8 * facts), **sizes) > 0.97
    assert _recall(round(1.4 * facts), **sizes) < 0.75


def test_a_full_rank_is_the_whole_matrix_and_small_ranks_store_more_for_each_parameter() -> None:
    assert low_rank_facts(64, 48, 48, 256) == pytest.approx(64 * 48 / cone(256, 48))
    facts = [low_rank_facts(64, 48, rank, 256) for rank in range(1, 49)]
    assert facts == sorted(facts)
    each = [count / (rank * (112 - rank)) for rank, count in enumerate(facts, 1)]
    assert max(each[3:]) == each[3]
    assert facts[0] == 2


def test_plan_finds_the_rank_of_a_memory() -> None:
    asked = {"method": "memory", "d_model": 48, "mlp": 64, "facts": 300, "answers": 256}
    found = plan(**asked, solve_for="rank", progress=False)
    assert found.solved.low <= found.solved.value <= found.solved.high
    assert low_rank_facts(64, 48, found.solved.value, 256) > 290
    full = plan(**asked, rank=48, progress=False)
    assert full.recall == plan(**asked, progress=False).recall
    with pytest.raises(ProblemError, match="solve-for is one of"):
        plan(method="pretrain", d_model=64, facts=100, exposures=100, solve_for="rank")


def test_kept_draws_are_those_of_sobol() -> None:
    assert np.array_equal(rival_draws(), Sobol(17, seed=0).random_base2(7))
