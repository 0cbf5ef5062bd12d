"""`cwndlab export --qlog`: what the files say of packets, ACKs, losses and windows, in both versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cwndlab.errors import NotFoundError, StudyError
from cwndlab.runs.export import export_qlog
from cwndlab.study import Study

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
        assert names == {
            *("transport:packet_sent", "transport:packet_received"),
            *("recovery:packet_lost", "recovery:metrics_updated"),
        }
        times = [event["time"] for event in events]
        assert times == sorted(times)
        assert times[-1] < 10_000
        sent = [number(data) for data in of(events, "packet_sent")]
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
    assert {event["name"] for event in events} == {
        *("quic:packet_sent", "quic:packet_received", "quic:packet_lost", "quic:recovery_metrics_updated")
    }


def test_wrong_names_are_rejected(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r'no version "0\.4" of qlog'):
        export_qlog(folder, tmp_path, "0.4")
    with pytest.raises(NotFoundError, match='no flow "cubik" of TCP or QUIC'):
        export_qlog(folder, tmp_path, "0.3", "cubik")
