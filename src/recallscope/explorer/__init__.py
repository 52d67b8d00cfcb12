"""The explorer: one page, written to disk, that computes the closed forms and shows why."""
