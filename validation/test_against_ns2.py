"""The simulator's traces compared with ns-2's: all differences must be known and explained."""

from __future__ import annotations

import pytest

from .against_ns2 import Case, cases, compare


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.golden)
def test_trace_agrees_with_ns2_or_parts_where_explained(case: Case) -> None:
    """Tahoe, Reno and NewReno must not differ before the first timeout, even where explained."""
    outcome = compare(case)
    parting = outcome.parting
    assert outcome.passed, f"parts at {parting and parting.theirs}, ours {parting and parting.ours}"
    if case.variant in ("tahoe", "reno", "newreno"):
        assert not outcome.parted_before_first_timeout
