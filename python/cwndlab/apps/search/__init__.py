"""Searches of a parameter space for the worst value of a quantity."""
