"""Rewriting and printing of the report of a finished run."""
