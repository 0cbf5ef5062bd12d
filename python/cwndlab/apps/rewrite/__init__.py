"""The report of a finished run, written again, and printed."""
