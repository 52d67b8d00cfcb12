"""One experiment from beginning to end: learn, test, measure, record.

Here belongs what a record is made of: statuses, metrics (one file each), provenance.
Many experiments are in `sweeps`.
"""
