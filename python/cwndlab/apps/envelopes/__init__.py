"""Performance envelopes: whether a sender behaves as a reference with the same law."""
