"""Tasks: sequences, labels and the randomness they are drawn with."""
