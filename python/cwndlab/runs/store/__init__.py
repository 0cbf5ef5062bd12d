"""Finished replicates by their keys, here and shared, and what is needed to make them again."""
