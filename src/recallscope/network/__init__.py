"""The transformer in the paper's notation: forward pass and loss, no training."""
