"""Regression checks of the numbers of studies after a change of a law, kernel, stack or program."""
