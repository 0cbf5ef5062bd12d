"""The line below the finding names every condition that differs from the defaults."""

from __future__ import annotations

import tomllib

import pytest

from cwndlab.apps.headline.conditions import network_words

FLOW = "cubic (mss 536, sack off, with outages)"


def words(text: str) -> tuple[str, ...]:
    return network_words(tomllib.loads(text))


def test_each_value_that_differs_from_the_defaults_is_named() -> None:
    assert words(
        """
        [dumbbell]
        rate = "20Mbps"
        rtt = "40ms"
        buffer = 3
        loss = "1%"
        jitter = "10ms"
        flows = [{ cc = "cubic", tcp = { mss = 536, initial_window = 4 } }, { cc = "bbr1", rtt = "80ms" }]
        [tcp]
        profile = "rfc5681"
        """
    ) == (
        "20 Mbps, 40 ms, drop-tail, loss 1%, jitter 10 ms, buffer 3 BDP",
        "cubic (mss 536, initial window 4) and bbr1 (rtt 80 ms)",
        "profile rfc5681",
    )


def test_a_queue_that_an_axis_sets_is_not_called_the_one_that_is_written() -> None:
    for key in ("topology.links.bottleneck.forward.queue", "dumbbell.queue"):
        (network, *_) = words(
            f"""
            [dumbbell]
            rate = "1Gbps"
            rtt = "0.2ms"
            queue = {{ kind = "red", min_th = "20pkt" }}
            flows = [{{ cc = "cubic" }}]
            [axes.law]
            values = [{{ name = "plain", set = {{ "{key}" = "drop-tail" }} }}]
            """
        )
        assert network == "1 Gbps, 0.2 ms, queue by law"


def test_traces_and_tables_are_written_out_and_axes_are_left_to_the_tables() -> None:
    assert words(
        """
        [parking_lot]
        hops = 2
        rate = { trace = "lte.down" }
        rtt = ["20ms", "40ms"]
        queue = { kind = "codel", target = "5ms" }
        flows = [{ name = "web", app = { kind = "web", object = "30kB" } }]
        cross = [{ cc = "cubic", count = 2 }]
        """
    ) == ("2 bottlenecks, trace lte.down, codel (target 5 ms)", "web (web) and 2 × cubic at each bottleneck")


def test_a_full_form_lists_its_links() -> None:
    (network, *rest) = words(
        """
        [topology]
        nodes = ["a", "b"]
        [[topology.links]]
        name = "neck"
        rate = "10Mbps"
        delay = "{delay}ms"
        forward = { queue = "codel", impairments = [{ kind = "policer", rate = "5Mbps" }] }
        [[traffic]]
        name = "bulk"
        [tcp]
        profile = "linux-6"
        initial_window = "$iw"
        """
    )
    assert network == "neck: 10 Mbps, forward queue codel, forward policer (rate 5 Mbps)"
    assert rest == ["bulk", "profile linux-6"]


def test_of_many_links_those_with_a_queue_are_named_if_they_are_few() -> None:
    names = ["a", "b", "c", "d", "e"]

    def network(queues: int) -> str:
        links = [{"name": name, "rate": "1Gbps"} for name in names]
        for link in links[:queues]:
            link |= {"forward": {"queue": "red"}}
        return network_words({"topology": {"rtt": "40ms", "links": links}})[0]

    assert network(0) == network(4) == "5 links"
    assert network(1) == "a: 1 Gbps, forward queue red, 4 other links, RTT 40 ms"


def test_the_congestion_control_and_the_stack_of_a_flow_with_a_name_are_named() -> None:
    (_, flows) = words(
        """
        [dumbbell]
        rate = "50Mbps"
        flows = [
            { name = "flow", stack = "noq", cc = "cubic", tcp = { stream_window = "64MB" } },
            { name = "old", cc = "reno" },
            { name = "plain", cc = "cubic" },
            { name = "tested", cc = "$law" },
            { name = "both", cc = ["reno", "bbr1"] },
        ]
        """
    )
    assert flows == "flow (noq cubic, stream window 64 MB), old (reno), plain, tested and both"


