"""What is to be recalled: sequences, labels and the randomness they are drawn with."""
