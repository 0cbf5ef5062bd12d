"""Packets, windows and queues of single runs: their graphs, and where two traces differ."""
