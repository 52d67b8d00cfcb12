"""Parts that recallscope does not know of."""
