"""Runs a study: what is missing in the store, measured and gathered as results."""
