"""Records on disk: a Delta table, whose rows are records under the keys of their cells.

Here belongs what reads and writes it; `delta.py` alone imports deltalake.
"""
