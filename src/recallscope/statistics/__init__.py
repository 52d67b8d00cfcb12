"""Intervals, thresholds and power laws, for any fractions and sizes."""
