"""Ten stalls whose causes are known, because each was prepared: one flow from `sender` to `receiver`."""

from __future__ import annotations

from typing import Any

from cwndlab import Study

MSS = 1000
RED = {"min_th": "1pkt", "max_th": "20pkt", "max_p": 1.0, "w_q": 1.0}
#: The answers of a diagnosis that are right for each stall.
STALLS = (
    "rto-few-dupacks",
    "zero-window",
    "receive-window",
    "application",
    "lost-syn",
    "lost-retransmission",
    "spurious-rto",
    "nagle-delayed-ack",
    "ecn-one-segment",
    "policer",
)


def study(cause: str) -> Study:
    """The study whose only stall has this cause."""
    link: dict[str, Any] = {"rate": "10Mbps", "queue": {"kind": "infinite"}}
    bulk: dict[str, Any] = {"kind": "bulk", "bytes": 40 * MSS}
    tcp: dict[str, Any] = {}
    more: list[dict[str, Any]] = []
    app, duration = bulk, "10s"
    match cause:
        case "rto-few-dupacks":  # the last segment is lost
            link["impairments"] = [{"kind": "drop-seq", "offsets": [39 * MSS], "occurrences": 1}]
        case "zero-window":
            app = bulk | {"bytes": 200 * MSS, "read_rate": "160kbps"}
            tcp["receive_buffer"] = f"{16 * MSS}B"
        case "receive-window":
            app = bulk | {"bytes": 200 * MSS}
            tcp["receive_buffer"] = f"{4 * MSS}B"
        case "application":
            app = {
                "kind": "rr",
                "request_bytes": 100,
                "response_bytes": 3 * MSS,
                "think_s": {"kind": "fixed", "value": 0.7},
            }
        case "lost-syn":
            link["impairments"] = [{"kind": "drop-nth", "packets": [1]}]
        case "lost-retransmission":
            link["impairments"] = [{"kind": "drop-seq", "offsets": [15 * MSS], "occurrences": 2}]
        case "spurious-rto":  # the path pauses for 1.5 s
            app = bulk | {"bytes": 100 * MSS}
            link["rate"] = "1Mbps"
            tcp["max_window"] = "20pkt"
            link["impairments"] = [
                {
                    "kind": "delay-steps",
                    "at": ["0s", "0.35s", "0.45s"],
                    "extra": ["0s", "1.5s", "0s"],
                    "keep_order": True,
                }
            ]
        case "nagle-delayed-ack":  # a response of one and a half segments
            app = {
                "kind": "rr",
                "request_bytes": 100,
                "response_bytes": MSS * 3 // 2,
                "think_s": {"kind": "fixed", "value": 0.01},
            }
            tcp |= {"nagle": True, "ack_policy": {"delayed": {"timeout": "200ms"}}}
        case "ecn-one-segment":  # datagrams at twice the link's rate keep RED's queue half full
            link |= {"rate": "1Mbps", "queue": {"kind": "red", "ecn": True, "limit": "100pkt", **RED}}
            more = [{"name": "datagrams", "app": {"kind": "cbr", "rate": "2Mbps", "packet_bytes": 500}}]
            tcp |= {"ecn": "rfc3168", "ack_policy": {"delayed": {"timeout": "40ms"}}}
        case "policer":
            app = bulk | {"bytes": 400 * MSS}
            link["impairments"] = [{"kind": "policer", "rate": "400kbps", "burst": f"{12 * MSS}B"}]
            tcp["recovery"] = "sack"
            tcp["sack"] = True
    server = app["kind"] == "rr"
    ends = ("receiver", "sender") if server else ("sender", "receiver")
    return Study.build(
        cause,
        topology={
            "nodes": ["sender", "receiver"],
            "links": [
                {
                    "name": "path",
                    "between": ["sender", "receiver"],
                    "rate": "10Mbps",
                    "delay": "50ms",
                    "forward": link,
                }
            ],
        },
        traffic=[
            {"client": ends[0], "server": ends[1], **entry} for entry in ({"name": "flow", "app": app}, *more)
        ],
        tcp={
            "profile": "rfc5681",
            "mss": f"{MSS}B",
            "initial_window": 4,
            "nagle": False,
            "timestamps": True,
            "ack_policy": "every",
            "rto": {"initial": "1s", "min": "1s"},
            **tcp,
        },
        run={"duration": duration},
        probes={"segments_at": "sender"},
    )
