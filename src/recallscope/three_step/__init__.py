"""The paper's algorithm: three gradient steps, in plain lines in `reference.py`.

Here belongs an engine that makes the same steps faster, and what they cost.
What takes more than three steps is in `training`.
"""
