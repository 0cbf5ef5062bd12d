"""The records of runs in formats that other tools read."""
