"""ns-2's test suite `tcpVariants`: one to four single losses with Tahoe, Reno, NewReno, SACK and FACK.

The settings are those of `tcl/test/test-suite-tcpVariants.tcl`. The suite disables changes of 2003 and 2006,
but keeps the SYN, headers, clock and initial window of later years; so does this study. The profile has the
rest.
"""

from __future__ import annotations

from functools import cache

from cwndlab.api import Study

LOST = {1: [14], 2: [14, 28], 3: [14, 26, 28], 4: [14, 24, 26, 28]}
"""Numbers of the lost packets, counted from 0 with the SYN, as in the suite."""
KINDS = {"tahoe": "tahoe", "reno": "reno", "newreno": "new-reno", "sack": "sack", "fack": "fack"}


@cache
def study() -> Study:
    """The study of the twenty tests, by variant and number of lost packets."""
    return Study.from_dict(
        {
            "title": "ns-2's tcpVariants",
            "topology": {
                "nodes": ["s1", "r1", "k1"],
                "links": [
                    {"between": ["s1", "r1"], "rate": "8Mbps"},
                    {
                        "name": "bottleneck",
                        "between": ["r1", "k1"],
                        "rate": "800kbps",
                        "delay": "100ms",
                        "queue": {"kind": "drop-tail", "limit": "8pkt", "counts_in_service": True},
                    },
                ],
            },
            "traffic": [
                {
                    "name": "transfer",
                    "client": "s1",
                    "server": "k1",
                    "start": "1s",
                    "app": {"kind": "bulk", "from": "client"},
                }
            ],
            "tcp": {
                "profile": "ns2-1998",
                "mss": "1040B",
                "ack": "40B",
                "handshake": True,
                "initial_window": 2,
                "max_window": "28pkt",
                "rto": {"min": "1s", "max": "60s", "tick": "10ms"},
            },
            "axes": {
                "variant": {
                    "values": [
                        {"name": name, "set": {"tcp.recovery": kind, "tcp.sack": kind in ("sack", "fack")}}
                        for name, kind in KINDS.items()
                    ]
                },
                "lost": {
                    "values": [
                        {
                            "name": str(count),
                            "set": {
                                "topology.links.bottleneck.forward.impairments": [
                                    {"kind": "drop-nth", "packets": [number + 1 for number in numbers]}
                                ]
                            },
                        }
                        for count, numbers in LOST.items()
                    ]
                },
            },
            "run": {"duration": "6s"},
            "probes": {"segments_at": "s1"},
        }
    )
