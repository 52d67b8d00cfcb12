"""What any room may use: CSV files, formatting, interrupts, what the machine has."""
