"""Objects that are shared cannot be changed; large ones are not compared or printed by their values."""

from __future__ import annotations

from dataclass_kinds import changeable, kinds


def test_only_what_is_filled_while_packets_are_read_can_be_changed() -> None:
    assert changeable("apps.diagnosis", "apps.captures") == [
        "Packet",
        "Conversation",
        "RawTrace",
        "QuicLog",
        "QuicWait",
        "Replayed",
        "Wait",
    ]


def test_all_are_compared_and_printed_by_value() -> None:
    for package, fewest in (("apps.diagnosis", 18), ("apps.captures", 2)):
        found = kinds(package)
        assert len(found) >= fewest
        assert {words.removeprefix("changes ") for words in found.values()} == {"equals shows"}
