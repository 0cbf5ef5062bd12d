"""The short forms of a study file: what they expand to, and that their errors name what was written."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.study import toml
from cwndlab.study.knobs import alternative_name

QUESTION = """\
title = "CUBIC against Reno"
measure = ["share", "goodput", "loss_rate", "queue_delay"]

[dumbbell]
rate = "50Mbps"
rtt = "40ms"
buffer = [0.5, 1, 2, 8]
flows = [{ cc = "cubic" }, { cc = "reno" }]

[run]
duration = "30s"
warmup = "5s"
replicates = 10
"""

EVERYTHING = """\
title = "every field, several of them axes"
measure = ["goodput", "completion_time", "retransmits", "jain_index", "utilization"]

[parking_lot]
hops = 2
rate = ["10Mbps", "20Mbps"]
rtt = ["20ms", "41ms"]
queue = ["drop-tail", "codel", { kind = "pie", target = "5ms" }, "fq-codel", "dualpi2"]
buffer = ["50pkt", 2]
loss = ["0%", "0.1%"]
flows = [
    { cc = ["cubic", "reno"], count = [1, 2], tcp = { initial_window = 4 } },
    { name = "web", bytes = "100kB", rtt = ["10ms", "30ms"], start = "1s" },
    { app = { kind = "ftp", file_bytes = "1MB", first_s = { kind = "uniform", low = 0, high = 2 } } },
]
cross = [{ cc = "cubic" }]

