"""What captures lack, which faults they have, and in which format they are, by hand."""

from __future__ import annotations

import gzip
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cwndlab.apps.captures import capture_faults, capture_formats
from cwndlab.apps.captures.capture_faults import find_direction, find_missing, note_faults, note_whole_capture
from cwndlab.apps.captures.capture_formats import is_capture, readable
from cwndlab.apps.captures.from_capture import _damaged_of_sender, _first_sends, _scale
from cwndlab.apps.diagnosis.conversation import ACK, FIN, RST, SYN, Conversation, Missing, Packet
from cwndlab.base.errors import StudyError
from made_packets import MS, got, sent


@pytest.mark.parametrize(
    ("packets", "at_sender", "elsewhere"),
    [
        ([sent(1, 0, 10), sent(2, 10, 10), got(3, 20)], [], []),
        ([sent(1, 0, 10), sent(2, 30, 10)], [(10, 20, 1, 2)], []),  # a sender skips nothing
        ([sent(1, 0, 10), sent(2, 30, 10), got(3, 40)], [(10, 20, 1, 2)], [(10, 20, 1, 2)]),
        ([sent(1, 0, 10), got(3, 40)], [(10, 30, 1, 3)], [(10, 30, 1, 3)]),
        ([sent(1, 0, 10), sent(2, 30, 10), sent(4, 10, 20), got(5, 40)], [(10, 20, 1, 2)], []),
        (
            [sent(1, 0, 10), sent(2, 30, 10), sent(4, 50, 10), got(5, 60)],
            [(10, 20, 1, 2), (40, 10, 2, 4)],
            [(10, 20, 1, 2), (40, 10, 2, 4)],
        ),
        ([sent(1, 0, 10), sent(2, 30, 10), got(5, 20)], [(10, 20, 1, 2)], [(10, 10, 2, 5)]),
        ([sent(1, 0, 10), got(3, 40, flags=RST | ACK)], [], []),
        ([sent(1, 0, 10), got(3, 11)], [], []),  # a FIN
        ([sent(1, 0, 10), got(3, 12)], [(10, 2, 1, 3)], [(10, 2, 1, 3)]),
        ([sent(1, 0, 10), sent(2, 30, flags=FIN)], [(10, 20, 1, 2)], []),
        ([sent(1, 0, 10), sent(2, 30)], [], []),
        ([got(1, 40)], [(0, 40, 1, 1)], [(0, 40, 1, 1)]),
        ([], [], []),
    ],
)
def test_what_was_sent_and_not_captured_is_missing(
    packets: list[Packet], at_sender: list[tuple[int, ...]], elsewhere: list[tuple[int, ...]]
) -> None:
    for flag, expected in ((True, at_sender), (False, elsewhere)):
        found = find_missing(packets, at_sender=flag, from_start=True)
        assert [(one.seq, one.len, one.after_ns // MS, one.before_ns // MS) for one in found] == expected


def test_a_capture_that_begins_later_lacks_nothing_before_its_first_segment() -> None:
    packets = [got(0, 90), sent(1, 50, 10), sent(2, 70, 10), got(3, 80)]
    found = find_missing(packets, at_sender=True, from_start=False)
    assert [(one.seq, one.len) for one in found] == [(60, 10)]


def test_ranges_beyond_a_hole_are_sorted_and_joined() -> None:
    ahead: list[capture_faults._Range] = []
    for start, stop in ((40, 50), (10, 20), (60, 70), (20, 25), (30, 40), (5, 12), (45, 48), (24, 31)):
        capture_faults._add(ahead, capture_faults._Range(start, stop, start, stop))
    assert [(one.start, one.stop) for one in ahead] == [(5, 50), (60, 70)]


@pytest.mark.parametrize(
    ("packets", "has_data", "only"),
    [
        ([sent(0, 0, 9), got(1, 9)], True, ""),
        ([sent(0, 0, 70_000)], True, "data"),
        ([got(0, flags=SYN), sent(0, 0, 65_536)], True, "data"),
        ([got(0, flags=SYN), sent(0, 0, 65_535)], True, ""),
        ([got(0, flags=SYN, window=80_000), sent(0, 0, 80_000)], True, ""),
        ([got(0, flags=SYN, window=80_000), sent(0, 0, 80_001)], True, "data"),
        ([sent(0, 0, 9), sent(1, 9, 9)], True, "data"),
        ([sent(0, 0, 9), sent(1, 0, 9)], True, ""),  # it is sent again, so nothing was acknowledged
        ([sent(0), got(1, 2)], False, "acks"),
        ([sent(0), got(1, 1)], False, ""),
        ([got(0, 9, flags=RST), sent(0, 0, 70_000)], True, "data"),
    ],
)
def test_a_capture_of_one_direction_has_data_or_acknowledgments(
    packets: list[Packet], has_data: bool, only: str
) -> None:
    assert find_direction(packets, has_data) == only


def faults(**changes: Any) -> Any:
    return SimpleNamespace(
        **{"copies": 0, "interfaces": False, "ttls": None, "damaged": 0, "fragmented": 0} | changes
    )


@pytest.mark.parametrize(
    ("changes", "of", "note"),
    [
        ({"copies": 3}, {}, "packets were captured more than once: 3 copies were left out"),
        (
            {"copies": 3, "interfaces": True},
            {},
            "packets were captured more than once by several interfaces: 3 copies were left out",
        ),
        (
            {"copies": 3, "ttls": (64, 62)},
            {},
            "packets were captured more than once on both sides of a router (TTL 64 and 62): "
            "3 copies were left out",
        ),
        (
            {"damaged": 1},
            {},
            "1 segment has a wrong checksum or impossible numbers, and no part in the diagnosis",
        ),
        (
            {"damaged": 2},
            {},
            "2 segments have a wrong checksum or impossible numbers, and no part in the diagnosis",
        ),
        ({"fragmented": 1}, {}, "1 segment came as fragments of IP"),
        (
            {},
            {"missing": [Missing(0, 20, 0, 1), Missing(40, 5, 0, 1)]},
            "the capture lacks 25 bytes that were sent (2.5 %): "
            "what the sender waited for meanwhile is not known",
        ),
        (
            {},
            {"missing": [Missing(0, 4000, 0, 1)]},
            "the capture lacks 4000 bytes that were sent (1e+02 %): "
            "what the sender waited for meanwhile is not known",
        ),
        ({}, {"one_way": "data"}, "only the sender's packets were captured: what it waited for is not known"),
        (
            {},
            {"one_way": "acks"},
            "only the receiver's packets were captured: what the sender waited for is not known",
        ),
    ],
)
def test_each_fault_of_a_connection_is_a_note(changes: dict[str, Any], of: dict[str, Any], note: str) -> None:
    made = replace(Conversation("c", [sent(0, 0, 1000), got(1, 9999)], 1000, "sender"), **of)
    note_faults(made, faults(**changes))
    assert made.notes == [note]


@pytest.mark.parametrize(("large", "noted"), [(2, False), (3, True)])
def test_merged_segments_are_noted_from_two_percent_on(large: int, noted: bool) -> None:
    packets = [sent(k, 1000 * k, 1001 if k < large else 1000) for k in range(100)] + [sent(200)]
    made = Conversation("c", packets, 1000, "sender")
    capture_faults.note_merged(made)
    assert [note.startswith("3 of 100 segments with data are larger") for note in made.notes] == [
        True
    ] * noted


def capture(**changes: Any) -> Any:
    return SimpleNamespace(**{"tick_ns": 0, "steps": [], "cut": None, "headers_cut": 0} | changes)


def conversations(*names: str, packets: int = 20) -> list[Conversation]:
    return [
        Conversation(name, [sent(0)] * (packets if k == 0 else 0), 1000, "sender")
        for k, name in enumerate(names)
    ]


@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        ({}, []),
        ({"cut": "it was cut"}, ["it was cut"]),
        (
            {"headers_cut": 1},
            ["1 packet cut within TCP's header, and left out; capture with a snap length of at least 96"],
        ),
        (
            {"steps": [(2_500_000_000, 1_250_000_000)]},
            [
                "the clock of the capture was set back by about 1.25 s after 2.500000 s: "
                "how long the packets there are apart is not known"
            ],
        ),
        (
            {"steps": [(2_500_000_000, -1_250_000_000)]},
            [
                "the clock of the capture was set forward by about 1.25 s after 2.500000 s, or its host "
                "slept: how long the packets there are apart is not known"
            ],
        ),
        (
            {"tick_ns": 10 * MS},
            ["the times of the capture are multiples of 10 ms: shorter round trips and waits do not show"],
        ),
        ({"tick_ns": MS - 1}, []),
    ],
)
def test_each_fault_of_a_capture_is_a_note_of_its_first_connection(
    changes: dict[str, Any], notes: list[str]
) -> None:
    first, second = made = conversations("a > b", "c > d")
    note_whole_capture(made, capture(**changes))
    assert (first.notes, second.notes) == (notes, [])
    assert second.tick_ns == (10 * MS if notes and "multiples" in notes[0] else 0)
    assert second.steps == [at for at, _ in changes.get("steps", [])]


