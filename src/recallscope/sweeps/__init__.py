"""Many experiments: what to run, in which order, and what it takes."""