[run]
duration = "5s"
replicates = 3
"""


def scenarios(study: Study) -> dict[str, str]:
    return {cell.id: cell.compiled.json for cell in study.plan().cells}


@pytest.mark.parametrize("text", [QUESTION, EVERYTHING], ids=["dumbbell", "parking lot"])
def test_the_expanded_file_gives_the_same_plan(text: str) -> None:
    if text is EVERYTHING:  # one combination of the larger sweep
        chosen = {"rate": 20, "rtt": 41, "buffer": "2BDP", "loss": 0.1, "count": 2, "cc": "reno"}
    else:
        chosen = {}
    short = Study.from_toml(text).set(chosen)
    full = Study.from_toml(toml.dumps(short.raw)).set(chosen)
    assert scenarios(full) == scenarios(short)
    assert full.outline == short.outline
    short.plan().check()


def test_a_round_trip_takes_the_stated_time_and_a_buffer_is_that_multiple_of_the_bdp() -> None:
    for cell in Study.from_toml(QUESTION).plan().cells:
        links = {link["name"]: link for link in cell.compiled.scenario["links"]}
        path = ("reno_sender>left", "left>right", "right>reno_receiver")
        back = ("reno_receiver>right", "right>left", "left>reno_sender")
        assert sum(links[name]["delay_ns"] for name in (*path, *back)) == 40_000_000
        queue = links["left>right"]["queue"]
        assert queue["limit"] == cell.axes["buffer"] * 50e6 * 0.040 / 8
        assert queue["unit"] == "bytes"


def test_queues_that_count_packets_get_a_buffer_in_packets_of_1500_bytes() -> None:
    study = Study.from_toml(QUESTION.replace("flows =", 'queue = "codel"\nflows ='))
    limits = [cell.compiled.scenario["links"][0]["queue"]["limit"] for cell in study.plan().cells]
    assert limits == [84, 167, 334, 1334]  # 250,000 bytes are 166.7 packets


def test_a_list_in_place_of_a_value_is_an_axis_with_values_that_are_numbers() -> None:
    study = Study.from_toml(EVERYTHING)
    names = {name: axis.names for name, axis in study.outline.axes.items()}
    assert names == {
        "rate": [10, 20],
        "buffer": ["50pkt", "2BDP"],
        "queue": ["drop-tail", "codel", "pie", "fq-codel", "dualpi2"],
        "loss": [0, 0.1],
        "rtt": [20, 41],
        "web_rtt": [10, 30],
        "cc": ["cubic", "reno"],
        "count": [1, 2],
    }
    assert study.outline.axes["rate"].unit == "Mbit/s"


def test_replicates_differ_unless_every_start_is_fixed_and_there_is_no_jitter() -> None:
    assert not Study.from_toml(QUESTION).plan().cells[0].deterministic
    fixed = QUESTION.replace('{ cc = "cubic" }, { cc = "reno" }', '{ cc = "cubic", start = "0s" }')
    assert not Study.from_toml(fixed).plan().cells[0].deterministic
    still = fixed.replace("flows =", 'jitter = "0s"\nflows =')
    assert Study.from_toml(still).plan().cells[0].deterministic


def test_a_drawn_start_spreads_the_instances_of_any_application() -> None:
    entry = Study.from_toml(QUESTION).plan().cells[0].compiled.scenario["traffic"][0]
    assert entry["start_ns"] == 0
    assert entry["app"]["first_s"] == {"kind": "uniform", "low": 0.0, "high": 1.0}


def test_a_congestion_control_brings_its_slow_start_and_ecn() -> None:
    text = QUESTION.replace(
        '{ cc = "reno" }', '{ cc = "dctcp" }, { cc = "newreno" }, { tcp = { cc = "cubic" } }'
    )
    scenario = Study.from_toml(text).plan().cells[0].compiled.scenario
    groups = {entry["name"]: scenario["tcp"][entry["tcp_client"]] for entry in scenario["traffic"]}
    found = {
        name: (alternative_name(g["window_law"]), g["slow_start"], g["ecn"]) for name, g in groups.items()
    }
    assert found == {
        "cubic": ("cubic-linux", "hystart", "accept"),
        "dctcp": ("dctcp", "standard", "dctcp"),
        "newreno": ("reno", "standard", "accept"),
        "flow": ("cubic-linux", "hystart", "accept"),
    }


def test_a_change_of_the_bottleneck_keeps_its_form_and_halves_the_round_trip() -> None:
    text = QUESTION.replace('"50Mbps"', '{ at = { "0s" = "20Mbps", "5s" = "200Mbps" } }')
    text = text.replace('"40ms"', '{ at = { "0s" = "40ms", "9s" = "81ms" } }')
    text = text.replace(
        "[run]", 'loss = { at = { "0s" = "0%", "3s" = "1%" } }\ndown = [["7s", "8s"]]\n\n[run]'
    )
    links = Study.from_toml(text).plan().cells[0].compiled.scenario["links"]
    rates = [20_000_000, 200_000_000, 0, 200_000_000]
    assert links[0]["capacity"]["rates_bps"] == links[1]["capacity"]["rates_bps"] == rates
    assert [impairment["kind"] for impairment in links[0]["impairments"]] == ["loss-steps"]
    assert links[1]["impairments"] == []
    assert links[0]["queue"]["limit"] == 50_000  # half a BDP of 20 Mb/s and 40 ms
    assert (links[2]["rate_bps"], links[2]["delay_ns"]) == (2_000_000_000, 20_000_000)
    assert links[2]["impairments"][1]["extra_ns"] == [0, 20_500_000]


@pytest.mark.parametrize(("form", "least_ns"), [("", 20_000_000), (", factor = 2", 40_000_000)])
def test_round_trips_of_a_file_are_halved_as_written_ones_are(
    form: str, least_ns: int, tmp_path: Path
) -> None:
    (tmp_path / "rtt.txt").write_text("40\n81\n")
    rtt = f'{{ trace = "rtt.txt", interval = "1s"{form} }}'
    (tmp_path / "q.toml").write_text(QUESTION.replace('"40ms"', rtt))
    links = Study.load(tmp_path / "q.toml").plan().cells[1].compiled.scenario["links"]
    assert links[0]["queue"]["limit"] == 50_000_000 * 2 * least_ns // 8_000_000_000, "1 BDP at the start"
    for number in (2, 3, 6, 7):  # each sender's link, each way
        changing = links[number]["impairments"][-1]
        assert (links[number]["delay_ns"], changing["kind"]) == (least_ns, "delay-steps")
        assert (changing["at_ns"], changing["repeat_ns"]) == ([0, 10**9], 2 * 10**9)
        assert changing["extra_ns"] == [0, 41 * least_ns // 40]


def test_a_file_of_round_trips_may_stand_in_a_list(tmp_path: Path) -> None:
    (tmp_path / "rtt.txt").write_text("20\n80\n")
    rtt = '["40ms", { trace = "rtt.txt", interval = "1s" }]'
    (tmp_path / "q.toml").write_text(QUESTION.replace('"40ms"', rtt).replace("[0.5, 1, 2, 8]", "1"))
    plain, changing = (
        cell.compiled.scenario["links"] for cell in Study.load(tmp_path / "q.toml").plan().cells
    )
    assert (plain[0]["queue"]["limit"], changing[0]["queue"]["limit"]) == (250_000, 125_000)
    assert (plain[2]["delay_ns"], len(plain[2]["impairments"])) == (20_000_000, 1)
    assert changing[2]["impairments"][1]["extra_ns"] == [0, 30_000_000]


def test_the_link_of_a_group_of_senders_may_be_down() -> None:
    text = QUESTION.replace('{ cc = "reno" }', '{ cc = "reno", down = [["7s", "8s"]] }')
    links = Study.from_toml(text).plan().cells[0].compiled.scenario["links"]
    changing = {number: link["capacity"] for number, link in enumerate(links) if "capacity" in link}
    assert list(changing) == [6, 7], "of Reno's senders, each way"
    assert changing[6]["rates_bps"] == [10**9, 0, 10**9]


def test_datagrams_have_no_tcp_and_push_from_the_sender() -> None:
    app = '{ app = { kind = "cbr", rate = "5Mbps", packet = "500B", ecn = "ect1" } }'
    study = Study.from_toml(QUESTION.replace('{ cc = "reno" }', app))
    scenario = study.plan().cells[0].compiled.scenario
    entry = scenario["traffic"][1]
    assert (entry["name"], scenario["nodes"][entry["client"]]) == ("cbr", "cbr_sender")
    assert {key: entry["app"][key] for key in ("rate_bps", "packet_bytes", "ecn")} == {
        "rate_bps": 5_000_000,
        "packet_bytes": {"kind": "fixed", "value": 500.0},
        "ecn": "ect1",
    }
    assert len(scenario["tcp"]) == 1  # the default, which is that of cubic


def test_a_list_of_schedules_is_an_axis_named_after_their_values() -> None:
    text = QUESTION.replace(
        '"50Mbps"', '["50Mbps", { at = { "0s" = "20Mbps", "5s" = "5Mbps" }, repeat = "10s" }]'
    )
    text = text.replace('"40ms"', '["40ms", { at = { "0s" = "20ms", "9s" = "80ms" } }]')
    text = text.replace("[run]", 'loss = ["1%", { at = { "0s" = "0%", "3s" = "2%" } }]\n\n[run]')
    study = Study.from_toml(text.replace("[0.5, 1, 2, 8]", "1"))
    axes = {name: axis.names for name, axis in study.outline.axes.items()}
    assert axes == {
        "rate": ["50Mbps", "20Mbps to 5Mbps every 10s"],
        "loss": ["1%", "0% to 2%"],
        "rtt": ["40ms", "20ms to 80ms"],
    }
    cells = [cell.compiled.scenario["links"] for cell in study.plan().cells]
    first, last = cells[0], cells[-1]
    assert len(cells) == 8
    assert (first[0]["rate_bps"], first[0].get("capacity")) == (50_000_000, None)
    assert last[0]["capacity"]["rates_bps"] == [20_000_000, 5_000_000]
    assert [links[0]["impairments"][0]["kind"] for links in (first, last)] == ["bernoulli", "loss-steps"]
    for sender in (2, 6):  # both senders' links
        assert first[sender]["delay_ns"] == 20_000_000
        assert last[sender]["impairments"][1]["extra_ns"] == [0, 30_000_000]
    assert first[0]["queue"]["limit"] == 250_000  # a BDP of 50 Mb/s and 40 ms, and of 20 Mb/s and 20 ms
    assert last[0]["queue"]["limit"] == 50_000


def test_datagrams_may_draw_their_own_start() -> None:
    app = '{ app = { kind = "cbr", rate = "5Mbps", first = "1s" } }'
    entry = (
        Study.from_toml(QUESTION.replace('{ cc = "reno" }', app))
        .plan()
        .cells[0]
        .compiled.scenario["traffic"][1]
    )
    assert entry["app"]["first_s"] == {"kind": "fixed", "value": 1.0}


def test_calls_are_named_after_their_kind_and_a_still_one_is_not_random() -> None:
    flows = '{ app = { kind = "voip", interval = "30ms" }, start = "0s" }'
    text = QUESTION.replace('{ cc = "cubic" }, { cc = "reno" }', flows).replace(
        "flows =", 'jitter = "0s"\nflows ='
    )
    cell = Study.from_toml(text).plan().cells[0]
    cell.check()
    entry = cell.compiled.scenario["traffic"][0]
    assert (entry["name"], entry["app"]["interval_s"]) == ("voip", {"kind": "fixed", "value": 0.03})
    assert cell.deterministic
    video = '{ app = { kind = "video", encoded_rate = "1Mbps", frame_rate = 25 }, start = "0s" }'
    cell = Study.from_toml(text.replace(flows, video)).plan().cells[0]
    cell.check()
    assert not cell.deterministic


def test_short_flows_push_from_the_sender_and_are_random() -> None:
    size = '{ kind = "pareto", mean = "30kB", shape = 1.5 }'
    app = f'{{ app = {{ kind = "short-flows", arrival_rate = 20, flow = {size} }} }}'
    cell = Study.from_toml(QUESTION.replace('{ cc = "reno" }', app)).plan().cells[0]
    entry = cell.compiled.scenario["traffic"][1]
    assert cell.compiled.scenario["nodes"][entry["client"]] == "flow_sender"
    assert entry["app"]["flow_bytes"] == {"kind": "pareto", "mean": 30_000.0, "shape": 1.5}
    cell.check()


def test_poisson_traffic_is_random_and_constant_traffic_is_not() -> None:
    flows = '{ cc = "cubic" }, { cc = "reno" }'
    for kind, deterministic in (("cbr", True), ("poisson", False)):
        app = f'{{ app = {{ kind = "{kind}", rate = "5Mbps" }}, start = "0s" }}'
        text = QUESTION.replace(flows, app).replace("flows =", 'jitter = "0s"\nflows =')
        assert Study.from_toml(text).plan().cells[0].deterministic is deterministic


def test_a_study_without_measure_shows_the_usual_numbers_and_one_without_axes_has_one_row() -> None:
    text = QUESTION.replace("[0.5, 1, 2, 8]", "1").replace(QUESTION.split("\n")[1], "")
    outline = Study.from_toml(text).outline
    assert {quantity.metric for quantity in outline.quantities} == {
        *("goodput", "share", "loss_rate", "queue_delay", "link_utilization")
    }
    assert [table.rows for table in outline.tables if table.kind == "grid"] == [[]] * len(outline.tables)
    assert outline.figures == []


@pytest.mark.parametrize("written", ["1%", "1 %", "1"])
def test_set_takes_the_values_of_an_axis_as_the_file_writes_them(written: str) -> None:
    study = Study.from_toml(QUESTION.replace('rtt = "40ms"', 'rtt = ["0.04s", "90ms"]\nloss = ["0%", "1%"]'))
    cells = study.set({"loss": written, "rtt": ["40ms", "0.09s"]}).plan().cells
    assert {(cell.axes["loss"], cell.axes["rtt"]) for cell in cells} == {(1, 40), (1, 90)}
    with pytest.raises(StudyError, match=r"axis loss has no value '1ms'"):
        study.set({"loss": "1ms"})


def test_an_error_that_two_checks_find_is_said_once() -> None:
    with pytest.raises(StudyError) as caught:
        Study.from_toml(QUESTION.replace('{ cc = "cubic" }', '"cubic"'))
    assert str(caught.value).count("does not fit") == 1


@pytest.mark.parametrize("name", ["utilization", "link_utilization"])
def test_a_measure_has_the_same_unit_under_each_of_its_names(name: str) -> None:
    study = Study.from_toml(
        QUESTION.replace('["share", "goodput", "loss_rate", "queue_delay"]', f'["{name}"]')
    )
    assert [quantity.unit for quantity in study.outline.quantities] == ["%"]


def test_measure_works_beside_a_topology_written_in_full() -> None:
    from small_study import TEXT

    text = TEXT.replace('title = "two nodes"', 'title = "two nodes"\nmeasure = ["share", "timeouts"]')
    study = Study.from_toml(text)
    assert [q.name for q in study.outline.quantities] == ["goodput", "share", "timeouts"]
    assert study.outline.figures[0].x == "iw"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            '"share"',
            '"shar"',
            'q.toml:2:12: measure.1: there is no measure or metric "shar"; did you mean "share"?',
        ),
        ('"share"', '"goodput", "goodput"', 'q.toml:2:23: measure.2: "goodput" is listed already'),
        ('"share"', '"throughput"', 'there is no measure or metric "throughput"; write "goodput"'),
        ('cc = "reno"', 'tcp = { congestion_control = "reno" }', "any more; write cc = 'reno'"),
        (
            "[run]",
            "[parameters]\nbuffer = 3\n[run]",
            "q.toml:7:1: dumbbell.buffer: this axis and [parameters] buffer (line 11) have the same name",
        ),
        ('"share"', '"completion_time"', "q.toml:2:12: measure.1: the flows have no end"),
        (
            'rate = "50Mbps"',
            'rate = { at = { "0s" = "50Mbps", "2s" = "5mbs" } }',
            "q.toml:5:1: dumbbell.rate",
        ),
        (
            'rate = "50Mbps"',
            'rate = { at = { "1s" = "50Mbps" } }',
            'dumbbell.rate: the first time must be "0s"',
        ),
        (
            'rate = "50Mbps"',
            'rate = { at = { "0s" = "50Mbps", "3s" = "0bps" } }',
            "dumbbell.rate: the last rate is 0, so that the link would be down for ever",
        ),
        (
            "flows =",
            'down = [["5s", "4s"]]\nflows =',
            "dumbbell.down: an interval ends before it begins",
        ),
        (
            'rtt = "40ms"',
            'rtt = { "0s" = "40ms" }',
            "q.toml:6:1: dumbbell.rtt: the times from which each value holds are missing",
        ),
        (
            'rtt = "40ms"',
            'rtt = { trace = "d.txt", interval = "10ms" }',
            "q.toml:6:9: dumbbell.rtt.trace: d.txt: there is no such file (a delay trace)",
        ),
        ('rtt = "40ms"', 'rtt = { trace = "d.txt" }', "q.toml:6:1: dumbbell.rtt: this key is missing"),
        (
            'rtt = "40ms"',
            'rtt = { trace = "d.txt", interval = "10ms", factor = "2" }',
            "q.toml:6:45: dumbbell.rtt.factor: '2' does not fit; it must be a number",
        ),
        (
            'rtt = "40ms"',
            "rtt = 40",
            "q.toml:6:1: dumbbell.rtt: 40 is not a time; write a number and its unit in quotes",
        ),
        ('rate = "50Mbps"', 'rate = "50mbs"', "q.toml:5:1: dumbbell.rate: "),
        ("buffer =", "bufer =", "q.toml:7:1: dumbbell.bufer: unknown key 'bufer'; did you mean \"buffer\"?"),
        ("[0.5, 1, 2, 8]", '"1foo"', "q.toml:7:1: dumbbell.buffer: '1foo' is no queue limit"),
        ('cc = "reno"', 'cc = "renno"', "there is no congestion control 'renno'; did you mean \"reno\"?"),
        (
            'cc = "reno"',
            'cc = "reno", tcp = { sackk = true }',
            "dumbbell.flows.2.tcp.sackk: there is no TCP knob",
        ),
        (
            'cc = "reno"',
            'cc = "reno", app = { kind = "cbr", rate = "1Mbps" }',
            "q.toml:8:28: dumbbell.flows.2: datagrams over UDP have no congestion control; leave out",
        ),
        (
            'cc = "reno"',
            'app = { kind = "cbr", rate = "0Mbps" }',
            "dumbbell.flows.2.app: cbr: rate is 0 bit/s; it must be at least 8 bit/s",
        ),
        (
            'cc = "reno"',
            'app = { kind = "cbr", rate = "1Mbps", ect = "ect1" }',
            "dumbbell.flows.2.app.ect: unknown key 'ect'; did you mean \"ecn\"?",
        ),
        (
            "buffer =",
            'queue = { kind = "pie", mean_packet = 500 }\nbuffer =',
            'dumbbell.queue.mean_packet: the value does not fit; write a size with its unit, like "500B"',
        ),
        ("buffer =", 'queue = "cdel"\nbuffer =', "dumbbell.queue"),
        (
            "buffer =",
            'queue = { kind = "red", min_th = 5, max_th = "22kB" }\nbuffer =',
            "dumbbell.queue.min_th: the limit of this queue counts bytes, 5 does not; write",
        ),
        (
            "buffer =",
            'queue = { kind = "linux-red", min_th = "5pkt", max_th = 15000 }\nbuffer =',
            "dumbbell.queue.min_th: the limit of this queue counts bytes, '5pkt' does not; write",
        ),
        ("[run]", '[topology]\nnodes = ["a", "b"]\n[run]', "topology: [dumbbell] already makes the topology"),
        ("[dumbbell]", "axes = 1\n[dumbbell]", "axes: 1 does not fit; it must be a table"),
        ("[dumbbell]", "tcp = { groups = 1 }\n[dumbbell]", "tcp.groups: 1 does not fit; it must be a table"),
        ("[dumbbell]", "quantities = true\n[dumbbell]", "quantities: True does not fit; it must be a list"),
        ("[run]", "[axes.buffer]\nvalues = [1]\n[run]", 'an axis "buffer" is defined already'),
    ],
)
def test_errors_name_what_was_written(old: str, new: str, expected: str, tmp_path: Path) -> None:
    assert old in QUESTION
    file = tmp_path / "q.toml"
    file.write_text(QUESTION.replace(old, new))
    with pytest.raises(StudyError) as caught:
        Study.load(file).plan().check()
    assert expected in str(caught.value)


def test_set_changes_a_short_form_and_keeps_other_changes() -> None:
    study = Study.from_toml(QUESTION)
    changed = study.set({"run.duration": "10s"}).set({"dumbbell.rate": "20Mbps", "buffer": 1})
    cells = changed.plan().cells
    assert [cell.id for cell in cells] == ["buffer=1"]
    scenario = json.loads(cells[0].scenario)
    assert scenario["duration_ns"] == 10_000_000_000
    assert scenario["links"][0]["rate_bps"] == 20_000_000
    assert set(changed.document.changes) == {"run.duration", "dumbbell.rate"}


@pytest.mark.parametrize(
    ("key", "value"),
    [("run.duration", "0s"), ("run.warmup", "40s"), ("dumbbell.rate", "50"), ("tcp.groups.reno.cc", "renno")],
)
def test_a_wrong_change_blames_the_option(key: str, value: str, tmp_path: Path) -> None:
    file = tmp_path / "q.toml"
    file.write_text(QUESTION)
    with pytest.raises(StudyError) as caught:
        Study.load(file).set({key: value}).plan().check()
    assert str(caught.value).startswith(f"{key}: ")


def test_the_expanded_file_is_valid_toml_in_the_order_of_the_manual() -> None:
    text = toml.dumps(Study.from_toml(QUESTION).raw)
    assert list(tomllib.loads(text)) == [
        *("title", "topology", "traffic", "tcp", "run", "probes", "axes", "quantities", "tables", "figures")
    ]


@pytest.mark.parametrize(
    ("queue", "title"),
    [
        ('"codel"', "queueing delay, mean"),
        ('"fq-codel"', "backlog over rate, mean"),
        ('["pie", { kind = "dualpi2", target = "5ms" }]', "backlog over rate, mean"),
    ],
)
def test_a_delay_that_no_flow_has_is_not_called_queueing_delay(queue: str, title: str) -> None:
    study = Study.from_toml(
        f"""
        title = "Queues"
        measure = ["queue_delay"]
        [dumbbell]
        rate = "10Mbps"
        rtt = "40ms"
        queue = {queue}
        flows = [{{ cc = "cubic" }}]
        [run]
        duration = "1s"
        """
    )
    assert study.outline.quantities[0].title == title


def test_where_the_law_of_one_of_two_flows_varies_the_figure_of_shares_shows_that_flow() -> None:
    text = """
        title = "t"
        measure = ["share", "goodput"]
        [dumbbell]
        rate = "10Mbps"
        rtt = "20ms"
        buffer = [1, 2]
        flows = [{ name = "tested", cc = ["reno", "bbr1"] }, { name = "other", cc = "cubic" }]
        [run]
        duration = "1s"
    """
    share, goodput = Study.from_toml(text).outline.figures
    assert (share.title, share.drawn_quantities) == (
        "Share of the goodput by buffer: tested",
        ["share_tested"],
    )
    assert goodput.drawn_quantities == ["goodput_tested", "goodput_other"]
    assert goodput.panels is None  # four lines
    one_law = Study.from_toml(text.replace('["reno", "bbr1"]', '"reno"'))
    assert one_law.outline.figures[0].drawn_quantities == ["share_tested", "share_other"]
    by_law = Study.from_toml(text.replace("[1, 2]", "1"))
    assert by_law.outline.figures[1].title == "Goodput by congestion control of tested"


@pytest.mark.parametrize(
    ("key", "values"), [("count", "[2, 4]"), ("start", '["0s", "5s"]'), ("bytes", '["10kB", "1MB"]')]
)
def test_a_list_and_a_parameter_of_a_group_of_flows_are_axes(key: str, values: str) -> None:
    form = '[dumbbell]\nrate = "10Mbps"\nrtt = "40ms"\nflows = [{{ cc = "reno", {key} = {value} }}]\n'
    end = '[run]\nduration = "1s"\n'
    title = 'title = "t"\n'
    listed = Study.from_toml(title + form.format(key=key, value=values) + end)
    named = Study.from_toml(
        title + f"[parameters]\nn = {values}\n" + form.format(key=key, value='"$n"') + end
    )
    runs = [
        [json.loads(cell.scenario)["traffic"] for cell in study.plan().cells] for study in (listed, named)
    ]
    assert runs[0] == runs[1]
    assert len(runs[0]) == 2 and runs[0][0] != runs[0][1]


def test_queues_of_one_kind_are_told_apart_by_what_else_they_have() -> None:
    queues = '["pie", { kind = "pie", ecn = true }, { kind = "pie", target = "5ms" }, "codel"]'
    form = f'title = "t"\n[dumbbell]\nrate = "10Mbps"\nrtt = "40ms"\nqueue = {queues}\nflows = [{{}}]\n'
    study = Study.from_toml(form + '[run]\nduration = "1s"\n')
    names = [cell.axes["queue"] for cell in study.plan().cells]
    assert names == ["pie", "pie ecn", "pie target 5ms", "codel"]


CROSS = """
    title = "t"
    measure = ["goodput", "completion_time"]
    [parking_lot]
    rate = "10Mbps"
    rtt = "20ms"
    hops = 3
    flows = [{ name = "long", cc = "cubic", bytes = "1MB" }]
    cross = [{ name = "web", cc = ["cubic", "reno"], count = [1, 4], bytes = "100kB" }]
    [run]
    duration = "1s"
