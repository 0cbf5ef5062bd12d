"""Listings of metrics, knobs, queues, applications and impairments."""
