"""What there is to learn: the task and the embeddings, pure functions of (problem, seed)."""
