"""Captures of real connections: read, and explained."""
