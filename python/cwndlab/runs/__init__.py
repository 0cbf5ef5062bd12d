"""Runs a study: performs and measures the replicates that the store lacks, and gathers all results."""
