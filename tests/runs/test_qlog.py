"""`cwndlab export --qlog`: what the files say of packets, ACKs, losses and windows, in both versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cwndlab.api import Study
from cwndlab.apps.export.export import export_qlog
from cwndlab.base.errors import NotFoundError, StudyError

STUDY = """\
title = "qlog"
measure = ["goodput"]

[dumbbell]
rate = "10Mbps"
rtt = "40ms"
buffer = 0.5
loss = "0.5%"
flows = [{ cc = "cubic", bytes = "2MB", start = "0s" }, { stack = "noq", bytes = "2MB", start = "0s" }]

[run]
duration = "10s"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("qlog") / "run"
    Study.from_toml(STUDY).run(folder)
    return folder


def records(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON-SEQ file (RFC 7464)."""
    text = path.read_text()
    assert text.startswith("\x1e")
    assert text.endswith("\n")
    return [json.loads(part) for part in text.split("\x1e")[1:]]


def of(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["name"].endswith(name)]


def number(data: dict[str, Any]) -> int:
    found: int = data["header"]["packet_number"]
    return found


def test_every_connection_has_a_file_that_qvis_can_tell(folder: Path, tmp_path: Path) -> None:
    files = export_qlog(folder, tmp_path, "0.3")
    assert [file.name for file in files] == ["base-cubic-0.sqlog", "base-noq-1.sqlog"]
    for file in files:
        header, *events = records(file)
        # What qvis looks at before it reads the events.
        assert (header["qlog_version"], header["qlog_format"]) == ("0.3", "JSON-SEQ")
        assert header["trace"]["vantage_point"] == {"type": "client"}
        names = {event["name"] for event in events}
        assert names - {"recovery:loss_timer_updated"} == {
            *("transport:packet_sent", "transport:packet_received"),
            *("recovery:packet_lost", "recovery:metrics_updated"),
        }
        times = [event["time"] for event in events]
        assert times == sorted(times)
        assert times[-1] < 10_000
    # Each segment of TCP has a number of its own; QUIC's are the stack's.
    sent = [number(data) for data in of(records(files[0])[1:], "packet_sent")]
    assert sent == list(range(len(sent)))


def test_each_packet_of_tcp_is_acknowledged_or_lost_once(folder: Path, tmp_path: Path) -> None:
    _, *events = records(export_qlog(folder, tmp_path, "0.3", "cubic")[0])
    sent: dict[int, tuple[int, int]] = {}
    acked: set[int] = set()
    lost: set[int] = set()
    for event in events:
        data = event["data"]
        if event["name"].endswith("packet_sent"):
            for frame in data["frames"]:
                sent[number(data)] = (frame["offset"], frame["offset"] + frame["length"])
        elif event["name"].endswith("packet_lost"):
            assert number(data) in sent.keys() - acked - lost
            lost.add(number(data))
        elif event["name"].endswith("packet_received"):
            for frame in data["frames"]:
                for low, high in frame["acked_ranges"]:
                    new = set(range(low, high + 1))
                    assert new <= sent.keys() - acked
                    acked |= new
    assert sorted(acked | lost) == sorted(sent)
    assert len(lost) > 5
    # What was acknowledged is the whole transfer, each byte once.
    ranges = sorted(sent[one] for one in acked - lost)
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == 2_000_000


def test_packets_of_quic_are_acknowledged_or_lost(folder: Path, tmp_path: Path) -> None:
    _, *events = records(export_qlog(folder, tmp_path, "0.3", "noq")[0])
    sent = [number(data) for data in of(events, "packet_sent") if "packet_number" in data["header"]]
    assert sent == sorted(set(sent))
    acked: set[int] = set()
    for data in of(events, "packet_received"):
        for frame in data["frames"]:
            assert frame["frame_type"] == "ack"
            for low, high in frame["acked_ranges"]:
                assert low <= high
                acked |= set(range(low, high + 1))
    lost = {number(data) for data in of(events, "packet_lost")}
    assert acked <= set(sent)
    assert not acked & lost
    assert len(set(sent) - acked - lost) <= 2  # the last, which closes the connection
    assert len(lost) > 5
    # The receiver's packets are acknowledged, too.
    assert any(data["frames"] for data in of(events, "packet_sent"))


def test_expired_timers_are_events(tmp_path: Path) -> None:
    text = STUDY.replace('loss = "0.5%"', 'down = [["0.5s", "1.5s"]]')
    run = Study.from_toml(text).run(tmp_path / "run")
    counted = [row["timeouts"] for row in run.records("connections").to_pylist()]
    for version, name in (("0.3", "recovery:loss_timer_updated"), ("draft-14", "quic:timer_updated")):
        for connection, file in enumerate(export_qlog(tmp_path / "run", tmp_path, version)):
            _, *events = records(file)
            times = [event["time"] for event in events]
            assert times == sorted(times)
            expired = [event["data"] for event in events if event["name"] == name]
            timeouts = [data for data in expired if data == {"timer_type": "pto", "event_type": "expired"}]
            # The counter of QUIC has those of the receiver, too; TCP's has no tail loss probes.
            assert len(timeouts) >= 2
            assert len(timeouts) == pytest.approx(counted[connection], abs=2)
            assert {data["timer_type"] for data in expired} <= {"pto", "ack"}


def test_windows_and_losses_are_those_of_the_records(folder: Path, tmp_path: Path) -> None:
    run = Study.from_toml(STUDY).run()
    for connection, file in enumerate(export_qlog(folder, tmp_path, "0.3")):
        _, *events = records(file)
        windows = [row for row in run.records("cwnd").to_pylist() if row["connection"] == connection]
        found = [data["congestion_window"] for data in of(events, "metrics_updated")]
        assert found == [row["cwnd_bytes"] for row in windows]
        (row,) = [row for row in run.records("connections").to_pylist() if row["connection"] == connection]
        assert len(of(events, "packet_lost")) == pytest.approx(row["retransmits"], abs=2)


def test_the_current_draft_has_its_own_names(folder: Path, tmp_path: Path) -> None:
    (file,) = export_qlog(folder, tmp_path, "draft-14", "noq")
    header, *events = records(file)
    assert header["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert header["trace"]["event_schemas"] == ["urn:ietf:params:qlog:events:quic-14"]
    assert {event["name"] for event in events} - {"quic:timer_updated"} == {
        *("quic:packet_sent", "quic:packet_received", "quic:packet_lost", "quic:recovery_metrics_updated")
    }


def test_wrong_names_are_rejected(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r'no version "0\.4" of qlog'):
        export_qlog(folder, tmp_path, "0.4")
    with pytest.raises(NotFoundError, match='no flow "cubik" of TCP or QUIC'):
        export_qlog(folder, tmp_path, "0.3", "cubik")