"""


def test_a_list_in_a_group_of_cross_traffic_is_one_axis_of_all_hops() -> None:
    study = Study.from_toml(CROSS)
    assert study.axes == {"cc": ["cubic", "reno"], "count": [1, 4]}
    for cell in study.plan().cells:
        assert len(json.loads(cell.scenario)["traffic"]) == 1 + 3 * int(cell.axes["count"])


def test_a_figure_with_more_lines_than_names_at_their_ends_has_a_panel_for_each_quantity() -> None:
    goodput, times = Study.from_toml(CROSS).outline.figures
    assert (goodput.panels, goodput.series, len(goodput.quantities)) == ("quantity", ["cc"], 4)
    assert (times.panels, len(times.quantities)) == ("quantity", 16)


def test_of_four_axes_a_figure_states_the_value_of_the_last_and_has_few_lines() -> None:
    figures = Study.from_toml("""
        title = "t"
        measure = ["goodput", "queue_delay"]
        [dumbbell]
        rate = "50Mbps"
        rtt = ["10ms", "40ms"]
        buffer = ["100pkt", "1000pkt"]
        queue = ["codel", "pie"]
        flows = [{ name = "tested", cc = ["reno", "bbr1"] }]
        [run]
        duration = "2s"
    """).outline.figures
    assert [figure.title for figure in figures] == [
        "Goodput by base round-trip time, congestion control = reno",
        *(
            f"Queueing delay by base round-trip time: {part}, congestion control = reno"
            for part in ("mean", "p95", "p99")
        ),
    ]
    assert {(figure.panels, *figure.series, *figure.where.items()) for figure in figures} == {
        ("queue", "buffer", ("cc", "reno"))
    }
    assert len({figure.id for figure in figures}) == 4


@pytest.mark.parametrize(
    ("app", "kind"),
    [
        ('{ kind = "rr", request = "1kB", response = "20kB", transactions = 3 }', "transaction"),
        (
            '{ kind = "web", protocol = "http/1.1", request = "300B", object = "20kB", think = "0.1s", '
            'clock = "request", inline_trigger = "whole-primary" }',
            "page",
        ),
        ('{ kind = "bulk", bytes = "50kB" }', "file"),
    ],
)
def test_completion_times_are_those_of_what_the_application_completes(app: str, kind: str) -> None:
    run = Study.from_toml(f"""
        title = "t"
        measure = ["completion_time"]
        dumbbell = {{ rate = "10Mbps", rtt = "20ms", flows = [{{ name = "tested", app = {app} }}] }}
        run = {{ duration = "3s" }}
    """).run(replicates=1)
    rows = run.records("objects").to_pylist()
    times = [row["end_ns"] - row["start_ns"] for row in rows if row["kind"] == kind and row["finished"]]
    unit = {"s": 1e9, "ms": 1e6}[run.quantities["completion_time_mean"]]
    assert run["completion_time_mean"].estimate().value == pytest.approx(sum(times) / len(times) / unit)


@pytest.mark.parametrize(("rtt", "unit"), [('"10ms"', "ms"), ('"11ms"', "s"), ('["1ms", "20ms"]', "s")])
def test_completion_times_of_short_round_trips_are_in_milliseconds(rtt: str, unit: str) -> None:
    study = Study.from_toml(CROSS.replace('"20ms"', rtt))
    assert study.quantities["completion_time_long_mean"] == unit


FLENT = """
    title = "t"
    measure = ["goodput", "one_way_delay"]
    [dumbbell]
    rate = "20Mbps"
    rtt = "20ms"
    tests = "rrul"
    [run]
    duration = "10s"
