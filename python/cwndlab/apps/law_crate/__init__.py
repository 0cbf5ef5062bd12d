"""Congestion controls in Rust: a crate of the user's own becomes a library that the engine loads."""
