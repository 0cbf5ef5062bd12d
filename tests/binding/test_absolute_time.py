"""What a connection does does not depend on when it begins: stamps wrap after 71.6 minutes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from cwndlab import _core

Make = Callable[..., dict[str, Any]]
WRAP_S = 2**32 / 1e6


def packets(scenario: dict[str, Any], start_s: int) -> list[tuple[Any, ...]]:
    """What is sent and received at the observation point, with times since the start."""
    start = start_s * 10**9
    scenario["traffic"][0]["start_ns"] = start
    scenario["duration_ns"] = start + 60 * 10**9
    table = pa.table(_core.run(json.dumps(scenario), 1, 0)["segments"])
    rows = zip(
        *(table.column(name).to_pylist() for name in ("time_ns", "event", "seq", "ack", "window_bytes")),
        strict=True,
    )
    return [(time - start, *rest) for time, *rest in rows]


@pytest.mark.parametrize(
    ("profile", "knobs"),
    [
        ("linux-6", {}),  # its receive buffer is measured by stamps
        ("linux-6", {"window_law": "cubic"}),
        (
            "ns2-1998",
            {"recovery": "fack", "sack": True, "window_law": "cubic"},
        ),  # made-up ACKs have a time, too
        ("linux-2.2", {}),
        ("rfc5681", {"timestamps": True}),
    ],
)
def test_a_transfer_is_the_same_before_and_after_stamps_wrap(
    scenario: Make, profile: str, knobs: dict[str, Any]
) -> None:
    made = scenario(profile, **knobs)
    made["links"][1] |= {"rate_bps": 20_000_000, "impairments": [{"kind": "bernoulli", "p": 0.001}]}
    made["traffic"][0]["app"]["bytes"] = 20_000_000
    # Multiples of 512 s, for timers that tick; the last one wraps within the transfer.
    first, *others = (packets(made, 198 + 512 * turns) for turns in (0, 6, 8, 16))
    assert 198 + 512 * 8 < WRAP_S < 198 + 512 * 8 + 60
    assert len(first) > 20_000
    for other in others:
        assert other == first


@pytest.mark.parametrize(
    ("profile", "knobs"), [("linux-2.2", {}), ("rfc5681", {"timestamps": True}), ("linux-6", {})]
)
def test_an_idle_connection_measures_no_round_trip_of_an_old_stamp(
    scenario: Make, profile: str, knobs: dict[str, Any]
) -> None:
    """RFC 7323, section 5.5: after 40 minutes of a clock in microseconds, TS.Recent is too old."""
    made = scenario(profile, **knobs)
    size, idle = {"kind": "fixed", "value": 5000.0}, {"kind": "fixed", "value": 2400.0}
    made["duration_ns"] = 2600 * 10**9
    made["traffic"][0]["app"] = {"kind": "rr", "request_bytes": size, "response_bytes": size, "think_s": idle}
    made["probes"]["cwnd"] = True
    table = pa.table(_core.run(json.dumps(made), 1, 0)["cwnd"])
    assert max(srtt for srtt in table.column("srtt_ns").to_pylist() if srtt is not None) < 10**9


def test_fack_of_1998_gives_its_law_the_time_of_each_ack(scenario: Make) -> None:
    """With a time of 0, CUBIC's window after a loss depended on when the connection began."""
    made = scenario("ns2-1998", recovery="fack", sack=True, window_law="cubic", max_window={"segments": 1000})
    made["links"][1] |= {"rate_bps": 20_000_000}
    made["links"][1]["queue"]["limit"] = 100
    made["traffic"][0]["app"]["bytes"] = 200_000_000
    at_once, later = (len(packets(made, start)) for start in (0, 3072))
    assert later == pytest.approx(at_once, rel=0.01)
