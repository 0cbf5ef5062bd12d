"""Who runs a scenario: threads, a dask cluster, this machine's kernel, a kernel in virtual time."""
