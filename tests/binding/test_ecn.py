"""What ECN is worth to one transfer behind RED."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cwndlab import Study, _core

DURATION_S = 60
SEEDS = 5


def _goodput(ecn: str) -> float:
    """Mean goodput in Mb/s of NewReno over RED 3/9 with 25 packets, 1.5 Mb/s and 200 ms there and back."""
    red: dict[str, Any] = {"kind": "red", "limit": "25pkt", "min_th": 3.0, "max_th": 9.0, "ecn": True}
    study = Study.from_dict(
        {
            "title": "one transfer over RED",
            "topology": {
                "nodes": ["source", "router", "receiver"],
                "links": [
                    {"between": ["source", "router"], "rate": "10Mbps"},
                    {
                        "between": ["router", "receiver"],
                        "rate": "1.5Mbps",
                        "delay": "100ms",
                        "forward": {"queue": red | {"max_p": 0.1, "w_q": 0.002}},
                    },
                ],
            },
            "traffic": [
                {
                    "name": "transfer",
                    "client": "source",
                    "server": "receiver",
                    "app": {"kind": "bulk", "from": "client"},
                }
            ],
            "tcp": {"profile": "rfc5681", "recovery": "new-reno", "ecn": ecn},
            "run": {"duration": f"{DURATION_S}s"},
        }
    )
    scenario = study.plan().cells[0].scenario
    received = 0
    for replicate in range(SEEDS):
        connections = pa.table(_core.run(scenario, 2884, replicate).table("connections"))
        received += connections["bytes_up"][0].as_py()
    return received * 8e-6 / (DURATION_S * SEEDS)


def test_an_echo_that_lasts_through_a_go_back_costs_no_goodput() -> None:
    """By the letter of RFC 3168, 6.1.2 it cost a third: 0.62 Mb/s with ECN, 0.98 without."""
    assert _goodput("rfc3168") > 0.95 * _goodput("off")
