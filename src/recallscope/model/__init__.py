"""What answers: embeddings, transformers, and all that is drawn for a problem and a seed.

Here belongs an architecture (`kinds`), an embedding (`families`), and the interface of learners.
How weights are moved is in `three_step` and `training`.
"""
