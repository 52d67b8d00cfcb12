"""What a table of embeddings is like, and how many facts a memory on it can hold."""
