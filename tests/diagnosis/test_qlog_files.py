"""qlog files: of four stacks, of every version, damaged, and of strangers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.apps.diagnosis.quic.explain_qlog import as_logs, explain_qlog
from cwndlab.apps.diagnosis.quic.explain_quic import diagnose_logs
from cwndlab.apps.diagnosis.quic.qlog_file import is_qlog, parse_qlog, read_qlog
from cwndlab.base.errors import StudyError
from cwndlab.cli import app
from fuzzing import Answers, tries

#: 60 kB from a server over 1 Mb/s and 40 ms behind a queue of 6 packets, on Linux in virtual time.
FOLDER = Path(__file__).parent / "qlogs"
SENT = {
    "header": {"packet_type": "1RTT", "packet_number": 0},
    "raw": {"length": 1200},
    "frames": [{"frame_type": "stream", "stream_id": 0, "offset": 0, "length": 1150}],
}
HEAD = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"vantage_point": {"type": "server"}}}


def sequence(*events: dict[str, Any], head: dict[str, Any] | None = None) -> bytes:
    return "".join(f"\x1e{json.dumps(one)}\n" for one in (head or HEAD, *events)).encode()


def contained(events: list[Any], version: str = "0.3", **trace: Any) -> bytes:
    return json.dumps({"qlog_version": version, "traces": [{**trace, "events": events}]}).encode()


def times(content: bytes) -> list[int]:
    [trace] = parse_qlog(content, "a.qlog")
    return [time for time, _, _ in trace.events]


@pytest.mark.parametrize(
    ("name", "packets", "lost", "ended"),
    [
        ("quic-go.sqlog.gz", 115, 61, "The peer closed it at 0.637213 s, without an error."),
        ("ngtcp2.sqlog.gz", 58, 8, "The peer closed it at 0.670000 s, error 256."),
        ("aioquic.qlog.gz", 81, 13, "The peer closed it at 0.630000 s, without an error."),
        ("x-net-quic.sqlog.gz", 62, 5, ""),
    ],
)
def test_the_qlog_of_four_stacks_is_summed_up(name: str, packets: int, lost: int, ended: str) -> None:
    text = gzip.decompress((FOLDER / name).read_bytes()).decode()
    assert text.count("packet_lost") == lost
    found = explain_qlog(FOLDER / name)
    [one] = found.summaries
    assert (one.segments, one.retransmitted, one.ended) == (packets, lost, ended)
    assert one.acknowledged_bytes == pytest.approx(60_000, rel=0.12)  # HTTP/3's headers, and what came twice
    assert one.rtt_s is not None and 0.04 < one.rtt_s[0] < 0.06 < one.rtt_s[1]
    assert found.waits_known and {"handshake", "cwnd", "recovery"} <= set(found.waited_s)
    assert found.notes == ()


def test_the_command_explains_a_qlog(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        app(["explain", str(FOLDER / "x-net-quic.sqlog.gz"), "--longest", "1"])
    assert left.value.code == 0
    assert capsys.readouterr().out.endswith(
        "0.188985 to 0.247833 s (58.8 ms): losses were being repaired, without a timeout\n"
        "  0.188985 s  the stack: window 9011 bytes, 13180 in flight\n"
        "  0.247833 s  an ACK up to packet 17 arrived\n"
        "  0.247833 s  packet 23 sent, 1200 bytes\n"
    )
    with pytest.raises(SystemExit) as left:
        app(["explain", str(FOLDER / "x-net-quic.sqlog.gz"), "--seed", "1"])
    assert left.value.code == 2 and "a qlog" in capsys.readouterr().err


def test_files_are_known_by_their_names_or_first_bytes(tmp_path: Path) -> None:
    assert is_qlog(Path("a.qlog")) and is_qlog(Path("a.sqlog.gz")) and not is_qlog(Path("a.toml"))
    for name, content, known in (
        ("a", sequence(), True),
        ("b.json", contained([]), True),
        ("c.json", b'{"events": []}', False),
        ("d", b"\x0a\x0d\x0d\x0a", False),
    ):
        (tmp_path / name).write_bytes(content)
        assert is_qlog(tmp_path / name) is known, name


@pytest.mark.parametrize(
    ("common", "given", "expected_ms"),
    [
        ({"time_format": "absolute"}, [1e12, 1e12 + 1.5, 1e12 + 2], [0, 1.5, 2]),
        ({"time_format": "relative", "reference_time": 7}, [3, 3.25], [0, 0.25]),
        ({"time_format": "delta"}, [5, 1, 2], [0, 1, 3]),
        ({"time_format": "relative_to_previous_event"}, [5, 1, 2], [0, 1, 3]),
        ({"time_units": "us"}, [1000, 3500], [0, 2.5]),
        ({}, ["10", "12.5"], [0, 2.5]),
    ],
)
def test_times_count_from_the_first_event_in_every_format(
    common: dict[str, Any], given: list[Any], expected_ms: list[float]
) -> None:
    events = [{"time": time, "name": "transport:packet_sent", "data": SENT} for time in given]
    assert times(contained(events, common_fields=common)) == [round(ms * 1e6) for ms in expected_ms]


def test_events_of_draft_01_are_lists_whose_fields_the_trace_names() -> None:
    content = contained(
        [[4, "transport", "packet_sent", SENT], [9, "transport", "packet_sent", SENT], [1, 2]],
        "draft-01",
        event_fields=["relative_time", "category", "event", "data"],
    )
    [trace] = parse_qlog(content, "a.qlog")
    assert [(time, name) for time, name, _ in trace.events] == [
        (0, "packet_sent"),
        (5_000_000, "packet_sent"),
    ]
    assert trace.notes == ["1 event without a time or a form that is known, left out"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"   \n", "is empty"),
        (b"hello", "is neither JSON nor a sequence of it, or ends too early"),
        (b"[1, 2]", "is JSON, but no qlog"),
        (b'{"a": 1}', "has neither qlog_version nor file_schema"),
        (b"\x1ehello\n\x1eagain\n", "is no qlog: not one of its 2 records is JSON"),
        (b'\x1e{"a": 1}\n\x1e{"time": 1}\n', "has neither qlog_version nor file_schema"),
        (contained([]), "is a qlog without events"),
        (sequence(), "is a qlog without events"),
        (contained([{"name": "transport:packet_sent"}, 7, None]), "is a qlog without events"),
        (json.dumps({"qlog_version": "0.3", "traces": 7}).encode(), "is a qlog without events"),
        (b'{"qlog_version": "0.3", "traces": [{"vant', "ends too early"),
        (b"[" * 100_000, "ends too early"),
        (b"\xff\xfe\x00\x00", "is neither JSON"),
    ],
)
def test_what_is_no_qlog_is_rejected_with_the_reason(content: bytes, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        parse_qlog(content, "strange")


def test_a_file_that_cannot_be_read_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot be read"):
        read_qlog(tmp_path / "missing.qlog")
    (tmp_path / "cut.qlog.gz").write_bytes(gzip.compress(sequence(*[{"time": 0}] * 50))[:30])
    with pytest.raises(StudyError, match="cannot be read"):
        read_qlog(tmp_path / "cut.qlog.gz")


def test_a_version_that_is_not_known_is_read_and_named() -> None:
    event = {"time": 0, "name": "quic:packet_sent", "data": SENT}
    [trace] = parse_qlog(contained([event], "9.9"), "a")
    assert trace.notes == ["qlog version '9.9' is not known; it is read as the current draft is"]
    head = {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {}}
    [trace] = parse_qlog(sequence(event, head=head), "a")
    assert trace.notes == []


def test_what_comes_before_the_fault_of_a_damaged_file_is_read() -> None:
    events = [{"time": time, "name": "transport:packet_sent", "data": SENT} for time in range(5)]
    whole = contained(events)
    [trace] = parse_qlog(whole[: whole.rindex(b'{"time"') + 9], "a.qlog")
    assert len(trace.events) == 4
    assert trace.notes == ["the file is damaged or ends too early; events are read as far as that"]
    lines = sequence(*events)
    [trace] = parse_qlog(lines[:-9], "a.sqlog")
    assert len(trace.events) == 4
    assert trace.notes == ["1 record damaged, the last of them in the middle, left out"]
    [trace] = parse_qlog(lines.replace(b"\x1e", b""), "a.sqlog")  # newline-delimited JSON
    assert len(trace.events) == 5 and trace.notes == []


def test_traces_with_an_error_alone_are_named_and_others_are_read() -> None:
    event = {"time": 0, "name": "transport:packet_sent", "data": SENT}
    content = {"qlog_version": "0.3", "traces": [{"error_description": "no keys"}, {"events": [event]}, "x"]}
    [trace] = parse_qlog(json.dumps(content).encode(), "a")
    assert trace.notes == ["a trace has only an error: no keys"]


def test_times_that_make_no_sense_are_left_out_and_disorder_is_sorted() -> None:
    named = [
        {"time": time, "name": "transport:packet_sent", "data": SENT} for time in (5, 3, 1e300, "soon", True)
    ]
    [trace] = parse_qlog(contained(named).replace(b"1e+300", b"NaN"), "a")
    assert [time for time, _, _ in trace.events] == [0, 2_000_000]
    assert trace.notes == [
        "events are not in order of time; they are sorted",
        "3 events without a time or a form that is known, left out",
    ]
    [trace] = parse_qlog(contained(named[:3]), "a")
    assert len(trace.events) == 2 and "1 event more than 100 days after the first, left out" in trace.notes


def test_a_log_that_says_nothing_of_packets_states_the_gap() -> None:
    event = {"time": 0, "name": "security:key_updated", "data": {}}
    found = diagnose_logs(as_logs(parse_qlog(contained([event]), "a")))
    assert not found.waits_known and found.waited_s == {}
    assert found.notes == (
        "it has no event of packets, recovery or a connection's end: nothing is known",
        "no packet that asks for an acknowledgment is logged, so nothing is known of waits",
    )


def test_packets_without_sizes_or_frames_are_named() -> None:
    small = {**SENT, "raw": {}}
    bare = {"header": SENT["header"], "raw": {"length": 1200}}
    events = [
        {"time": k, "name": "transport:packet_sent", "data": data} for k, data in enumerate((small, bare))
    ]
    [log] = as_logs(parse_qlog(contained(events), "a"))
    assert log.notes == [
        "1 packet sent without a logged size, counted as nothing",
        "packets are logged without frames; those of 100 bytes and more count as data",
    ]


ANSWERS = Answers()
REAL = [gzip.decompress(path.read_bytes())[:20_000] for path in sorted(FOLDER.glob("*.gz"))]


@tries(150)
@given(st.sampled_from(REAL), st.data())
def test_no_change_of_a_real_file_ends_in_anything_but_an_answer(real: bytes, data: st.DataObject) -> None:
    content = bytearray(real)
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(content) - 1))
        new = data.draw(
            st.sampled_from([b"", b"-1", b"null", b"[]", b"{", b'"', b"1e999", b"9" * 30, b"\x1e", b"\xff"])
        )
        content[at : at + data.draw(st.sampled_from([0, 1, 5, 300]))] = new
    with ANSWERS.counted(StudyError):
        str(diagnose_logs(as_logs(parse_qlog(bytes(content), "strange"))))


def test_some_damaged_files_are_read_and_some_are_not() -> None:
    ANSWERS.check(accepted=0.2, rejected=0.1)
