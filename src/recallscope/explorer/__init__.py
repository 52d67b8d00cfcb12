"""One page that computes the closed forms in a browser and shows why.

Here belongs the page, its scripts and the numbers that Python gives it.
Figures of results are in `plot`.
"""
