"""Results as people read them in a terminal, one file for each kind of result."""
