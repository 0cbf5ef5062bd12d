"""A capture with a fault of its own is fitted as if it had none, or refused with the true reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "diagnosis"))
import faulty_captures as made

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import of_conversation
from cwndlab.apps.captures.from_capture import read
from cwndlab.apps.fit.compared_numbers import is_far
from cwndlab.apps.fit.fitting import FitRefusedError, fit_capture
from cwndlab.apps.fit.path_estimates import PathEstimates, estimate_path
from cwndlab.apps.fit.refusals import of_path

LONG = made.RUN.replace('duration = "4s"', 'duration = "12s"')


@pytest.fixture(scope="module")
def packets() -> made.Packets:
    return made.captured("sender", LONG)


def path_of(packets: made.Packets, folder: Path) -> PathEstimates:
    file = folder / "made.pcap"
    file.write_bytes(made.pcap(packets))
    (conversation,) = read(file)
    return estimate_path(Deliveries(of_conversation(conversation)))


@pytest.mark.parametrize(
    ("fault", "reasons"),
    [
        ("only data", ("one-direction",)),
        ("only acknowledgments", ("one-direction",)),
        ("stamps of 10 ms", ("clock",)),
        ("clock back by 1 s", ("clock",)),
        ("clock forward by 30 s", ("clock",)),
        ("600 packets dropped", ("missing",)),
    ],
)
def test_a_fault_that_hides_the_path_is_the_reason_of_the_refusal(
    fault: str, reasons: tuple[str, ...], packets: made.Packets, tmp_path: Path
) -> None:
    change, snap, _ = made.FAULTS[fault]
    file = tmp_path / "made.pcap"
    file.write_bytes(made.pcap(change(packets), snap=snap))
    with pytest.raises(FitRefusedError) as caught:
        fit_capture(file)
    assert caught.value.reasons == reasons


@pytest.mark.parametrize("node", ["before", "receiver"])
def test_a_capture_elsewhere_than_at_the_sender_is_refused_for_its_place(node: str, tmp_path: Path) -> None:
    file = tmp_path / "made.pcap"
    file.write_bytes(made.pcap(made.captured(node, LONG)))
    where = "on the path, between the ends" if node == "before" else "at the receiver"
    with pytest.raises(FitRefusedError, match=f"it was captured {where}") as caught:
        fit_capture(file)
    assert caught.value.reasons == ("place",)


@pytest.mark.parametrize("fault", ["each packet twice", "before and after a router", "fragments"])
def test_a_fault_that_can_be_taken_out_leaves_the_estimates_as_they_are(
    fault: str, packets: made.Packets, tmp_path: Path
) -> None:
    found, true = path_of(made.FAULTS[fault][0](packets), tmp_path), path_of(packets, tmp_path)
    assert (found.rate_bps, found.base_s) == pytest.approx((true.rate_bps, true.base_s), rel=1e-3)


def test_a_base_round_trip_that_no_packet_shows_is_refused(packets: made.Packets, tmp_path: Path) -> None:
    """The queue of 1 BDP is never empty after the start: later round trips take at least 53 ms, not 40."""
    whole, late = path_of(packets, tmp_path), path_of(made.late(5.0)(packets), tmp_path)
    assert whole.base_s == pytest.approx(0.04, rel=0.01) and not list(of_path(whole))
    assert late.base_s > 0.05
    refusal = next(one for one in of_path(late) if one.reason == "rtt")
    assert "it begins after the handshake" in refusal.why


def test_a_difference_that_does_not_matter_is_no_warning() -> None:
    assert not is_far("throughput (Mbit/s)", 11.47, 11.48, 11.48)
    assert is_far("throughput (Mbit/s)", 11.2, 11.48, 11.48)
