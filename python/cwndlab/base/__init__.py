"""What every other package uses: errors, writing files, the border to the Rust core, code of the user's."""
