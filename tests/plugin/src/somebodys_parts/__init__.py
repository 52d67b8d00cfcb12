"""Parts of a plugin, which recallscope finds by entry points."""
