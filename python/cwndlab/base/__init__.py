"""Helpers for all other packages: errors, writing files, the interface to the Rust core, user code."""
