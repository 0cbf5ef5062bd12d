"""Whether a sender paces: by how many of its bursts leave right after an acknowledgment."""

from __future__ import annotations

import numpy as np
import pytest

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import FlowPackets
from cwndlab.apps.fit.sender_estimates import FEWEST_BURSTS, estimate_sender


def paced(answers: int, bursts: int = 100) -> bool | None:
    """Of a segment every 10 ms, so many of them right after an acknowledgment, the others 5 ms after one."""
    at = 0.01 * np.arange(bursts + 1)
    early = np.where(np.arange(bursts) < answers, 1e-5, 0.005)
    seq = 1460 * np.arange(bursts + 1)
    full = np.full(bursts + 1, 1460)
    of = FlowPackets(
        sent_s=at,
        seq=seq,
        size=full,
        ack_s=at[1:] - early,
        ack=seq[1:],
        sacked=np.zeros(bursts, dtype=np.int64),
        allowed=seq[1:] + 65535,
        handshake_s=0.01,
        mss=1460,
        header=40,
        seconds=float(at[-1]),
    )
    return estimate_sender(Deliveries(of), 8e6, 0.01).paced


@pytest.mark.parametrize(
    ("answers", "expected"),
    [(0, True), (45, True), (46, None), (69, None), (70, False), (100, False)],
)
def test_up_to_45_percent_of_answers_are_pacing_and_70_are_none(answers: int, expected: bool | None) -> None:
    assert paced(answers) is expected


def test_fewer_bursts_than_enough_tell_nothing() -> None:
    assert paced(0, FEWEST_BURSTS) is True
    assert paced(0, FEWEST_BURSTS - 1) is None
