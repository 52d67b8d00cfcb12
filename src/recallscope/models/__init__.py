"""The transformer, its embeddings, and both drawn for one problem and seed."""
