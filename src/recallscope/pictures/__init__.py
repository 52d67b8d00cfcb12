"""Figures, from results that are there; no picture runs an experiment."""
