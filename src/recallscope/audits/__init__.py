"""Statistics of an embedding matrix, and how many facts a memory on it stores."""
