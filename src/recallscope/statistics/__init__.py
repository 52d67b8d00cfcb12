"""Intervals, thresholds, power laws and tests, for any fractions and sizes.

Here belongs what a statistician would write without knowing what was measured.
Nothing here knows a problem or a record.
"""
