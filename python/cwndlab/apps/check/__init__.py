"""Checks of a study: its errors, warnings, estimated cost and expanded form."""
