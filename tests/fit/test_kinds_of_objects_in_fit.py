"""Objects of a fit cannot be changed."""

from __future__ import annotations

from dataclass_kinds import kinds


def test_all_are_compared_and_printed_by_value_and_none_can_be_changed() -> None:
    found = kinds("apps.fit")
    assert len(found) >= 20 and set(found.values()) == {"equals shows"}
