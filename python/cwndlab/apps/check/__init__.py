"""Whether a study is sound, what it would cost, and what it is in full."""
