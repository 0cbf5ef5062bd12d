"""QUIC stacks in studies: the short form, groups by profile, and errors at their keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.study import stacks, toml

SHORT = """\
title = "QUIC next to TCP"
measure = ["goodput"]

[dumbbell]
rate = "10Mbps"
rtt = "40ms"
flows = [FLOWS]

[run]
duration = "5s"
"""

PAGES = """
    kind = "web", clock = "syn", inline_trigger = "whole-primary", record_objects = true, pages = 1,
    object_bytes = "20kB", request_bytes = "300B", inline_objects = 12, think_s = 1.0
""".strip().replace("\n", "")


def short(flows: str) -> Study:
    return Study.from_toml(SHORT.replace("FLOWS", flows))


def full(flows: str) -> str:
    return toml.dumps(short(flows).raw)


def traffic(study: Study) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(study.plan().cells[0].scenario)["traffic"]
    return entries


def test_every_stack_has_a_version() -> None:
    assert stacks.names() == ("quinn", "noq")
    assert _core.stack_versions() == {"quinn": "quinn-proto 0.11.19", "noq": "noq-proto 1.4.0"}


def test_flows_name_a_stack_and_its_options() -> None:
    options = (
        '{ mtu = "1500B", initial_window = "32KiB", stream_window = "8MiB", ack_eliciting_threshold = 9 }'
    )
    study = short(
        f'{{ cc = "cubic" }}, {{ stack = "quinn", cc = "bbr", tcp = {options} }}, {{ stack = "noq" }}'
    )
    tcp, quinn, noq = traffic(study)
    assert [entry["name"] for entry in (tcp, quinn, noq)] == ["cubic", "quinn_bbr", "noq"]
    assert "stack" not in tcp
    assert quinn["stack"] == {
        "stack": "quinn",
        "cc": "bbr",
        "mtu_bytes": 1500,
        "initial_window_bytes": 32768,
        "stream_window_bytes": 8388608,
        "ack_eliciting_threshold": 9,
    }
    assert noq["stack"] == {"stack": "noq"}
    assert not study.plan().cells[0].compiled.deterministic


def test_an_axis_may_vary_the_congestion_control_of_a_stack() -> None:
    study = short('{ stack = "noq", cc = ["cubic", "bbr3"] }')
    found = [json.loads(cell.scenario)["traffic"][0]["stack"]["cc"] for cell in study.plan().cells]
    assert found == ["cubic", "bbr3"]


def test_a_full_study_names_a_stack_by_the_profile_of_a_group() -> None:
    text = full('{ cc = "cubic" }, { stack = "noq", cc = "bbr3" }')
    assert 'profile = "noq"' in text
    assert traffic(Study.from_toml(text)) == traffic(
        short('{ cc = "cubic" }, { stack = "noq", cc = "bbr3" }')
    )


@pytest.mark.parametrize(
    ("flow", "key", "problem"),
    [
        ('stack = "quin"', "dumbbell.flows.1.stack", 'did you mean "quinn"?'),
        ('stack = "quinn", cc = "bbr3"', "dumbbell.flows.1.cc", "unknown name 'bbr3'"),
        ('stack = "noq", tcp = { mtus = "1500B" }', "dumbbell.flows.1.tcp.mtus", 'did you mean "mtu"?'),
        ('stack = "noq", tcp = { mtu = 1500 }', "dumbbell.flows.1.tcp.mtu", "write a size with its unit"),
        ('stack = "noq", tcp = { mtu = "500B" }', "dumbbell.flows.1.tcp", "it must be 1228 to 9000"),
        (
            'stack = "noq", tcp = { window_law = "reno" }',
            "dumbbell.flows.1.tcp.window_law",
            "write cc = 'reno'",
        ),
        (
            'stack = "noq", app = { kind = "bulk", read_rate = "1Mbps" }',
            "dumbbell.flows.1.app",
            "QUIC carries",
        ),
        (
            f'stack = "noq", app = {{ protocol = "http/1.1", {PAGES} }}',
            "dumbbell.flows.1.app",
            'pages over QUIC need `protocol = "http/3"`',
        ),
        (
            f'cc = "reno", app = {{ protocol = "http/3", {PAGES} }}',
            "dumbbell.flows.1.app",
            "`http/3` needs a QUIC stack",
        ),
        (
            'stack = "noq", app = { kind = "cbr", rate = "1Mbps" }',
            "dumbbell.flows.1.app",
            'noq with an mtu of 1228 bytes carries at most 1190 of them; write packet = "1190B"',
        ),
        (
            'stack = "noq", tcp = { mtu = "1500B" }, app = { kind = "cbr", rate = "1Mbps" }',
            "dumbbell.flows.1.app",
            "at most 1462",
        ),
        (
            'stack = "quinn", app = { kind = "cbr", rate = "1Mbps", packet = "39B" }',
            "dumbbell.flows.1.app",
            "it must be at least 40",
        ),
        (
            'stack = "quinn", app = { kind = "cbr", rate = "1Mbps", packet = "1kB", ecn = "ect1" }',
            "dumbbell.flows.1.app",
            "leave out `ecn`",
        ),
        ('cc = "reno", app = { kind = "voip" }', "dumbbell.flows.1", 'over QUIC: stack = "quinn"'),
        (
            'stack = "quinn", tcp = { datagram_buffer = "1kB" }, app = { kind = "voip" }',
            "dumbbell.flows.1.tcp",
            "it must be 10000 to 1073741824",
        ),
        ('stack = "noq", tcp = { profile = "linux-6" }', "dumbbell.flows.1", "takes the place of a profile"),
    ],
)
def test_errors_are_at_their_keys(flow: str, key: str, problem: str) -> None:
    with pytest.raises(StudyError) as caught:
        short(f"{{ {flow} }}").plan().cells[0].check()
    assert key in str(caught.value)
    assert problem in str(caught.value)


def test_datagrams_over_quic_have_a_group_and_those_over_udp_have_none() -> None:
    app = 'app = { kind = "voip" }'
    study = short(f'{{ {app} }}, {{ stack = "quinn", cc = "bbr", {app} }}')
    udp, quic = traffic(study)
    assert [entry["name"] for entry in (udp, quic)] == ["voip", "quinn_bbr"]
    assert "stack" not in udp
    assert quic["stack"] == {"stack": "quinn", "cc": "bbr"}
    text = toml.dumps(study.raw)
    assert 'tcp = "quinn_bbr"' in text
    assert traffic(Study.from_toml(text)) == traffic(study)
    with pytest.raises(StudyError, match="name the group of a QUIC stack"):
        Study.from_toml(
            text.replace('profile = "quinn"', 'profile = "linux-6"').replace("bbr", "cubic")
        ).plan()


def test_the_default_group_and_two_different_ends_are_rejected() -> None:
    text = full('{ cc = "cubic" }, { stack = "noq" }')
    with pytest.raises(StudyError, match="noq is a QUIC stack, not a profile of TCP"):
        Study.from_toml(text.replace('profile = "linux-6"', 'profile = "noq"', 1)).plan()
    assert 'tcp = "noq"' in text
    mixed = text.replace('tcp = "noq"', 'tcp_client = "noq"\ntcp_server = "cubic"')
    with pytest.raises(StudyError, match="both ends of a connection use the same QUIC stack"):
        Study.from_toml(mixed).plan()


def test_the_objects_of_a_page_are_streams_of_one_connection() -> None:
    study = short(f'{{ name = "pages", stack = "quinn", app = {{ protocol = "http/3", {PAGES} }} }}')
    run = study.run()
    objects = run.records("objects").to_pylist()
    (page,) = [row for row in objects if row["kind"] == "page"]
    parts = [row for row in objects if row["kind"] == "object"]
    assert (page["bytes"], page["connections"], len(parts)) == (13 * 20_000, 1, 13)
    assert run.records("connections").num_rows == 1
    # The in-line objects are requested together and share the link, so none ends early: 192 ms of data.
    inline = sorted(row["end_ns"] - row["start_ns"] for row in parts)[1:]
    assert inline[-1] - inline[0] < 100e6 < inline[0]
