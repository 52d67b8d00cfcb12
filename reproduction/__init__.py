"""The reproduction of the paper's statements, and the studies behind recallscope's numbers."""
