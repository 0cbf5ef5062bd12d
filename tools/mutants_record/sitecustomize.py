"""Starts coverage in each process of the tests that `mutants_seen.py` records; on the path of no other."""

import coverage  # type: ignore[import-not-found]

coverage.process_startup()
