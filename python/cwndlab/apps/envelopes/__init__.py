"""Performance envelopes: a comparison of senders with a reference that uses the same congestion control."""
