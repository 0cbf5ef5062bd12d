"""Reports: measured next to published, with interval, difference and verdict. No statistic is computed."""
