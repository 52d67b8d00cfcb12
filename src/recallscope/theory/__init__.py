"""Closed forms: what experiments should give, each compared with simulation.

Here belongs a formula, and the laws that answer by formulas, one file in `laws` each.
Nothing here runs an experiment or imports torch.
"""
