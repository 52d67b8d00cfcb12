"""Helpers that know nothing of recall: errors, checks, files, formats, the machine.

Here belongs what three packages need. What one or two need stands in the lower of them.
Nothing here imports another package of recallscope.
"""
