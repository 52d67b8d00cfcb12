"""Many experiments: what to run, where to run it, and where the records are kept."""
