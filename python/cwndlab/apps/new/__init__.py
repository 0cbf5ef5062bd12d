"""Templates for a new study, or for a congestion control in Python, Rust or C."""
