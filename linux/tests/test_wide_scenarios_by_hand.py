"""What each class of drawn scenarios is made of, with every random number at its least or largest value."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from cwndlab_linux.differ import wide_scenario
from cwndlab_linux.differ.random_scenario import Alignment
from cwndlab_linux.differ.wide_scenario import CLASSES, Dice, Draft, WideScenario, draw_wide


class FixedDice(Dice):
    """Every number is the lower or the upper limit, and each choice is given (the first if none is left)."""

    def __init__(self, upper: bool, picks: tuple[int, ...] = ()) -> None:
        self.upper, self.picks = upper, list(picks)

    def draw_between(self, low: float, high: float) -> float:
        return high if self.upper else low

    def count(self, low: int, high: int) -> int:
        return high if self.upper else low

    def one_of(self, *choices: Any) -> Any:
        return choices[self.picks.pop(0) if self.picks else 0]


def draft(dice: Dice, **changes: Any) -> Draft:
    """Over 10 Mb/s and 40 ms, which is 33.3 packets of 1500 bytes."""
    return Draft(dice, 10.0, 40.0, 1.0, **changes)


def built(kind: str, upper: bool, *picks: int) -> Draft:
    made = draft(FixedDice(upper, picks))
    CLASSES[kind](made)
    return made


def bulk(size: int, **keys: Any) -> dict[str, Any]:
    return {"kind": "bulk", "from": "server", "bytes": size, **keys}


@pytest.mark.parametrize(
    ("kind", "upper", "picks", "forward"),
    [
        ("reordering", False, (0,), [{"kind": "jitter", "max": "0.5ms", "keep_order": False}]),
        ("reordering", True, (0,), [{"kind": "jitter", "max": "40ms", "keep_order": False}]),
        ("reordering", False, (1,), [{"kind": "reorder", "p": 0.001, "extra": "0.5ms"}]),
        ("reordering", True, (1,), [{"kind": "reorder", "p": 0.1, "extra": "40ms"}]),
        ("jitter", False, (), [{"kind": "jitter", "max": "0.5ms", "keep_order": True}]),
        ("jitter", True, (), [{"kind": "jitter", "max": "40ms", "keep_order": True}]),
        (
            "route and rate steps",
            True,
            (0,),
            [{"kind": "delay-steps", "at": ["0s", "1s"], "extra": ["0ms", "80ms"]}],
        ),
        (
            "route and rate steps",
            True,
            (1,),
            [{"kind": "delay-steps", "at": ["0s", "1s"], "extra": ["80ms", "0ms"]}],
        ),
        ("bursts", False, (), [{"kind": "aggregate", "hold": "0.5ms"}]),
        ("bursts", True, (), [{"kind": "aggregate", "hold": "8ms"}]),
        ("loss in bursts", False, (), [{"kind": "gilbert-elliott", "p_good_bad": 0.001, "p_bad_good": 0.05}]),
        ("loss in bursts", True, (), [{"kind": "gilbert-elliott", "p_good_bad": 0.02, "p_bad_good": 0.5}]),
        ("policers", False, (), [{"kind": "policer", "rate": "2Mbps", "burst": "5000B"}]),
        ("policers", True, (), [{"kind": "policer", "rate": "9Mbps", "burst": "200000B"}]),
    ],
)
def test_a_class_impairs_the_way_of_the_data(
    kind: str, upper: bool, picks: tuple[int, ...], forward: list[dict[str, Any]]
) -> None:
    found = built(kind, upper, *picks)
    assert (found.forward, found.reverse, found.bottleneck, found.queue, found.tcp) == (
        forward,
        [],
        {},
        {},
        {},
    )


@pytest.mark.parametrize(
    ("kind", "upper", "bottleneck"),
    [
        (
            "route and rate steps",
            False,
            {"rate": {"at": {"0s": "10Mbps", "0.1s": "1Mbps", "1.1s": "10Mbps"}}},
        ),
        ("outages", False, {"loss": {"at": {"0s": "0%", "0.1s": "100%", "0.15s": "0%"}}}),
        ("outages", True, {"loss": {"at": {"0s": "0%", "1s": "100%", "3s": "0%"}}}),
        ("both directions", False, {"reverse-limit": 8}),
        ("both directions", True, {"reverse-limit": 67}),
    ],
)
def test_a_class_changes_the_bottleneck(kind: str, upper: bool, bottleneck: dict[str, Any]) -> None:
    found = built(kind, upper)
    assert (found.bottleneck, found.forward) == (bottleneck, [])


def test_acknowledgments_are_lost_on_their_own_way_and_a_short_path_back_holds_two_packets() -> None:
    assert built("ACK loss", False).reverse == [{"kind": "bernoulli", "p": 0.005}]
    assert built("ACK loss", True).reverse == [{"kind": "bernoulli", "p": 0.3}]
    short = Draft(FixedDice(False), 1.0, 5.0, 1.0)
    CLASSES["both directions"](short)
    assert short.bottleneck == {"reverse-limit": 2}


LEAST, MOST = bulk(250_000), bulk(2_500_000)


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        ("reordering", [LEAST], [MOST]),
        ("jitter", [LEAST], [bulk(1_250_000)] * 2),
        ("outages", [LEAST], [bulk(1_250_000)] * 2),
        ("route and rate steps", [LEAST], [bulk(1_250_000)] * 2),
        ("both directions", [LEAST, {**LEAST, "from": "client"}], [MOST, {**MOST, "from": "client"}]),
        (
            "request-response",
            [{"kind": "rr", "request": "100B", "response": "100B", "transactions": 3}],
            [
                {"kind": "rr", "request": "60000B", "response": "200000B", "transactions": 20}
                | {"think": "300ms"}
            ],
        ),
        (
            "pages",
            [
                {"kind": "web", "protocol": "http/1.1", "object": "2000B", "request": "100B"}
                | {"inline_objects": 1, "pages": 1, "think": "10ms"}
                | {"clock": "syn", "inline_trigger": "whole-primary"}
            ],
            [
                {"kind": "web", "protocol": "http/1.1", "object": "60000B", "request": "1000B"}
                | {"inline_objects": 6, "pages": 5, "think": "1000ms"}
                | {"clock": "syn", "inline_trigger": "whole-primary"}
            ],
        ),
        (
            "on-off",
            [{"kind": "rr", "request": "100B", "response": "50000B", "transactions": 3, "think": "200ms"}],
            [{"kind": "rr", "request": "100B", "response": "500000B", "transactions": 8, "think": "2000ms"}],
        ),
        ("slow readers", [bulk(250_000, read_rate="1Mbps")], [bulk(2_500_000, read_rate="20Mbps")]),
        ("segment sizes", [LEAST], [bulk(1_250_000)] * 2),
        ("bursts", [LEAST], [bulk(1_250_000)] * 2),
        ("ACK loss", [LEAST], [bulk(1_250_000)] * 2),
        ("loss in bursts", [LEAST], [bulk(1_250_000)] * 2),
        ("policers", [LEAST], [bulk(1_250_000)] * 2),
        ("queues", [LEAST], [bulk(833_333)] * 3),
        ("buffers and options", [LEAST], [bulk(1_250_000)] * 2),
    ],
)  # fmt: skip
def test_a_class_has_these_applications(
    kind: str, least: list[dict[str, Any]], most: list[dict[str, Any]]
) -> None:
    for upper, apps in ((False, least), (True, most)):
        flows = built(kind, upper).flows
        assert [app for app, _, _ in flows] == apps
        assert {(law, extra) for _, law, extra in flows} == {("cubic", 0.0)}


def test_many_flows_have_round_trips_of_their_own() -> None:
    assert built("many flows", False).flows == [(bulk(30_000), "cubic", 1)] * 3
    assert built("many flows", True).flows == [(bulk(500_000), "cubic", 150)] * 8
    slow = Draft(FixedDice(True), 0.1, 40.0, 1.0)
    CLASSES["many flows"](slow)
    assert slow.flows[0][0]["bytes"] == 60_000, "on a slow path, twice the least size"
    fast = Draft(FixedDice(True), 1000.0, 40.0, 1.0)
    CLASSES["many flows"](fast)
    assert fast.flows[0][0]["bytes"] == 4_000_000


@pytest.mark.parametrize(("rate", "least", "most"), [(0.1, 30_000, 60_000), (1000.0, 400_000, 4_000_000)])
def test_bulk_data_lasts_two_seconds_within_limits(rate: float, least: int, most: int) -> None:
    for upper, size in ((False, least), (True, most)):
        made = Draft(FixedDice(upper), rate, 40.0, 1.0)
        made.add_bulk()
        assert made.flows[0][0]["bytes"] == size


def test_a_flow_with_dctcp_makes_the_path_mark() -> None:
    for pick, law in enumerate(("cubic", "cubic", "cubic", "reno", "bbr1", "dctcp")):
        made = draft(FixedDice(False, (pick,)))
        made.add({"kind": "bulk"}, extra_ms=3.0)
        assert made.flows == [({"kind": "bulk"}, law, 3.0)]
        assert made.ecn is (law == "dctcp")
    marked = draft(FixedDice(False, (5, 0)))
    marked.add({}), marked.add({})
    assert marked.ecn, "also if a later flow does not need it"


@pytest.mark.parametrize(
    ("pick", "queue"),
    [
        (0, {"kind": "red", "limit": "66pkt", "min_th": "8pkt", "max_th": "33pkt"}),
        (1, {"kind": "drop-on-full", "limit": "66pkt", "victim": "front"}),
        (2, {"kind": "codel", "limit": "66pkt"}),
        (3, {"kind": "pie", "limit": "66pkt"}),
        (4, {"kind": "fq-pie", "flows": 65_536}),
        (5, {"kind": "fq-codel", "flows": 65_536, "ecn": False}),
        (6, {"kind": "cake", "rate": "9Mbps"}),
        (7, {"kind": "tbf", "rate": "8Mbps", "burst": "10000B", "limit": "66pkt"}),
        (8, {"kind": "dualpi2", "form": "linux", "ecn": False}),
    ],
)
def test_a_queue_is_sized_by_the_path_and_marks_if_drawn(pick: int, queue: dict[str, Any]) -> None:
    found = built("queues", False, pick)
    assert (found.queue, found.ecn) == (queue, False)
    marking = built("queues", True, pick).queue
    able = queue["kind"] not in ("drop-on-full", "cake", "tbf")
    assert marking == ({**queue, "ecn": True} if able else queue)


def test_a_queue_of_a_short_path_has_eight_packets() -> None:
    made = Draft(FixedDice(False, (0,)), 1.0, 5.0, 1.0)
    CLASSES["queues"](made)
    assert made.queue == {"kind": "red", "limit": "8pkt", "min_th": "2pkt", "max_th": "8pkt"}


def fixed(size: int) -> dict[str, Any]:
    return {"linux": {"initial_bytes": size, "most_bytes": size}}


@pytest.mark.parametrize(
    ("picks", "tcp", "sysctls"),
    [
        ((0, 0), {"receive_tuning": fixed(8192)}, {"tcp_rmem": "4096 8192 8192"}),
        ((0, 1), {"receive_tuning": fixed(16384)}, {"tcp_rmem": "4096 16384 16384"}),
        ((0, 2), {"receive_tuning": fixed(65536)}, {"tcp_rmem": "4096 65536 65536"}),
        ((0, 3), {"receive_tuning": fixed(262144)}, {"tcp_rmem": "4096 262144 262144"}),
        ((1, 0), {"send_tuning": {"linux": {"most_bytes": 65536}}}, {"tcp_wmem": "4096 16384 65536"}),
        ((1, 1), {"send_tuning": {"linux": {"most_bytes": 131072}}}, {"tcp_wmem": "4096 16384 131072"}),
        ((1, 2), {"send_tuning": {"linux": {"most_bytes": 262144}}}, {"tcp_wmem": "4096 16384 262144"}),
        ((1, 3), {"send_tuning": {"linux": {"most_bytes": 524288}}}, {"tcp_wmem": "4096 16384 524288"}),
        ((2,), {"sack": False}, {"tcp_sack": "0"}),
        ((3,), {"window_scale": False}, {"tcp_window_scaling": "0"}),
        ((4,), {"timestamps": False}, {"tcp_timestamps": "0"}),
    ],
)  # fmt: skip
def test_an_option_is_set_on_both_sides(
    picks: tuple[int, ...], tcp: dict[str, Any], sysctls: dict[str, str]
) -> None:
    found = built("buffers and options", False, *picks)
    assert (found.tcp, found.sysctls) == (tcp, sysctls)


def test_segments_of_other_sizes_make_other_packets() -> None:
    for pick, mss in enumerate((536, 960, 1200, 1400, 4312, 8960)):
        found = built("segment sizes", False, pick)
        assert (found.tcp, found.packet_bytes) == ({"mss": f"{mss}B"}, mss + 40)
    assert found.bdp_packets() == pytest.approx(50_000 / 9000)
    assert draft(FixedDice(False)).bdp_packets() == pytest.approx(50_000 / 1500)


def test_numbers_are_drawn_log_uniformly_with_two_digits_and_counts_with_both_limits() -> None:
    dice = Dice(1, 2)
    assert [dice.draw_between(value, value) for value in (1234.0, 0.01234, 9.96, 5.0)] == [1200, 0.012, 10, 5]
    drawn = sorted(dice.draw_between(1, 100) for _ in range(1000))
    assert 1 <= drawn[0] < 1.1 and 95 < drawn[-1] <= 100 and 8 < drawn[500] < 12
    assert {dice.count(2, 4) for _ in range(50)} == {2, 3, 4}
    assert {dice.one_of("a", "b", "c") for _ in range(50)} == {"a", "b", "c"}
    assert Dice(1, 2).count(0, 10**9) != Dice(1, 3).count(0, 10**9) != Dice(2, 3).count(0, 10**9)


def test_a_path_is_drawn_between_its_limits_and_classes_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    for upper, path in ((False, "1 Mb/s, 5 ms, 0.25 BDP"), (True, "100 Mb/s, 200 ms, 4 BDP")):
        monkeypatch.setattr(wide_scenario, "Dice", lambda seed, index, upper=upper: FixedDice(upper))
        for index in (0, 1, len(CLASSES)):
            made = draw_wide(7, index)
            assert made.kind == [*CLASSES][index % len(CLASSES)]
            assert str(made).startswith(f"{made.kind}: {path}: cubic bulk ")
        assert made.seed == (1 << 31 if upper else 1)


def finished(made: Draft, trains: bool = False) -> WideScenario:
    return wide_scenario._finish("a class", made, trains=trains)


PLAIN = {"kind": "drop-tail", "limit": "10000pkt"}
ACCESS = {
    "name": "access",
    "between": ["server", "router"],
    "rate": "1Gbps",
    "delay": "0ms",
    "queue": PLAIN,
    "forward": {"impairments": [{"kind": "jitter", "max": "0.1ms", "keep_order": True}]},
}


def test_a_scenario_has_the_path_of_its_draft() -> None:
    made = draft(FixedDice(False))
    made.add_bulk(2)
    tables = finished(made).tables
    assert tables["title"] == "a class: 10 Mb/s, 40 ms, 1 BDP: cubic bulk 125000 + cubic bulk 125000"
    assert tables["topology"] == {
        "nodes": ["server", "router", "client"],
        "links": [
            ACCESS,
            {
                "name": "bottleneck",
                "between": ["router", "client"],
                "rate": "10Mbps",
                "delay": "20ms",
                "forward": {"queue": {"kind": "drop-tail", "limit": "33pkt"}, "impairments": []},
                "reverse": {"queue": PLAIN, "impairments": []},
            },
        ],
    }
    flow = {"client": "client", "server": "server", "tcp": "cubic", "app": bulk(125_000), "start": "0ms"}
    assert tables["traffic"] == [{"name": "flow-0", **flow}, {"name": "flow-1", **flow}]
    assert tables["run"] == {"duration": "30s", "seed": 1, "stack": "linux-laws"}
    assert tables["tcp"]["profile"] == "linux-6" and tables["tcp"]["groups"] == {"cubic": {"cc": "cubic"}}
    assert tables["probes"] == {"segments_at": "server"}
    late = draft(FixedDice(True))
    late.add_bulk(2)
    assert [one["start"] for one in finished(late).tables["traffic"]] == ["0ms", "1000ms"]


def test_a_scenario_has_the_special_features_of_its_draft() -> None:
    made = draft(FixedDice(False), queue={"kind": "codel"}, ecn=True, tcp={"sack": False})
    made.reverse.append({"kind": "bernoulli", "p": 0.1})
    made.bottleneck |= {"reverse-limit": 8, "loss": "1%", "rate": "9Mbps"}
    made.add({"kind": "rr", "response": "3B"}, extra_ms=30.0)
    made.add({"kind": "web", "object": "4B"})
    made.flows[1] = (made.flows[1][0], "reno", 0.0)
    scenario = finished(made)
    tables = scenario.tables
    assert tables["title"] == (
        "a class: 10 Mb/s, 40 ms, 1 BDP: cubic rr 3B + reno web 4B (kind bernoulli, p 0.1; kind codel; "
        "sack False; reverse-limit 8, loss 1%, rate 9Mbps)"
    )
    _, bottleneck, client = tables["topology"]["links"]
    assert bottleneck["between"] == ["router", "far"] and bottleneck["rate"] == "9Mbps"
    assert bottleneck["forward"] == {"queue": {"kind": "codel"}, "impairments": [], "loss": "1%"}
    back = {"queue": {"kind": "drop-tail", "limit": "8pkt"}, "impairments": [{"kind": "bernoulli", "p": 0.1}]}
    assert bottleneck["reverse"] == back and "reverse-limit" not in bottleneck and "loss" not in bottleneck
    assert client == {
        "name": "to-client-0",
        "between": ["far", "client-0"],
        "rate": "1Gbps",
        "delay": "15ms",
        "queue": PLAIN,
    }
    assert tables["topology"]["nodes"] == ["server", "router", "far", "client-0"]
    assert [one["client"] for one in tables["traffic"]] == ["client-0", "client"]
    groups = {cc: {"cc": cc, "ecn": "rfc3168"} for cc in ("cubic", "reno")}
    assert (tables["tcp"]["groups"], tables["tcp"]["sack"], scenario.laws) == (
        groups,
        False,
        ["cubic", "reno"],
    )
    assert "trains" not in tables["tcp"] and finished(made, trains=True).tables["tcp"]["trains"] == "linux"
    short = Draft(FixedDice(False), 1.0, 5.0, 0.25)
    short.add_bulk()
    assert finished(short).tables["topology"]["links"][1]["forward"]["queue"]["limit"] == "2pkt"


def test_an_alignment_names_flows_and_sets_their_starts_and_the_clock() -> None:
    made = draft(FixedDice(False))
    made.add_bulk(2)
    scenario = finished(made)
    aligned = tomllib.loads(scenario.to_toml(Alignment((5, 77), 123, (0, 4))))
    assert [(one["name"], one["start"]) for one in aligned["traffic"]] == [
        ("flow-0", "5ns"),
        ("flow-1-4", "77ns"),
    ]
    assert aligned["tcp"]["rto"] == {"timer_hz": 1000, "tick_phase": "123ns"}
    assert tomllib.loads(scenario.to_toml()) == scenario.tables and "rto" not in scenario.tables["tcp"]


def test_simpler_scenarios_lack_a_flow_an_impairment_a_queue_or_half_of_the_data() -> None:
    made = draft(FixedDice(False, (0, 3)), queue={"kind": "codel"})
    made.forward.append({"kind": "aggregate", "hold": "1ms"})
    made.reverse += [{"kind": "bernoulli", "p": 0.1}, {"kind": "bernoulli", "p": 0.2}]
    made.add({"kind": "rr", "transactions": 5})
    made.add({"kind": "web", "pages": 2, "inline_objects": 1})
    scenario = finished(made)
    found = []
    for one in scenario.simplify():
        bottleneck = one.tables["topology"]["links"][1]
        found.append(
            (
                one.laws,
                [*one.tables["tcp"]["groups"]],
                len(bottleneck["forward"]["impairments"]),
                [impairment["p"] for impairment in bottleneck["reverse"]["impairments"]],
                bottleneck["forward"]["queue"],
                [
                    entry["app"].get("transactions", entry["app"].get("pages"))
                    for entry in one.tables["traffic"]
                ],
            )
        )
        assert (one.kind, one.sysctls) == ("a class", {})
    both, codel = ["cubic", "reno"], {"kind": "codel"}
    assert found == [
        (["reno"], ["reno"], 1, [0.1, 0.2], codel, [2]),
        (["cubic"], ["cubic"], 1, [0.1, 0.2], codel, [5]),
        (both, both, 0, [0.1, 0.2], codel, [5, 2]),
        (both, both, 1, [0.2], codel, [5, 2]),
        (both, both, 1, [0.1], codel, [5, 2]),
        (both, both, 1, [0.1, 0.2], {"kind": "drop-tail", "limit": "100pkt"}, [5, 2]),
        (both, both, 1, [0.1, 0.2], codel, [2, 2]),
        (both, both, 1, [0.1, 0.2], codel, [5, 1]),
    ]
    alone = draft(FixedDice(False))
    alone.add(bulk(1))
    assert list(finished(alone).simplify()) == []
