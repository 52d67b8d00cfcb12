"""Many experiments: cells, workers that run them, and the table that keeps records.

Here belongs what makes work resumable: `executors`, `store`, and the public `run`.
Which cells answer a question is in `measure`.
"""
