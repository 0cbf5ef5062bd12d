"""Objects that are shared cannot be changed; large ones are not compared or printed by their values."""

from __future__ import annotations

from dataclass_kinds import kinds


def test_events_and_differences_of_traces_are_compared_by_value() -> None:
    assert kinds("apps.packets") == {"Event": "equals shows", "Difference": "equals shows"}
