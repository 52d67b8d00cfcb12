"""Results of public functions: rows, words, and a picture as plain data that `plotting` draws."""
