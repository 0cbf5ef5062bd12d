"""Statistics from values per replicate: estimates with intervals, verdicts, judged claims.

The unit of the statistics is the replicate: one run gives one value of a quantity. This package does not
depend on whether a simulator or a real stack made the run.
"""
