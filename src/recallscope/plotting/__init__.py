"""Figures, drawn from plain tables."""
