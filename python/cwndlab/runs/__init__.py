"""Runs a study: performs and measures the missing replicates, stores them, and collects the results."""
