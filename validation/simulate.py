"""Runs of small scenarios: one connection over one link, or a cell of a shipped study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from cwndlab import _core
from cwndlab.api import Study

MSS = 1000
"""Bytes of a data packet on the wire in these scenarios, as the profile has no headers."""
ACK = 40


def table(records: _core.Records, name: str) -> pa.Table:
    """A record table of a run."""
    return pa.table(records.table(name))


def one_link(
    *,
    rate: str,
    delay: str,
    duration_s: float,
    tcp: Mapping[str, Any],
    impairments: Sequence[Mapping[str, Any]] = (),
    segments: int | None = None,
    probes: Mapping[str, Any] | None = None,
) -> str:
    """A transfer of `segments` packets (None: endless) over one link with an infinite queue, as JSON."""
    app: dict[str, Any] = {"kind": "bulk", "from": "client"}
    if segments is not None:
        app["segments"] = segments
    study = Study.from_dict(
        {
            "title": "one link",
            "topology": {
                "nodes": ["source", "receiver"],
                "links": [
                    {
                        "name": "path",
                        "between": ["source", "receiver"],
                        "rate": rate,
                        "delay": delay,
                        "forward": {"impairments": list(impairments)},
                    }
                ],
            },
            "traffic": [{"name": "transfer", "client": "source", "server": "receiver", "app": app}],
            "tcp": {"profile": "ns2-1998", "mss": f"{MSS}B", "ack": f"{ACK}B", **tcp},
            "run": {"duration": f"{duration_s * 1000:.0f}ms"},
            "probes": dict(probes or {}),
        }
    )
    return study.plan().cells[0].scenario


def delivered_packets(scenario: str, replicate: int = 0) -> float:
    """Packets that the receiver has in order at the end of the run."""
    connections = table(_core.run(scenario, 1, replicate), "connections")
    return float(connections["bytes_up"][0].as_py()) / MSS


def mean_window(
    *,
    rate: str,
    delay_ms: float,
    until_s: tuple[float, float],
    tcp: Mapping[str, Any],
    impairments: Sequence[Mapping[str, Any]],
    replicate: int = 0,
) -> float:
    """Packets delivered per round trip (of propagation only) between two times.

    This is the difference between two runs, which are equal until the end of the first.
    """
    counts = [
        delivered_packets(
            one_link(rate=rate, delay=f"{delay_ms:g}ms", duration_s=end, tcp=tcp, impairments=impairments),
            replicate,
        )
        for end in until_s
    ]
    return (counts[1] - counts[0]) * 2e-3 * delay_ms / (until_s[1] - until_s[0])
