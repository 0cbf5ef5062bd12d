"""Typed access to the record tables and traces of one run of any backend."""
