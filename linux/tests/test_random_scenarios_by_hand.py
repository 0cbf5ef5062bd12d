"""Drawn scenarios of one or two flows: their studies, their limits, and simpler ones, by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cwndlab_linux.differ import random_scenario
from cwndlab_linux.differ.random_scenario import (
    Alignment,
    Scenario,
    Transfer,
    draw,
    host_knobs,
    law_groups,
)

PLAIN = Scenario(10.0, 40.0, 1.0, "drop-tail", False, 0.0, ((Transfer(0, 40_000, "cubic"),),), 7)
TWO = ((Transfer(5, 10_000, "cubic"), Transfer(900, 30_000, "cubic")), (Transfer(100, 70_000, "reno"),))


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [(1234.0, 2, 1200.0), (1250.1, 2, 1300.0), (0.01234, 2, 0.012), (9.96, 2, 10.0), (87.0, 1, 90.0)],
)
def test_numbers_are_rounded_to_significant_digits(value: float, digits: int, rounded: float) -> None:
    assert random_scenario._rounded(value, digits) == pytest.approx(rounded)


@pytest.mark.parametrize(
    ("rate", "rtt", "bdp", "packets"),
    [(10.0, 40.0, 1.0, 33), (10.0, 40.0, 4.0, 133), (1.0, 5.0, 0.1, 2), (1.0, 30.0, 1.0, 2)],
)
def test_a_buffer_is_in_packets_of_the_bdp_and_holds_two(
    rate: float, rtt: float, bdp: float, packets: int
) -> None:
    assert replace(PLAIN, rate_mbps=rate, rtt_ms=rtt, buffer_bdp=bdp).buffer_packets == packets


def test_a_scenario_is_described_by_its_path_and_the_mean_sizes_of_its_flows() -> None:
    assert str(PLAIN) == "10 Mb/s, 40 ms, 1 BDP drop-tail: cubic 1 × 40 kB"
    other = replace(PLAIN, flows=TWO, queue="codel", ecn=True, loss=0.01)
    assert str(other) == "10 Mb/s, 40 ms, 1 BDP codel ECN, loss 1 %: cubic 2 × 20 kB + reno 1 × 70 kB"
    assert (other.kind, other.sysctls, other.laws) == ("bottleneck", {}, ["cubic", "reno", "cubic"])
    assert [one.start_ms for one in other.transfers] == [5, 100, 900]


def test_the_study_of_a_scenario_has_its_transfers_in_the_order_of_their_starts() -> None:
    found = replace(PLAIN, flows=TWO).study()
    assert [(one["name"], one["start"], one["tcp"], one["app"]["bytes"]) for one in found["traffic"]] == [
        ("transfer-0", "5ms", "cubic", 10_000),
        ("transfer-1", "100ms", "reno", 70_000),
        ("transfer-2", "900ms", "cubic", 30_000),
    ]
    first = found["traffic"][0]
    assert (first["client"], first["server"]) == ("client", "server")
    assert first["app"] == {"kind": "bulk", "from": "server", "bytes": 10_000}
    assert found["run"] == {"duration": "30s", "seed": 7, "stack": "linux-laws"}
    assert found["probes"] == {"segments_at": "server"} and found["tcp"]["profile"] == "linux-6"
    assert found["topology"]["nodes"] == ["server", "router", "client"]


def test_the_links_of_a_scenario_are_a_fast_one_with_jitter_and_the_bottleneck() -> None:
    plain = {"kind": "drop-tail", "limit": "10000pkt"}
    access, bottleneck = PLAIN.study()["topology"]["links"]
    assert access == {
        "name": "access",
        "between": ["server", "router"],
        "rate": "1Gbps",
        "delay": "0ms",
        "queue": plain,
        "forward": {"impairments": [{"kind": "jitter", "max": "0.1ms", "keep_order": True}]},
    }
    assert bottleneck == {
        "name": "bottleneck",
        "between": ["router", "client"],
        "rate": "10Mbps",
        "delay": "20ms",
        "forward": {"queue": {"kind": "drop-tail", "limit": "33pkt"}, "impairments": []},
        "reverse": {"queue": plain},
    }


@pytest.mark.parametrize(
    ("queue", "ecn", "keys"),
    [
        ("drop-tail", True, {}),
        ("codel", False, {}),
        ("codel", True, {"ecn": True}),
        ("pie", True, {"ecn": True}),
        ("fq-codel", False, {"flows": 65_536}),
        ("fq-codel", True, {"flows": 65_536, "ecn": True}),
    ],
)
def test_a_queue_marks_and_has_so_many_flows_that_none_collide(
    queue: str, ecn: bool, keys: dict[str, Any]
) -> None:
    made = replace(PLAIN, queue=queue, ecn=ecn, loss=0.01)
    forward = made.study()["topology"]["links"][1]["forward"]
    assert forward["queue"] == {"kind": queue, "limit": "33pkt", **keys}
    assert forward["impairments"] == [{"kind": "bernoulli", "p": 0.01}]


def test_a_simple_receiver_has_fixed_buffers_and_acknowledges_each_segment() -> None:
    knobs = replace(PLAIN, simple_receiver=True).study()["tcp"]
    assert knobs["receive_tuning"] == {"linux": {"initial_bytes": 6_291_456, "most_bytes": 6_291_456}}
    assert (knobs["ack_policy"], knobs["nagle"]) == ("every", False)
    assert {"ack_policy", "nagle", "receive_tuning"}.isdisjoint(PLAIN.study()["tcp"])


def test_hosts_behave_like_the_kernels() -> None:
    assert host_knobs(trains=False) == {
        "send_tuning": {"linux": {"most_bytes": 4_194_304}},
        "withheld_ack_slack": "1000ns",
    }
    assert host_knobs(trains=True)["trains"] == "linux"
    laws = ["cubic", "dctcp", "bbr1", "cubic"]
    assert law_groups(laws, ecn=False, trains=False) == {
        "cubic": {"cc": "cubic"},
        "dctcp": {"cc": "dctcp", "handshake": {"ecn_capable": True}},
        "bbr1": {"cc": "bbr1", "max_train_segments": 1},
    }
    assert law_groups(laws, ecn=True, trains=True) == {
        "cubic": {"cc": "cubic", "ecn": "rfc3168"},
        "dctcp": {"cc": "dctcp", "handshake": {"ecn_capable": True}},
        "bbr1": {"cc": "bbr1", "ecn": "rfc3168"},
    }
    marking = replace(PLAIN, ecn=True, trains=True).study()["tcp"]
    assert (marking["groups"], marking["trains"]) == ({"cubic": {"cc": "cubic", "ecn": "rfc3168"}}, "linux")


def test_an_alignment_replaces_starts_and_names() -> None:
    found = replace(PLAIN, flows=TWO).study(Alignment((1, 22, 333), 9, (0, 4, 0)))
    assert [(one["name"], one["start"]) for one in found["traffic"]] == [
        ("transfer-0", "1ns"),
        ("transfer-1-4", "22ns"),
        ("transfer-2", "333ns"),
    ]
    assert found["tcp"]["rto"] == {"timer_hz": 1000, "tick_phase": "9ns"}
    assert "rto" not in PLAIN.study()["tcp"]


def test_simpler_scenarios_come_in_order_the_largest_steps_first() -> None:
    made = Scenario(12.0, 43.0, 1.5, "pie", True, 0.01, TWO, 7)
    (a, b), (c,) = TWO
    path = [(one.loss, one.ecn, one.queue) for one in made.simplify()]
    assert path[6:9] == [(0.0, True, "pie"), (0.01, False, "pie"), (0.01, True, "drop-tail")]
    steps = list(made.simplify())
    assert [one.flows for one in steps[:2]] == [((a, b),), ((c,),)]
    halves = [(a,), (b,), (a,), (b,)]
    assert [one.flows for one in steps[2:6]] == [(half, (c,)) for half in halves]
    assert [[t.start_ms for t in flow] for flow in steps[9].flows] == [[0, 895], [95]]
    smaller = [[t.bytes for flow in one.flows for t in flow] for one in steps[10:13]]
    assert smaller == [[10_000, 22_000, 70_000], [10_000, 30_000, 35_000], [10_000, 30_000, 52_000]]
    assert [(one.rate_mbps, one.rtt_ms, one.buffer_bdp) for one in steps[13:]] == [
        (10.0, 43.0, 1.5),
        (12.0, 40.0, 1.5),
        (12.0, 43.0, 2.0),
    ]


@pytest.mark.parametrize(
    ("size", "sizes"),
    [
        (80_000, [20_000, 40_000, 60_000]),
        (79_999, [39_000, 59_000]),
        (40_000, [20_000, 30_000]),
        (30_000, [22_000]),
        (26_666, []),
    ],
)
def test_data_is_made_less_down_to_twenty_kilobytes(size: int, sizes: list[int]) -> None:
    steps = list(replace(PLAIN, flows=((Transfer(0, size, "cubic"),),)).simplify())
    assert [one.flows[0][0].bytes for one in steps] == pytest.approx(sizes, rel=0.03)


def test_what_is_simple_stays_as_it_is() -> None:
    small = replace(PLAIN, flows=((Transfer(0, 20_000, "cubic"),),))
    assert list(small.simplify()) == []
    assert list(replace(small, ecn=True).simplify()) == [small]
    assert list(replace(small, ecn=True, flows=((Transfer(0, 20_000, "dctcp"),),)).simplify()) == []
    (third,) = replace(small, flows=((Transfer(3, 20_000, "cubic"),),)).simplify()
    assert third == small
    three = tuple(Transfer(at, 20_000, "reno") for at in (0, 1, 2))
    parts = [one.flows[0] for one in replace(small, flows=(three,)).simplify()]
    assert parts == [three[:1], three[1:], three[:2], three[1:]]


class Fixed:
    """A source in which every number is its lower or upper limit, and each choice the first or last."""

    def __init__(self, upper: bool, coin: int = 1) -> None:
        self.upper, self.coin = upper, coin

    def uniform(self, low: float, high: float) -> float:
        return high if self.upper else low

    def integers(self, low: int, high: int | None = None) -> int:
        if high is None:
            assert low == 2
            return self.coin
        return high - 1 if self.upper else low

    def choice(self, choices: Any) -> Any:
        return choices[-1 if self.upper else 0]

    def normal(self, mean: float, spread: float, count: int) -> Any:
        return mean + spread * np.linspace(-4, 4, count)


def drawn(monkeypatch: pytest.MonkeyPatch, upper: bool, coin: int) -> Scenario:
    seeds: list[list[int]] = []

    def source(seed: list[int]) -> Fixed:
        seeds.append(seed)
        return Fixed(upper, coin)

    monkeypatch.setattr(np.random, "default_rng", source)
    made = draw(3, 17, simple_receiver=upper, trains=upper)
    assert seeds == [[3, 17]]
    return made


def test_the_least_numbers_make_the_smallest_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 1 Mb/s, three seconds are 375 kB."""
    assert drawn(monkeypatch, False, 1) == Scenario(
        1.0, 5.0, 0.1, "drop-tail", True, 0.0, ((Transfer(0, 20_000, "cubic"),),), 1
    )
    web = drawn(monkeypatch, False, 0)
    assert web.ecn is False and (web.simple_receiver, web.trains) == (False, False)
    # Sizes are log-normal around 30 kB, from four deviations below to four above.
    high = int(random_scenario._rounded(375_000.0, 2))
    assert web.flows == (
        (Transfer(0, 1000, "cubic"), Transfer(0, 30_000, "cubic"), Transfer(0, high, "cubic")),
    )


