"""The description of one experiment: its sizes, its parts, their fields, its key.

Here belongs what can be said of a problem before anything is drawn or computed.
Samples are in `task`, tensors in `model`, and what came of a run in `experiment`.
"""
