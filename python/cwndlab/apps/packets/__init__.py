"""Packets, windows and queues of single runs: graphs, and differences between traces."""