def test_a_clock_is_coarse_from_twenty_packets_and_a_millisecond_on() -> None:
    for packets, tick, coarse in ((20, MS, MS), (19, MS, 0)):
        (made,) = conversations("a > b", packets=packets)
        note_whole_capture([made], capture(tick_ns=tick))
        assert made.tick_ns == coarse


def test_ports_that_were_used_again_are_named_or_counted() -> None:
    twice = conversations("b > a", "a > b", "c > d")
    note_whole_capture(twice, capture())
    assert twice[0].notes == ["the ports of a and b were used again: 2 connections"]
    many = conversations(*(name for k in range(5) for name in (f"{k} > x", f"x > {k}")))
    note_whole_capture(many, capture())
    assert many[0].notes == ["the ports of 5 pairs of ends were used again, for 10 connections"]
    four = conversations(*(name for k in range(4) for name in (f"{k} > x", f"x > {k}")))
    note_whole_capture(four, capture())
    assert len(four[0].notes) == 4


def test_the_sender_sent_more_or_had_more_acknowledged() -> None:
    def end(size: int, acknowledged: int) -> Any:
        return SimpleNamespace(bytes=size, acknowledged=acknowledged)

    assert _first_sends(end(2, 0), end(1, 9)) and not _first_sends(end(1, 9), end(2, 0))
    assert _first_sends(end(1, 2), end(1, 2)) and not _first_sends(end(1, 2), end(1, 3))
    assert (_damaged_of_sender(3, 9), _damaged_of_sender(3, 0)) == ((3, 9), (0, 0))


