"""Real models: from their shape and their facts to exposures, rank and recall.

Here belongs what an engineer asks, and the answer in sentences. No torch but to verify.
The laws that answer are in `theory`.
"""
