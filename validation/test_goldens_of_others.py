"""Comparison of tcptrace's output for a capture with what `explain` reads from it."""

from __future__ import annotations

from cwndlab.apps.diagnosis.conversation import ACK, Conversation, Packet

from .goldens import Side, compare, of_tcptrace

LONG = """TCP connection info:
TCP connection 1:
	host a:        10.0.0.1:5000
	host b:        10.0.0.2:80
   a->b:			      b->a:
     actual data pkts:          3           actual data pkts:          1
     actual data bytes:       300           actual data bytes:        10
     rexmt data pkts:           1           rexmt data pkts:           0
"""


def sent(*starts: int) -> list[Conversation]:
    """A conversation whose sender sends segments with these sequence numbers."""
    packets = [Packet(k, True, seq, 100, 0, 65535, ACK) for k, seq in enumerate(starts)]
    return [Conversation("10.0.0.1:5000 > 10.0.0.2:80", packets, 100, "sender")]


def test_both_ends_are_read_from_the_long_output() -> None:
    """One end sent three segments, the other one."""
    assert list(of_tcptrace(LONG)) == [[Side(3, 300, 1), Side(1, 10, 0)]]


def test_the_end_that_sent_more_is_compared() -> None:
    """The other end sent only 10 bytes."""
    assert compare(sent(0, 100, 0), LONG) == []
    assert compare(sent(0, 100, 200), LONG) == [("connection 1", Side(3, 300, 0), Side(3, 300, 1))]


def test_another_number_of_connections_differs() -> None:
    """Different numbers of connections cannot be compared."""
    ((what, *_),) = compare([*sent(0, 100, 0), *sent(0)], LONG)
    assert what == "2 connections, tcptrace 1"
