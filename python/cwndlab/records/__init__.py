"""Typed access to the record tables of one run, whichever backend ran it."""
