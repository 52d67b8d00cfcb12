"""What public functions return: rows, words, and a picture as plain data that `plotting` draws."""
