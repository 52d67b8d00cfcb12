"""Records on disk."""
