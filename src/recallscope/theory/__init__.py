"""Closed forms: what the experiments should give, each held against simulation."""
