"""The claims of the paper: each a statement, sweeps, a figure and a verdict."""
