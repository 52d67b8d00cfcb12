"""Figures, tables and pages, from rows, panels and dictionaries.

Here belongs what draws, and `Result`, the base of everything that can be drawn.
Nothing here computes what it shows, or imports who made it.
"""
