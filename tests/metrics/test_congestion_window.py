"""The largest window: of the ends that send, of one traffic entry, in segments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from cwndlab import metrics
from cwndlab.api import Study
from cwndlab.apps.evaluate import pack
from cwndlab.records.run_view import WholeRun
from cwndlab.records.window import RunView

S = 10**9


class Run:
    """A run of 10 s. Of "flows", one connection's server sends and the other's client; "other" has one."""

    scenario: Mapping[str, Any] = {"duration_ns": 10 * S}

    def columns(self, table: str) -> Mapping[str, Any]:
        connections = {
            "connection": [0, 1, 2],
            "traffic": [0, 0, 1],
            "bytes_up": [0, 9, 0],
            "bytes_down": [9, 0, 9],
        }
        rows = [(0, False, 3), (0, True, 99), (1, True, 7.5), (1, False, 50), (2, False, 20)]
        cwnd = {
            "time_ns": [1, 2, 3, 4, 5],
            "connection": [c for c, _, _ in rows],
            "from_client": [client for _, client, _ in rows],
            "cwnd_bytes": [int(segments * 1448) for _, _, segments in rows],
        }
        return {name: np.array(v) for name, v in {"connections": connections, "cwnd": cwnd}[table].items()}

    def traffic(self, name: str | None = None) -> list[int]:
        return {None: [0, 1], "flows": [0], "other": [1], "none": []}[name]


def largest(traffic: str, **options: Any) -> float:
    run = RunView(cast(WholeRun, Run()), 0, 10 * S)
    return float(metrics.get("largest_window").measure(run, traffic=traffic, **options))


def test_the_largest_window_is_of_the_ends_that_send_in_segments() -> None:
    assert largest("flows") == 7.5
    assert largest("other", segment_bytes=1000) == 20 * 1.448
    assert math.isnan(largest("none"))


def test_a_sender_that_may_grow_without_using_its_window_breaks_the_cap_of_the_draft() -> None:
    study = pack.load("rfc9743").studies["rate-limited"].set({"subject": "cubic"})

    def window(of: Study) -> float:
        run = of.run(replicates=1, threads=1)
        return run.results.estimate(run.results.cells[0].id, "window").value

    assert window(study) <= 20 < window(study.set({"tcp.grow_only_if_cwnd_limited": False}))