def test_the_largest_numbers_make_the_largest_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    bulk = drawn(monkeypatch, True, 1)
    flows = ((Transfer(0, 5_000_000, "dctcp"),), (Transfer(2999, 5_000_000, "dctcp"),))
    assert bulk == Scenario(
        200.0, 200.0, 4.0, "pie", True, 0.01, flows, (1 << 31) - 1, simple_receiver=True, trains=True
    )
    web = drawn(monkeypatch, True, 0)
    assert web.ecn, "for DCTCP"
    assert [one.start_ms for one in web.flows[0]] == [0] + [3000] * 7
    assert [one.start_ms for one in web.flows[1]] == [2999] + [3000] * 7
    expected = [
        min(max(1000.0, 30_000 * math.exp(1.2 * step)), 5e6) for step in np.linspace(-4, 4, 8).tolist()
    ]
    assert [one.bytes for one in web.flows[0]] == pytest.approx(expected, rel=0.05)


def test_a_slow_path_has_at_least_twice_the_least_data() -> None:
    (bulk,) = random_scenario._flow(Fixed(True), 0.01, "reno", first=True)  # type: ignore[arg-type]
    assert bulk == Transfer(0, 40_000, "reno")


@pytest.mark.parametrize(
    ("first", "upper", "begins"), [(True, True, 0), (False, False, 0), (False, True, 2999)]
)
def test_the_first_flow_begins_at_zero_and_another_within_three_seconds(
    first: bool, upper: bool, begins: int
) -> None:
    (bulk,) = random_scenario._flow(Fixed(upper), 10.0, "reno", first=first)  # type: ignore[arg-type]
    assert bulk.start_ms == begins
