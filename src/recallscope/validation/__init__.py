"""Closed forms against Monte Carlo, decoders against the lower bound."""
