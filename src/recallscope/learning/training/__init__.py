"""Training to the end: the loop, what is learnt, and what is seen along the way."""
