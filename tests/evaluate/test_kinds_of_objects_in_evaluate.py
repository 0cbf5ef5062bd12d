"""Objects that are shared cannot be changed; large ones are not compared or printed by their values."""

from __future__ import annotations

from dataclass_kinds import kinds


def test_all_are_compared_and_printed_by_value_and_none_can_be_changed() -> None:
    for package, fewest in (("apps.evaluate", 7), ("apps.search", 6)):
        found = kinds(package)
        assert len(found) >= fewest
        assert set(found.values()) == {"equals shows"}