def test_a_parameter_is_written_as_its_value_and_left_to_the_tables_where_it_varies() -> None:
    text = """
        [parameters]
        late = "4s"
        speed = 20
        law = ["reno", "cubic"]
        n = 2
        nagle = true
        [dumbbell]
        rate = "{speed}Mbps"
        rtt = "{n}ms"
        buffer = "$n"
        loss = "$n"
        flows = [
            { name = "a", start = "$late", count = "$n", tcp = { nagle = "$nagle", mss = "= 100 * n" } },
            { name = "b", cc = "$law", bytes = "= 2 * n" },
        ]
        [axes.n]
        sets = "parameters.n"
        values = [1, 2]
    """
    assert words(text) == ("20 Mbps, drop-tail", "a (start 4 s, nagle on) and b")
    fixed = text.split("[axes.n]")[0]
    assert words(fixed) == (
        "20 Mbps, 2 ms, drop-tail, loss 2, buffer 2 BDP",
        "2 × a (start 4 s, nagle on) and b",
    )


def test_a_round_trip_and_a_buffer_that_an_axis_sets_are_not_those_that_are_written() -> None:
    (network, *_) = words(
        """
        [dumbbell]
        rate = "10Mbps"
        rtt = "10ms"
        buffer = "20kB"
        flows = [{ cc = "cubic" }]
        [axes.case]
        title = "network"
        [[axes.case.values]]
        name = "bad"
        [axes.case.values.set]
        "topology.rtt" = "2ms"
        "topology.links.bottleneck.forward.queue" = { kind = "drop-tail", limit = "90kB" }
        """
    )
    assert network == "10 Mbps, rtt by network, queue by network"


def test_ipv6_is_named() -> None:
    study = '[dumbbell]\nrate = "1Mbps"\nrtt = "9ms"\nflows = [{ cc = "reno" }]\n[run]\nnetwork = "%s"'
    assert words(study % "ipv6")[-1] == "IPv6"
    assert "IPv6" not in words(study % "ipv4")


@pytest.mark.parametrize(
    ("flows", "text"),
    [
        ([{}, {}], "2 × cubic"),
        ([{"count": [1, 2]}, {"cc": "cubic"}], "2 × cubic"),
        ([{"count": 3}, {"count": 2, "cc": "reno"}, {}], "4 × cubic and 2 × reno"),
        ([{"count": 0}, {"cc": "reno"}], "reno"),
        ([{"cc": "$law"}, {"cc": ["reno", "bbr1"]}, {"cc": "bbr1"}], "bbr1"),
        ([{"stack": "noq", "cc": "$law"}], "noq"),
        ([{"cc": "$law", "bytes": "5MB"}], ""),
        ([{"name": "a", "cc": "$law", "bytes": "5MB"}], "a (bytes 5 MB)"),
        ([{"down": [["1s", "2s"]], "bytes": [1, 2], "tcp": {"mss": 536, "sack": False}}], FLOW),
        ([{"app": {"object": "30kB"}}, {"app": "bulk"}], "cubic (application) and cubic"),
    ],
)
def test_flows_of_one_name_are_counted_together(flows: list[dict[str, object]], text: str) -> None:
    assert network_words({"dumbbell": {"flows": flows}}) == ("drop-tail", text)[: 1 + bool(text)]


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ({"preset": "lte", "queue": "pie"}, "preset lte, pie"),
        ({"queue": ["red", "pie"]}, ""),
        ({"rate": "5Mbps", "rtt": "= 2 * n"}, "5 Mbps, drop-tail"),
        ({"down": [["1s", "2s"], ["3s", "4s"]]}, "drop-tail, down in 2 intervals"),
        ({"loss": ["1%", "2%"], "ack_loss": "1%"}, "drop-tail, ack loss 1%"),
        ({"buffer": 0.5}, "drop-tail, buffer 0.5 BDP"),
        ({"buffer": "90kB"}, "drop-tail, buffer 90 kB"),
        ({"buffer": "{n}kB"}, "drop-tail"),
        ({"buffer": [1, 2]}, "drop-tail"),
        ({"queue": {"kind": "red", "ecn": True, "limit": "9pkt"}}, "red (ecn on, limit 9 pkt)"),
        ({"queue": {"kind": "pie", "target": "$t"}}, ""),
        ({"rate": {"between": "1Mbps"}}, "between 1 Mbps, drop-tail"),
    ],
)
def test_a_key_of_the_network_is_named_unless_it_varies(section: dict[str, object], text: str) -> None:
    assert ", ".join(network_words({"dumbbell": section})) == text


