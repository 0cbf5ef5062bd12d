"""Executors, which perform runs: the protocol, and threads. Applications add processes and clusters."""
