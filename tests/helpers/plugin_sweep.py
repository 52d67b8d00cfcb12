"""A sweep with the parts of the plugin of the tests, and what a store has of one."""

from __future__ import annotations

from recallscope import Store

SWEEP = """
seeds = 2
test_samples = 256

[problem]
vocab = 32
length = 4
embedding = "student-t"
metrics = ["confidence"]

[grid]
degrees = [3, 9]
samples = [64, 256]

[zip]
dim = [16, 16]
task = ["recall", "parity"]
model = ["transformer", "bag"]
learner = ["three-step", "gradient-descent"]
"""


def results(place):
    return {(record.problem, record.seed): record.result() for record in Store(place).records()}
