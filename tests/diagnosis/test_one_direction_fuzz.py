"""A capture of one direction, or of parts of a connection, is explained or refused, with little work."""

from __future__ import annotations

import cProfile
import math
from collections import Counter
from pathlib import Path

import pytest
import test_capture_files as made
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.apps.captures.explain_capture import explain_capture
from cwndlab.base.errors import StudyError
from fuzzing import tries

SYN, SYN_ACK, ACK, RST, FIN = 2, 18, 16, 4, 17
#: The most segments of a capture.
MOST = 300
counts: Counter[str] = Counter()

step = st.tuples(
    st.sampled_from(("data", "data", "data", "again", "back", "hole", "zero", "fin", "rst", "syn", "far")),
    st.integers(1, 60),
    st.sampled_from((0.0, 1e-6, 1e-3, 0.02, 1.0, -0.5)),
)


def packets(
    steps: list[tuple[str, int, float]], both: bool, handshake: bool, start: int
) -> list[tuple[float, bytes]]:
    """Segments of 100 bytes of one sender, with the ACKs of its receiver if `both`."""
    now, seq, found = 10.0, start, []
    if handshake:
        found.append((now, made.segment(1, seq, 0, SYN, options=made.MSS_1)))
        if both:
            found.append((now + 0.01, made.segment(2, 7, (seq + 1) % 2**32, SYN_ACK, options=made.MSS_1)))
        seq += 1
    for kind, count, pause in steps:
        flags = {"fin": FIN, "rst": RST, "syn": SYN}.get(kind, ACK)
        jump = {"again": -100, "back": -100 * count, "hole": 100 * count, "far": 2**31}.get(kind, 0)
        seq += jump
        for _ in range(count if flags == ACK else 1):
            now = max(0.0, now + pause)
            data = b"" if flags != ACK or kind == "zero" else bytes(100)
            found.append((now, made.segment(1, seq % 2**32, 8, flags, data)))
            seq += len(data)
            if both:
                found.append((now + 0.005, made.segment(2, 8, seq % 2**32, ACK)))
            if len(found) >= MOST:
                return found
    return found


@tries(150)
@given(
    steps=st.lists(step, min_size=1, max_size=12),
    both=st.booleans(),
    handshake=st.booleans(),
    start=st.sampled_from((1, 2**31, 2**32 - 500)),
    cut=st.integers(0, 40),
)
def check(
    file: Path, steps: list[tuple[str, int, float]], both: bool, handshake: bool, start: int, cut: int
) -> None:
    data = made.pcap(packets(steps, both, handshake, start))
    file.write_bytes(data[: len(data) - cut] if cut > 35 else data)
    counts["tried"] += 1
    try:
        diagnosis = explain_capture(file)
        assert str(diagnosis)
        assert all(math.isfinite(seconds) and seconds >= 0 for seconds in diagnosis.waited_s.values())
        counts["accepted"] += 1
    except StudyError as error:
        assert str(error)


def test_captures_of_one_direction_are_explained_or_refused_soon(tmp_path: Path) -> None:
    check(tmp_path / "made.pcap")
    assert counts["accepted"] >= 0.5 * counts["tried"], f"too few inputs are accepted: {counts}"


@pytest.mark.parametrize("both", [False, True])
def test_a_capture_of_one_direction_takes_work_in_proportion_to_its_size(tmp_path: Path, both: bool) -> None:
    calls = []
    for count in (10, 1000, 4000):  # the first makes what is made once
        now = [(10 + k * 1e-4, made.segment(1, 1 + 100 * k, 8, ACK, bytes(100))) for k in range(count)]
        acks = (
            [(10 + k * 1e-4 + 1e-5, made.segment(2, 8, 1 + 100 * k, ACK)) for k in range(count)]
            if both
            else []
        )
        (tmp_path / "one.pcap").write_bytes(made.pcap(sorted(now + acks)))
        profile = cProfile.Profile()
        profile.runcall(explain_capture, tmp_path / "one.pcap")
        calls.append(sum(entry.callcount for entry in profile.getstats()))
    assert calls[2] < 4.5 * calls[1], calls
