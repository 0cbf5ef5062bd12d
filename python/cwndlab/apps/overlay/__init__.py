"""Two sets of results in one figure."""
