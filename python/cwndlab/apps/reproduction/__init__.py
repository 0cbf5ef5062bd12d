"""Differences between the numbers of a reproduction and its paper's, and possible explanations."""
