"""`network = "ipv6"`: sizes of headers and segments, what a capture shows, and what stays of IPv4."""

from __future__ import annotations

import pytest

from cwndlab import Study
from cwndlab.apps.packets.traces import trace as make_trace
from cwndlab.base.errors import StudyError

TEXT = """
title = "a protocol"
measure = ["goodput"]

[dumbbell]
rate = "10Mbps"
rtt = "40ms"
flows = [
    { cc = "cubic", tcp = { ecn = "rfc3168" } },
    { name = "jumbo", cc = "cubic", tcp = { mss = "8940B" } },
    { name = "call", app = { kind = "cbr", rate = "1Mbps", packet = "500B" } },
]

[probes]
segments_at = "cubic_sender"

[run]
duration = "2s"
network = "ipv6"
"""


def study(network: str = "ipv6") -> Study:
    return Study.from_toml(TEXT.replace('"ipv6"', f'"{network}"'))


def tcp(network: str) -> list[tuple[int, int, int]]:
    scenario = study(network).plan().cells[0].compiled.scenario
    assert scenario.get("network", "ipv4") == network
    return sorted({(group["mss"], group["header_bytes"], group["ack_bytes"]) for group in scenario["tcp"]})


def test_headers_are_20_bytes_longer_and_an_mss_that_is_given_stays() -> None:
    assert tcp("ipv4") == [(1460, 40, 40), (8940, 40, 40)]
    assert tcp("ipv6") == [(1440, 60, 60), (8940, 60, 60)]


def test_a_datagram_of_the_same_size_carries_20_bytes_less() -> None:
    rates = [study(network).run(replicates=1).estimate("goodput_call").value for network in ("ipv4", "ipv6")]
    assert rates[1] / rates[0] == pytest.approx((500 - 48) / (500 - 28), rel=0.01)


def test_a_capture_has_ipv6_headers_with_the_ecn_field() -> None:
    cell = study().plan().cells[0]
    data = make_trace(cell, "pcapng", seed=1, replicate=0, kernel=None)
    header = bytes.fromhex("60 20 00 00")  # version 6, ECT(0)
    addresses = [bytes.fromhex(f"fd00 0000 0000 0000 0000 0000 0000 000{node}") for node in (3, 4)]
    assert header in data and b"".join(addresses) in data


def test_quic_stacks_are_refused() -> None:
    text = TEXT.replace('cc = "cubic", tcp = { ecn = "rfc3168" }', 'stack = "quinn", cc = "cubic"')
    with pytest.raises(StudyError, match="QUIC stacks run over IPv4 only"):
        Study.from_toml(text.replace('segments_at = "cubic_sender"', "")).plan().check()
