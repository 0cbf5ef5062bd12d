"""Performance envelopes: the region of a sender's points of throughput and delay, compared with that of a
reference with the same congestion control.
"""
