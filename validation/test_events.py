"""The comparison of event lists finds their first difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from .against_ns2 import GOLDEN, cases, explanations
from .events import Event, first_parting, read_golden, sent_before_first_timeout

A = [Event(0.0, "send", 1), Event(1.0, "ack", 1), Event(1.0, "send", 2), Event(9.0, "retransmit", 2)]


def test_equal_lists_do_not_part() -> None:
    """Equal lists have no difference."""
    assert first_parting(A, list(A), 1e-6, 10.0) is None


@pytest.mark.parametrize(
    ("changed", "kind"),
    [(Event(1.0, "dupack", 1), "order"), (Event(1.0, "ack", 2), "order"), (Event(1.1, "ack", 1), "time")],
)
def test_a_changed_event_is_found(changed: Event, kind: str) -> None:
    """A change of the event's kind, packet or time is found."""
    parting = first_parting([A[0], changed, *A[2:]], A, 1e-6, 10.0)
    assert parting is not None
    assert (parting.kind, parting.index) == (kind, 1)


def test_an_order_that_differs_outweighs_an_earlier_time() -> None:
    """A different event is reported even if a different time precedes it."""
    ours = [A[0], Event(1.1, "ack", 1), A[2], Event(9.0, "send", 3)]
    parting = first_parting(ours, A, 1e-6, 10.0)
    assert parting is not None
    assert (parting.kind, parting.index) == ("order", 3)


def test_a_missing_event_is_found_unless_at_the_very_end() -> None:
    """An event at the end of the run may be in one list only."""
    assert first_parting(A[:3], A, 1e-6, 10.0) is not None
    assert first_parting(A[:3], A, 1e-6, 9.0) is None


def test_a_timeout_is_a_retransmission_without_an_ack() -> None:
    """A fast retransmission, in contrast, has the time of a duplicate ACK."""
    assert sent_before_first_timeout(A) == 9.0
    assert sent_before_first_timeout([*A[:3], Event(9.0, "dupack", 1), A[3]]) == float("inf")


def test_every_golden_is_compared_and_every_explanation_has_its_golden() -> None:
    """No golden file and no line of the table is unused."""
    names = {case.golden for case in cases()}
    assert {path.stem for path in GOLDEN.glob("*.txt")} == names
    assert set(explanations()) <= names


def test_goldens_show_the_memo_s_losses() -> None:
    """In ns-2, RFC 2416's first drops are packets 7, 9, 11, 13 and 4, 6, 8, 10."""

    def first_drops(path: Path) -> list[int]:
        return [event.packet for event in read_golden(path) if event.event == "drop"][:4]

    assert first_drops(GOLDEN / "rfc2416-tahoe-iw1-1000B.txt") == [7, 9, 11, 13]
    assert first_drops(GOLDEN / "rfc2416-tahoe-iw4-1000B.txt") == [4, 6, 8, 10]
