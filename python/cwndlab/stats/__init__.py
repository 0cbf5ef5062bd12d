"""From values per replicate to estimates with intervals, verdicts and judged claims.

The unit of the statistics is the replicate: one run gives one value of a quantity. Nothing here knows
whether a simulator or a real stack made the run.
"""
