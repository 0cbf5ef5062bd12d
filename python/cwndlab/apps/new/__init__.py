"""New files to start from: a study, a congestion control in Python, Rust or C."""
