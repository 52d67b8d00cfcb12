"""Files of trained models: which embedding matrices are in them, and their rows, tile by tile.

Nothing of a file is run, and nothing is allocated before what it claims has been checked.
"""
