"""Congestion controls in Rust: a user's crate becomes a library that the engine loads."""
