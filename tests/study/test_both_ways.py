"""What the short form says of a bottleneck's other direction, of policers, marking and impairments."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cwndlab import Study, StudyError

HEAD = (
    'title = "t"\nmeasure = ["goodput"]\n[run]\nduration = "5s"\n[dumbbell]\nrate = "20Mbps"\nrtt = "40ms"\n'
)
CUBIC = 'flows = [{ cc = "cubic" }]\n'


def scenario(text: str, cell: int = 0) -> Any:
    return Study.from_toml(HEAD + text).plan().cells[cell].compiled.scenario


def link(found: Any, name: str) -> Any:
    return next(one for one in found["links"] if one["name"] == name)


def measured(text: str) -> dict[str, float]:
    rows = Study.from_toml(text).run().estimates.to_arrow().to_pylist()
    return {row["quantity"]: row["value"] for row in rows}


def error_of(text: str) -> str:
    with pytest.raises(StudyError) as caught:
        Study.from_toml(HEAD + text).plan().check()
    return str(caught.value)


def test_an_asymmetric_link_has_a_rate_a_delay_and_a_queue_of_its_own() -> None:
    found = scenario(CUBIC + 'reverse = { rate = "1Mbps", delay = "5ms", buffer = "30pkt", loss = "1%" }')
    forward, back = link(found, "left>right"), link(found, "right>left")
    assert (forward["rate_bps"], back["rate_bps"]) == (20_000_000, 1_000_000)
    assert back["delay_ns"] == 5_000_000 and back["queue"] == {
        "kind": "drop-tail",
        "limit": 30,
        "unit": "packets",
    }
    assert back["impairments"] == [{"kind": "bernoulli", "p": 0.01}] and forward["impairments"] == []


def test_a_reverse_direction_of_which_nothing_is_said_never_drops() -> None:
    assert link(scenario(CUBIC), "right>left")["queue"]["kind"] == "infinite"
    assert link(scenario(CUBIC + 'reverse = { rate = "1Mbps" }'), "right>left")["queue"]["kind"] == "infinite"


def test_two_way_traffic_meets_the_same_queue_on_both_sides() -> None:
    found = scenario('queue = ["drop-tail", "codel"]\nflows = [{ cc = "cubic", direction = "both" }]\n', 1)
    queues = [link(found, name)["queue"]["kind"] for name in ("left>right", "right>left")]
    assert queues == ["codel", "codel"]
    ends = {one["name"]: (one["client"], one["server"]) for one in found["traffic"]}
    nodes = found["nodes"]
    assert [tuple(nodes[end] for end in ends[name]) for name in ("cubic", "cubic_reverse")] == [
        ("cubic_sender", "cubic_receiver"),
        ("cubic_reverse_sender", "cubic_reverse_receiver"),
    ]
    joined = {(nodes[one["from"]], nodes[one["to"]]) for one in found["links"]}
    assert {("cubic_sender", "left"), ("cubic_reverse_sender", "right")} <= joined


def test_two_way_traffic_is_measured_in_both_directions() -> None:
    text = HEAD.replace('["goodput"]', '["goodput", "utilization"]') + 'flows = [{ direction = "both" }]'
    values = measured(text)
    assert list(values) == [
        *("goodput_flow", "goodput_flow_reverse", "utilization_left_right", "utilization_right_left")
    ]
    assert all(value > 5 for value in values.values())


def test_a_flow_of_the_other_direction_alone_sends_to_the_left() -> None:
    found = scenario('flows = [{ name = "up", direction = "reverse", bytes = "1MB" }]')
    nodes = found["nodes"]
    assert ("up_sender", "right") in {(nodes[one["from"]], nodes[one["to"]]) for one in found["links"]}
    assert [one["name"] for one in found["traffic"]] == ["up"]


def test_a_policer_stands_before_losses_and_further_impairments() -> None:
    text = (
        'policer = { rate = "12Mbps", burst = "90kB" }\nloss = "1%"\n'
        'impairments = [{ kind = "reorder", p = 0.1, extra = "5ms" }]\n'
    )
    kinds = link(scenario(CUBIC + text), "left>right")["impairments"]
    assert [one["kind"] for one in kinds] == ["policer", "bernoulli", "reorder"]
    assert kinds[0] == {"kind": "policer", "rate_bps": 12_000_000, "burst_bytes": 90_000}


def test_lists_of_nested_keys_are_axes() -> None:
    text = (
        'policer = { rate = ["10Mbps", "12Mbps"], burst = ["30kB", "90kB"] }\njitter = ["0ms", "1ms"]\n'
        'reverse = { rate = ["1Mbps", "2Mbps"], buffer = [0.5, 1] }\nmark_above = ["10pkt", "20pkt"]\n'
        'flows = [{ cc = "cubic", bytes = ["10kB", "1MB"] }]\n'
    )
    axes = Study.from_toml(HEAD + text).axes
    assert {name: len(values) for name, values in axes.items()} == dict.fromkeys(
        ("mark_above", "policer_rate", "policer_burst", "reverse_rate", "reverse_buffer", "jitter", "bytes"),
        2,
    )


def test_marking_from_a_length_on_is_a_step() -> None:
    """RED on the queue as it is, whose thresholds are one: nothing below it, every packet from it on."""
    queue = link(scenario(CUBIC + 'buffer = 2\nmark_above = "20pkt"\n'), "left>right")["queue"]
    assert queue["max_th"] == 20 and queue["min_th"] == math.nextafter(20, 0) and queue["w_q"] == 1
    assert queue["unit"] == "packets" and queue["limit"] == 134 and queue["ecn"] and not queue["hard_drop"]
    assert link(scenario(CUBIC + 'mark_above = "30kB"\n'), "left>right")["queue"]["max_th"] == 30_000
    assert "leave out `queue`" in error_of(CUBIC + 'queue = "codel"\nmark_above = "20pkt"\n')
    assert "dumbbell.mark_above: " in error_of(CUBIC + 'buffer = "100kB"\nmark_above = "20pkt"\n')


def test_a_marking_step_keeps_dctcps_queue_at_its_length() -> None:
    text = (
        'buffer = 4\nmark_above = "20pkt"\nflows = [{ cc = "dctcp", count = 2, tcp = { ecn = "rfc3168" } }]\n'
    )
    head = HEAD.replace('["goodput"]', '["queue_delay", "loss_rate"]').replace("5s", "20s")
    values = measured(head + text)
    packet_ms = 1500 * 8 / 20e6 * 1e3
    assert values["queue_delay_mean"] < 30 * packet_ms and values["loss_rate"] == 0


def test_red_has_the_thresholds_of_linux_where_a_study_leaves_them_out() -> None:
    queue = link(scenario(CUBIC + 'queue = "red"\nbuffer = "120pkt"\n'), "left>right")["queue"]
    assert (queue["min_th"], queue["max_th"], queue["burst"]) == (10, 30, 17)  # ceil((2 * 10 + 30) / 3)
    queue = link(scenario(CUBIC + 'queue = "red"\nbuffer = 1\n'), "left>right")["queue"]
    assert queue["unit"] == "bytes" and (queue["limit"], queue["max_th"]) == (100_000, 25_000)
    assert queue["min_th"] == pytest.approx(25_000 / 3) and queue["burst"] == 14  # ceil(5/9 * 25)
    queue = link(scenario(CUBIC + 'queue = { kind = "red", min_th = "5pkt" }\n'), "left>right")["queue"]
    assert (queue["min_th"], queue["max_th"], queue["limit"], queue["unit"]) == (5, 15, 67, "packets")


def test_a_parameter_gives_the_size_of_a_transfer() -> None:
    head = HEAD.replace("measure", 'parameters = { size = ["10kB", "1MB"] }\nmeasure')
    cells = Study.from_toml(head + 'flows = [{ bytes = "$size" }]').plan().cells
    sizes = [cell.compiled.scenario["traffic"][0]["app"]["bytes"] for cell in cells]
    assert sizes == [10_000, 1_000_000]


def test_a_trace_takes_the_place_of_a_rate() -> None:
    with pytest.raises(StudyError, match=r"'up\.trace' is a file"):
        Study.from_toml(HEAD.replace('rate = "20Mbps"\n', 'trace = "up.trace"\n') + CUBIC)
    with pytest.raises(StudyError, match="either `rate` or `trace`"):
        Study.from_toml(HEAD + 'trace = "up.trace"\n' + CUBIC)


def test_a_shaper_holds_the_queue_or_is_one() -> None:
    text = CUBIC + (
        'queue = ["drop-tail", "fq-codel"]\nbuffer = "100pkt"\nshaper = { rate = "12Mbps", burst = "6kB" }\n'
    )
    shaper = {"kind": "tbf", "rate_bps": 12_000_000, "burst_bytes": 6000}
    fifo, fair = (link(scenario(text, cell), "left>right")["queue"] for cell in (0, 1))
    assert fifo == {**shaper, "limit": 150_000}
    assert fair == {**shaper, "queue": {"kind": "fq-codel", "limit": 100}}
    assert Study.from_toml(HEAD + text).axes["queue"] == ["tbf", "fq-codel"]


def test_a_buffer_in_bdps_is_of_the_shaper_s_rate() -> None:
    found = scenario(CUBIC + 'buffer = 2\nshaper = { rate = "12Mbps", burst = "6kB" }\n')
    assert link(found, "left>right")["queue"]["limit"] == 2 * 12e6 * 0.04 / 8


def test_a_shaper_carries_its_rate_and_delays_what_is_above() -> None:
    text = 'shaper = { rate = "5Mbps", burst = "3kB" }\nflows = [{ cc = "cubic", start = "0s" }]\n'
    values = measured(HEAD.replace('["goodput"]', '["goodput", "queue_delay"]') + text)
    assert 4.5 < values["goodput"] < 5
    # One BDP of 40 ms at 5 Mb/s, however fast the link behind the shaper is.
    assert 20 < values["queue_delay_p99"] <= 40.1


def test_marking_needs_a_queue_without_a_shaper() -> None:
    text = 'mark_above = "20pkt"\nshaper = { rate = "12Mbps", burst = "6kB" }\n'
    assert "leave out `queue` and `shaper`" in error_of(CUBIC + text)
