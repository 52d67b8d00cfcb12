"""One experiment from beginning to end: run it, test it, time it."""
