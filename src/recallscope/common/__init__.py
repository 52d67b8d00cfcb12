"""Helpers for any package: CSV files, formatting, interrupts, the machine."""
