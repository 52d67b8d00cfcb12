"""Questions that take many runs: critical sizes, laws, phase diagrams, ablations, checks.

Here belongs a public function that measures, the search behind it and its result.
Formulas are in `theory`, and estimates from given numbers in `statistics`.
"""