@pytest.mark.parametrize(
    ("opened", "scale", "cut", "expected"),
    [
        (True, 7, False, 7),
        (True, None, False, 0),
        (True, None, True, None),
        (False, 7, False, None),
        (True, 7, True, 7),
    ],
)
def test_a_window_scale_is_known_from_the_handshake(
    opened: bool, scale: int | None, cut: bool, expected: int | None
) -> None:
    assert _scale(SimpleNamespace(opened=opened, scale=scale, options_cut=cut)) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.pcap", b"", True),
        ("a.pcapng.gz", b"", True),
        ("a.snoop", b"x", True),
        ("a.txt", b"\xd4\xc3\xb2\xa1rest", True),
        ("a.txt", gzip.compress(b"\x0a\x0d\x0d\x0arest of it"), True),
        ("a.txt", b"snoop\0\0\0", True),
        ("a.txt", b"\x28\xb5\x2f\xfd", True),
        ("a.txt", b"snoop", False),
        ("a.txt", gzip.compress(b"snoop\0\0\0and more"), True),
        ("a.txt", b"\x1f\x8bdamaged", False),
        ("a.txt", gzip.compress(b"\x0a\x0d\x0d\x0a" * 9)[:12], False),
        ("a.txt", b"", False),
    ],
)
def test_a_capture_is_known_by_its_name_or_its_first_bytes(
    tmp_path: Path, name: str, content: bytes, expected: bool
) -> None:
    (tmp_path / name).write_bytes(content)
    assert is_capture(tmp_path / name) is expected
    assert not is_capture(tmp_path / "none") and not is_capture(tmp_path)


def test_what_the_core_reads_is_not_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_formats.shutil, "which", lambda name: None)
    path = tmp_path / "c"
    for begins in (
        b"\x0a\x0d\x0d\x0a",
        b"\xa1\xb2\x3c\x4d\x00\x02\x00\x04",
        b"\x4d\x3c\xb2\xa1\x02\x00\x04\x00",
    ):
        path.write_bytes(begins)
        with readable(path) as found:
            assert found == path
    for begins in (
        b"\xa1\xb2\xc3\xd4\x00\x02\x00\x03",
        *(b"\xd4\xc3\xb2\xa1\x02\x00" + bytes([minor, 0]) for minor in range(4)),
        b"snoop\0\0\0",
        b"x",
    ):
        path.write_bytes(begins)
        with (
            pytest.raises(StudyError, match="this file is no capture that cwndlab reads itself"),
            readable(path),
        ):
            pass
    path.write_bytes(b"")
    with pytest.raises(StudyError, match="this file is empty"), readable(path):
        pass
    with pytest.raises(StudyError, match="there is no such file"), readable(tmp_path / "none"):
        pass


def test_other_formats_are_converted_by_editcap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.snoop"
    path.write_bytes(b"snoop\0\0\0")
    asked: list[Any] = []

    def run(command: list[str], **keys: Any) -> None:
        asked.append((command[:-1], keys))
        if not state["empty"]:
            Path(command[-1]).write_bytes(b"converted")
        if state["fails"]:
            raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(capture_formats.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(capture_formats.subprocess, "run", run)
    for fails in (False, True):  # a cut file is converted up to its end
        state = {"fails": fails, "empty": False}
        with readable(path) as found:
            assert found.read_bytes() == b"converted"
        assert not found.exists()
    words = ["/bin/editcap", "-F", "pcapng", str(path)]
    assert asked[0] == (words, {"capture_output": True, "timeout": 300, "check": True})
    state = {"fails": True, "empty": True}
    with pytest.raises(StudyError, match="this file is no capture"), readable(path):
        pass
