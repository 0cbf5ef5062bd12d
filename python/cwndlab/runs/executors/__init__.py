"""Executors, which perform runs: the protocol, and threads. Applications have processes and clusters."""
