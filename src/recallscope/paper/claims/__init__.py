"""The claims, one per file."""
