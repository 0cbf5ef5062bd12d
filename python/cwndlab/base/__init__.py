"""What all other packages use: errors, writing files, the border to the Rust core, running user code."""