def test_an_axis_that_sets_nothing_names_no_key_and_those_after_it_do() -> None:
    axes = {"a": 3, "iw": {"values": [1, 2]}, "law": {"sets": ["dumbbell.rtt", "dumbbell.buffer"]}}
    section = {"rate": "1Mbps", "rtt": "9ms", "buffer": 2}
    assert network_words({"dumbbell": section, "axes": axes}) == (
        "1 Mbps, rtt by law, drop-tail, buffer by law",
    )
    full = {"links": {"a": {"rate": "1Mbps", "forward": {"delay": "2ms", "rate": "9Mbps"}}}}
    sets = {"speed": {"sets": "topology.links.a.rate"}, "d": {"sets": "topology.links.a.forward.delay"}}
    assert network_words({"topology": full, "axes": sets}) == (
        "a: rate by speed, forward delay by d, forward rate 9 Mbps",
    )


def test_each_direction_of_a_link_is_named() -> None:
    link = {
        "delay": "5ms",
        "mtu": "1500B",
        "queue": "codel",
        "forward": {"rate": "2Mbps", "queue": [{"kind": "red"}, {"kind": "pie"}]},
        "reverse": {"rate": "1Mbps", "queue": {"kind": "pie", "target": "5ms"}},
        "impairments": [{"kind": "loss", "rate": "1%"}, {"kind": "jitter", "max": "$jitter"}],
    }
    assert network_words({"topology": {"links": [link | {"name": "neck"}, {"name": "b"}, {}]}}) == (
        "neck: 5 ms, codel, loss (rate 1%), jitter, forward rate 2 Mbps, reverse rate 1 Mbps, "
        "reverse queue pie (target 5 ms), b, link",
    )


def test_up_to_three_links_are_listed_and_up_to_four_kinds_of_traffic() -> None:
    def network(count: int) -> tuple[str, ...]:
        links = {f"l{k}": {"rate": "1Gbps"} for k in range(count)}
        traffic = [{"name": name} for name in "abcde"[:count]] + [{"kind": "bulk"}]
        return network_words({"topology": {"links": links}, "traffic": traffic})

    assert network(3) == ("l0: 1 Gbps, l1: 1 Gbps, l2: 1 Gbps", "a, b and c")
    assert network(4) == ("4 links", "a, b, c and d")
    assert network(5) == ("5 links", "5 kinds of traffic")
    assert network(0) == ()


def test_of_four_links_with_a_queue_none_is_named_and_of_three_all_are() -> None:
    def network(queues: int) -> str:
        links = [{"name": f"l{k}", "queue": "red"} if k < queues else {"name": "x"} for k in range(5)]
        return network_words({"topology": {"links": links}})[0]

    assert network(3) == "l0: red, l1: red, l2: red, 2 other links"
    assert network(4) == "5 links"


def test_the_knobs_of_tcp_are_named_and_its_groups_are_not() -> None:
    tcp = {
        "groups": {"a": {}},
        "defaults": {},
        "sack": False,
        "init_cwnd": [1, 2],
        "mss": "$m",
        "rto_min": "1s",
    }
    assert network_words({"tcp": tcp}) == ("sack off, rto min 1 s",)
