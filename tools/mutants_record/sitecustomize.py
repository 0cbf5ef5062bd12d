"""Starts coverage in each process of the tests that `mutants_seen.py` records; only those can import this."""

import coverage  # type: ignore[import-not-found]

coverage.process_startup()
