"""Reports: measured next to published numbers, with interval, difference and verdict; no statistics."""
