"""The line below the finding names every condition that differs from the defaults."""

from __future__ import annotations

import tomllib

from cwndlab.apps.headline.conditions import network_words


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
