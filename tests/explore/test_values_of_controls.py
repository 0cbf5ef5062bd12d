"""The values that a page's controls offer, and the axes that they become, one by one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cwndlab.api import Study
from cwndlab.apps.explore import controls
from cwndlab.apps.explore.controls import UNKNOWN, Control, Explored, Stop, derive_study, values_around
from dataclass_kinds import changeable


@pytest.mark.parametrize(
    ("value", "around"),
    [
        (True, [False, True]),
        (False, [False, True]),
        (0, [0, 1, 2, 4, 8]),
        (-1, []),
        (1, [1, 2, 5]),
        (3, [1, 2, 3, 6, 15]),
        (100, [20, 50, 100, 200, 500]),
        (1.0, [0.2, 0.5, 1, 2, 5]),
        (0.333, [0.0666, 0.167, 0.333, 0.666, 1.67]),
        (0.0, []),
        (-2.0, []),
        ("10Mbps", ["2Mbps", "5Mbps", "10Mbps", "20Mbps", "50Mbps"]),
        ("1.50 Mbps", ["0.3Mbps", "0.75Mbps", "1.50 Mbps", "3Mbps", "7.5Mbps"]),
        ("3pkt", ["1pkt", "2pkt", "3pkt", "6pkt", "15pkt"]),
        ("1B", ["1B", "2B", "5B"]),
        ("1kB", ["0.2kB", "0.5kB", "1kB", "2kB", "5kB"]),
        ("0s", ["0s", "0.5s", "1s", "2s", "5s", "10s"]),
        ("0ms", ["0s", "0.5s", "1s", "2s", "5s", "10s"]),
        ("0%", []),
        ("codel", []),
        ("10Mbps or so", []),
        (None, []),
        ([1], []),
    ],
)
def test_values_around_one_of_a_study(value: object, around: list[object]) -> None:
    made = values_around(value)
    assert made == around and list(map(type, made)) == list(map(type, around))


@pytest.mark.parametrize(
    ("value", "tidy"),
    [(0, 0), (1234.5, 1230), (12.345, 12.3), (0.0012345, 0.00123), (5.0, 5), (-99.96, -100), (0.9996, 1)],
)
def test_a_value_has_three_digits(value: float, tidy: float) -> None:
    made = controls._tidy(value)
    assert made == tidy and type(made) is type(tidy)


def varied(**section: Any) -> dict[str, Any]:
    controls.vary_short_form(section, ("mine",))
    return section


LOSSES = ["0%", "0.01%", "0.1%", "1%", "2%", "5%"]


def test_each_single_value_of_a_short_form_becomes_a_list_that_begins_with_it() -> None:
    assert varied(rate="10Mbps", rtt=["1ms", "2ms"]) == {
        "rate": ["10Mbps", "2Mbps", "5Mbps", "20Mbps", "50Mbps"],
        "rtt": ["1ms", "2ms"],
        "buffer": [1.0, 0.2, 0.5, 2, 5],
        "queue": ["drop-tail", "codel", "pie", "fq-codel", "dualpi2"],
        "loss": LOSSES,
    }
    made = varied(buffer=2, queue={"kind": "pie", "target": "5ms"}, loss="1%", rtt="40ms")
    assert made["buffer"] == [2, 1, 4, 10]
    assert made["queue"] == [{"kind": "pie", "target": "5ms"}, "drop-tail", "codel", "fq-codel", "dualpi2"]
    assert made["loss"] == ["1%", "0.01%", "0.1%", "2%", "5%"]
    assert made["rtt"] == ["40ms", "8ms", "20ms", "80ms", "200ms"]
    assert varied(queue={"limit": "9pkt"})["queue"][1:] == ["codel", "pie", "fq-codel", "dualpi2"]
    listed = varied(queue=["red"], loss=["1%"], buffer="$b")
    assert (listed["queue"], listed["loss"], listed["buffer"]) == (["red"], ["1%"], "$b")


def test_flows_get_a_list_of_laws_unless_something_else_sets_it() -> None:
    flows = [
        {"start": "1s"},
        {"cc": "bbr1", "name": "web"},
        {"cc": ["reno", "mine"]},
        {"cc": ["reno"]},
        {"cc": "reno", "app": {"kind": "web"}},
        {"cc": "reno", "tcp": {"window_law": "x"}},
        {"cc": "reno", "tcp": {"mss": 536}},
    ]
    assert varied(flows=flows)["flows"] == [
        {"start": "1s", "name": "cubic", "cc": ["cubic", "reno", "dctcp", "prague", "bbr1", "bbr3"]},
        {"name": "web", "cc": ["bbr1", "reno", "cubic", "dctcp", "prague", "bbr3"]},
        {"cc": ["reno", "mine"]},
        {"cc": ["reno", "mine"]},
        {"cc": "reno", "app": {"kind": "web"}},
        {"cc": "reno", "tcp": {"window_law": "x"}},
        {
            "cc": ["reno", "cubic", "dctcp", "prague", "bbr1", "bbr3"],
            "tcp": {"mss": 536},
            "name": "reno",
        },
    ]


@pytest.mark.parametrize(
    ("window", "mss", "segments"),
    [
        ({"segments": 3}, 536, "3"),
        ("rfc3390", 1460, "3"),  # RFC 3390: min(4·MSS, max(2·MSS, 4380 bytes))
        ("rfc3390", 536, "4"),
        ("rfc3390", 1095, "4"),
        ("rfc3390", 4000, "2"),
        ("rfc3390", 2190, "2"),
        ("rfc6928", 1460, "10"),  # RFC 6928: min(10·MSS, max(2·MSS, 14600 bytes))
        ("rfc6928", 536, "10"),
        ("rfc6928", 8960, "2"),
        ("rfc6928", 1600, "9.12"),
    ],
)
def test_an_initial_window_in_segments(window: Any, mss: int, segments: str) -> None:
    assert controls._segments(window, mss) == segments


@pytest.mark.parametrize(
    ("axis", "keys"),
    [
        ({}, []),
        ({"sets": "tcp.cc"}, ["tcp.cc"]),
        (
            {"sets": ["a", "b"], "values": [1, {"name": "x", "set": {"c": 1, "d": 2}}, {"name": "y"}]},
            ["a", "b", "c", "d"],
        ),
    ],
)
def test_the_keys_that_an_axis_sets(axis: dict[str, Any], keys: list[str]) -> None:
    assert controls.targets(axis) == keys


@pytest.mark.parametrize(
    ("value", "quantity"),
    [(True, None), (3, 3.0), (0.5, 0.5), ("10ms", 1e7), ("2kB", 2000.0), ("codel", None), (None, None)],
)
def test_a_value_is_sorted_by_its_quantity(value: object, quantity: float | None) -> None:
    assert controls._quantity(value) == quantity


FULL = """
title = "full"
measure = ["goodput"]
[parameters]
size = 100
law = "reno"
text = "codel"
twice = "= 2 * size"
on = true
[tcp.groups.a]
cc = "$law"
[topology]
nodes = ["s", "r", "c"]
[[topology.links]]
name = "fast"
between = ["s", "r"]
rate = "1Gbps"
delay = "1ms"
[[topology.links]]
name = "neck"
between = ["r", "c"]
rate = "100Mbps"
delay = "5ms"
FORWARD
[[traffic]]
name = "bulk"
client = "s"
server = "c"
app = { kind = "bulk" }
tcp = "a"
[axes.n]
title = "number"
unit = "segments"
values = [4, { name = 1, title = "one" }, 2]
sets = "tcp.groups.a.initial_window"
[run]
duration = "1s"
"""


def full(extra: str = "", more: str = "") -> Explored:
    return derive_study(Study.from_toml(FULL.replace("FORWARD", extra) + more))


def shown(derived: Explored) -> dict[str, tuple[str, list[str], str]]:
    """The group, the titles and the title at the start of each control."""
    return {
        one.name: (one.group, [stop.title for stop in one.stops], one.stops[one.base].title)
        for one in derived.controls
    }


def test_a_full_form_offers_its_axes_and_knobs_of_its_slowest_link_and_of_tcp() -> None:
    forward = '[topology.links.forward]\nrate = "10Mbps"\nqueue = { kind = "codel", limit = "50pkt" }'
    found = full(forward)
    made = shown(found)
    assert made["n"] == ("study", ["one", "2", "4"], "4")
    assert made["rate"] == ("network", ["2Mbps", "5Mbps", "10Mbps", "20Mbps", "50Mbps"], "10Mbps")
    assert made["delay"] == ("network", ["1ms", "2.5ms", "5ms", "10ms", "25ms"], "5ms")
    assert made["loss"] == ("network", ["0%", "0.01%", "0.1%", "1%", "2%", "5%"], "0%")
    assert made["queue"] == ("network", ["codel", "drop-tail", "pie", "fq-codel", "dualpi2"], "codel")
    assert made["buffer"] == ("network", ["10pkt", "25pkt", "50pkt", "100pkt", "250pkt"], "50pkt")
    n = found.controls[0]
    assert (n.title, n.unit, n.ordered, n.has_stop(4), n.has_stop(3)) == (
        "number",
        "segments",
        True,
        True,
        False,
    )
    queue = next(one for one in found.controls if one.name == "queue")
    assert (queue.title, queue.unit, queue.ordered) == ("queue", "", False)
    sets = {
        "rate": "topology.links.neck.forward.rate",
        "delay": "topology.links.neck.delay",
        "loss": "topology.links.neck.forward.loss",
        "buffer": "topology.links.neck.forward.queue.limit",
    }
    assert {name: found.study.raw["axes"][name]["sets"] for name in sets} == sets
    assert found.study.raw["axes"]["queue"]["values"][0] == {
        "name": "drop-tail",
        "set": {"topology.links.neck.forward.queue": {"kind": "drop-tail", "limit": "50pkt"}},
    }


def test_a_link_without_a_limit_or_with_a_loss_has_no_control_for_it() -> None:
    made = shown(full('queue = { kind = "codel" }\nloss = "1%"'))
    assert not {"queue", "buffer", "loss"} & set(made)
    assert made["rate"][2] == "100Mbps"
    assert "loss" not in shown(full('[topology.links.forward]\nloss = "1%"'))
    queue = full('queue = { kind = "codel", limit = "50pkt" }')
    assert queue.study.raw["axes"]["buffer"]["sets"] == "topology.links.neck.queue.limit"


def test_the_other_direction_is_the_reverse() -> None:
    reverse = '[topology.links.reverse]\nrate = "10Mbps"'
    assert full(reverse).study.raw["axes"]["rate"]["sets"] == "topology.links.neck.reverse.rate"


def test_a_link_without_a_name_is_named_by_its_place() -> None:
    text = FULL.replace("FORWARD", "").replace('name = "neck"\n', "")
    made = derive_study(Study.from_toml(text))
    assert made.study.raw["axes"]["rate"]["sets"] == "topology.links.2.rate"
    assert shown(made)["rate"][2] == "100Mbps"


@pytest.mark.parametrize(
    ("ends", "way"), [('[["s", "t"], "r"]', "forward"), ('["r", ["s", "t"]]', "reverse")]
)
def test_a_link_of_several_nodes_has_its_direction(ends: str, way: str) -> None:
    slow = f'[topology.links.{way}]\nrate = "1Mbps"\n'
    text = FULL.replace("FORWARD", "").replace('nodes = ["s",', 'nodes = ["s", "t",')
    text = text.replace('between = ["s", "r"]\nrate = "1Gbps"\ndelay = "1ms"\n', f'between = {ends}\n'
                        f'rate = "1Gbps"\ndelay = "1ms"\n{slow}')  # fmt: skip
    axes = derive_study(Study.from_toml(text)).study.raw["axes"]
    assert axes["rate"]["sets"] == f"topology.links.fast.{way}.rate"
    assert axes["loss"]["sets"] == f"topology.links.fast.{way}.loss"


def test_parameters_with_plain_values_have_a_control() -> None:
    """Not those that are computed, those with words, and those that change nothing."""
    raw = full(more='[[quantities]]\nname = "rate"\nunit = "Mbit/s"\nmetric = "goodput"\n').study.raw["axes"]
    assert raw["size"] == {
        "title": "size",
        "values": [20, 50, 100, 200, 500],
        "sets": "parameters.size",
    }
    assert raw["on"]["values"] == [False, True]
    assert not {"text", "twice", "rate"} & set(raw) and "rate_set" in raw
    assert raw["profile"]["sets"] == "tcp.profile" and raw["iw"]["values"] == [1, 2, 3, 4, 6, 10, 16, 32]
    assert (raw["iw"]["sets"], raw["iw"]["unit"]) == ("tcp.initial_window", "segments")
    assert raw["cc"]["sets"] == "tcp.cc"
    found = full()
    assert "size: no effect at the start" in found.left_out


def test_no_control_is_added_for_a_key_that_an_axis_of_the_study_sets() -> None:
    taken = '[axes.own]\nvalues = [1, 2]\nsets = "tcp.initial_window"\n'
    assert "iw" not in full(more=taken).study.raw["axes"]
    profile = '[tcp]\ncc = "reno"\n'
    assert "cc" not in full(more=profile).study.raw["axes"]


def test_a_value_that_changes_with_the_profile_says_so() -> None:
    study = Study.from_toml(FULL.replace("FORWARD", ""))

    def control(name: str, own: str, group: str = "tcp", value: Any = None) -> Control:
        stops = (Stop(value, own), Stop("bbr1", "BBR"))
        return Control(name, name, "", group, stops, 0, False)

    def title(one: Control) -> str:
        return controls._of_profile(one, study).stops[0].title

    profile = study.base.tcp.profile
    assert title(control("iw", "10")) == f"the profile's (10 in {profile})"
    assert title(control("cc_set", UNKNOWN)) == "the profile's"
    assert title(control("cc", "cubic", value="cubic")) == "cubic"
    assert title(control("rate", "5Mbps")) == "5Mbps"
    assert title(control("cc", "cubic", group="study")) == "cubic"
    assert controls._of_profile(control("iw", "10"), study).stops[1].title == "BBR"
    fixed = Study.from_toml(FULL.replace("FORWARD", "") + "[tcp]\ninitial_window = 4\n")
    assert controls._of_profile(control("iw", "4"), fixed).stops[0].title == "4"


def control(values: list[Any], axes: dict[str, Any], own: str | None = None) -> Control:
    axis = SimpleNamespace(values=values, names=values, title="", unit=None)
    return controls._control("n", cast(Any, axis), axes, "study", own)


def test_stops_that_are_quantities_are_sorted_and_the_studys_own_value_is_among_them() -> None:
    at_start = control([0.5, 0, 2], {"n": 2})
    assert [stop.value for stop in at_start.stops] == [0, 0.5, 2]
    assert (at_start.base, at_start.ordered, at_start.title, at_start.unit) == (2, True, "n", "")
    words = control(["2ms", "off", "1ms"], {"n": "1ms"})
    assert [stop.value for stop in words.stops] == ["2ms", "off", "1ms"]
    assert (words.base, words.ordered) == (2, False)


@pytest.mark.parametrize(
    ("values", "own", "titles", "base"),
    [
        (["4ms", "1ms", "2ms"], "3ms", ["1ms", "2ms", "3ms", "4ms"], 2),
        (["1ms", "2ms", "4ms"], "2ms", ["1ms", "2ms", "2ms", "4ms"], 1),
        (["0s", "2ms"], "1ms", ["0s", "1ms", "2ms"], 1),
        ([1, 2], None, [UNKNOWN, "1", "2"], 0),
        ([1, 2], "many", ["many", "1", "2"], 0),
        (["a", "b"], "3ms", ["3ms", "a", "b"], 0),
    ],
)
def test_a_value_that_the_axis_lacks_is_placed_by_its_size(
    values: list[Any], own: str | None, titles: list[str], base: int
) -> None:
    made = control(values, {}, own)
    assert ([stop.title for stop in made.stops], made.base) == (titles, base)
    assert made.stops[base].value is None


def test_a_setting_has_a_position_for_each_control() -> None:
    found = full()
    assert found.cell(found.base).axes == {"n": 4}
    for state in (found.base[1:], (*found.base, 0)):
        with pytest.raises(ValueError, match=r"is (longer|shorter) than"):
            found.cell(state)


def test_objects_that_are_shared_cannot_be_changed() -> None:
    assert not changeable("apps.explore", "apps.notebook")
