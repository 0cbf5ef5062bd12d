"""A small scenario: a 1.5 Mb/s bottleneck with 20 packets of buffer, one client that sends 300 kB."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from cwndlab import _core

Scenario = dict[str, Any]


def _link(name: str, ends: tuple[int, int], rate_bps: int, delay_ms: int, queue: dict[str, Any]) -> Scenario:
    return {
        "name": name,
        "from": ends[0],
        "to": ends[1],
        "rate_bps": rate_bps,
        "delay_ns": delay_ms * 1_000_000,
        "queue": queue,
    }


@pytest.fixture
def scenario() -> Callable[..., Scenario]:
    """The scenario for a profile, with overrides of its TCP knobs."""

    def make(profile: str = "rfc5681", **knobs: Any) -> Scenario:
        alternatives = json.loads(_core.tcp_choices(profile))["alternatives"]
        words = {
            key: alternatives[key][knobs[key]] for key in alternatives if isinstance(knobs.get(key), str)
        }
        spelt = {key: {knobs[key]: inside} for key, inside in words.items() if inside is not None}
        infinite = {"kind": "infinite"}
        buffer = {"kind": "drop-tail", "limit": 20, "unit": "packets", "counts_in_service": True}
        return copy.deepcopy(
            {
                "duration_ns": 60_000_000_000,
                "nodes": ["source", "router", "receiver"],
                "links": [
                    _link("source>router", (0, 1), 100_000_000, 1, infinite),
                    _link("router>receiver", (1, 2), 1_500_000, 40, buffer),
                    _link("receiver>router", (2, 1), 1_500_000, 40, infinite),
                    _link("router>source", (1, 0), 100_000_000, 1, infinite),
                ],
                "tcp": [{**json.loads(_core.tcp_profile(profile)), **knobs, **spelt}],
                "traffic": [
                    {
                        "name": "transfer",
                        "client": 0,
                        "server": 2,
                        "tcp_client": 0,
                        "tcp_server": 0,
                        "start_ns": 0,
                        "app": {"kind": "bulk", "bytes": 300_000, "from": "client"},
                    }
                ],
                "probes": {
                    "segments_at": 0,
                    "connections": True,
                    "cwnd": True,
                    "queues": [1],
                    "queue_interval_ns": 100_000_000,
                },
            }
        )

    return make
