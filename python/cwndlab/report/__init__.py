"""Reports: measured next to published numbers, with interval, difference and verdict. No statistics here."""