"""


def test_tests_of_flent_have_their_flows() -> None:
    traffic = Study.from_toml(FLENT).base.traffic
    groups = {entry.name: (entry.client.partition("_sender")[0], entry.count) for entry in traffic}
    assert groups == {
        "download": ("download", 4),
        "upload": ("upload", 4),
        "ping": ("ping", 1),
        "ping_reverse": ("ping_reverse", 1),
    }
    (cell,) = Study.from_toml(FLENT).plan().cells
    queues = {link["name"]: "queue" in link for link in json.loads(cell.scenario)["links"]}
    assert queues["left>right"] and queues["right>left"], "loads in both directions have a queue each"
    starts = {entry["name"]: entry["start_ns"] for entry in json.loads(cell.scenario)["traffic"]}
    assert (starts["download.3"], starts["upload.0"], starts.get("ping", 0)) == (5 * 10**9, 5 * 10**9, 0)


def test_flows_stand_next_to_those_of_a_test_and_a_misspelt_one_says_so() -> None:
    more = FLENT.replace("tests =", 'flows = [{ name = "mine", cc = "reno" }]\n    tests =')
    assert [entry.name for entry in Study.from_toml(more).base.traffic][:2] == ["mine", "download"]
    with pytest.raises(StudyError, match="there is no test 'rul'; did you mean \"rrul\""):
        Study.from_toml(FLENT.replace("rrul", "rul"))
    with pytest.raises(StudyError, match=r"dumbbell\.flows"):
        Study.from_toml(FLENT.replace('tests = "rrul"', ""))
