"""Two runs next to each other."""
