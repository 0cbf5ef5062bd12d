"""Runs on a cluster of dask.distributed."""
