"""Runs in processes, for congestion controls and metrics in Python, which hold the interpreter lock."""
