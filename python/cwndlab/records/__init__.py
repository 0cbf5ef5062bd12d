"""Typed access to the record tables and traces of one run, whoever made them."""
