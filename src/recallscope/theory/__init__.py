"""Closed forms: what the experiments should give, each compared with simulation."""
