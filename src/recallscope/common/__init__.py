"""What any package may use: CSV files, formatting, interrupts, what the machine has."""
