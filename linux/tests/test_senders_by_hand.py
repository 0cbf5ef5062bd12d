"""What limited a sender, its states and its timers, inferred from packets that are written by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from cwndlab_linux import senders
from cwndlab_linux.senders import ACK, CWR, FIN, SYN, ReadingRules, _End, infer, table_of

MS = 1_000_000
RULES = ReadingRules()


def end(rules: ReadingRules = RULES, **values: Any) -> _End:
    """An established end with segments of 1000 bytes, whose host answers within 1 ms; it starts at 10 ms."""
    made = _End(rules, 1000, MS, 10 * MS, 900 * MS)
    made.leave_handshake()
    made.sack_permitted = True
    for name, value in values.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("values", "rules", "limit"),
    [
        ({"established": False, "written": 5000}, RULES, "handshake"),
        ({}, RULES, "idle"),
        ({"written": 5000, "nxt": 5000, "una": 5000}, RULES, "idle"),
        ({"written": 5000, "nxt": 5000, "una": 4999}, RULES, "application"),
        ({"written": 5000, "nxt": 5001, "una": 5001, "fin": 5001}, RULES, "closed"),
        ({"written": 5000, "nxt": 5001, "una": 5000, "fin": 5001}, RULES, "application"),
        ({"written": 5000, "window": 999}, RULES, "receive-window"),
        ({"written": 5000, "window": 1000}, RULES, "cwnd"),
        ({"written": 5000, "nxt": 2000, "una": 500, "window": 2499}, RULES, "receive-window"),
        ({"written": 5000, "nxt": 2000, "una": 500, "window": 2500}, RULES, "cwnd"),
        ({"written": 2010, "nxt": 2000, "una": 2000, "window": 9}, RULES, "receive-window"),
        ({"written": 2010, "nxt": 2000, "una": 2000, "window": 10}, RULES, "cwnd"),
        ({"written": 5000, "window": 999}, ReadingRules(max_window=True), "max-window"),
        ({"written": 5000, "window": 9999, "state": "recovery"}, RULES, "recovery"),
        ({"written": 5000, "window": 9999, "state": "loss"}, RULES, "cwnd"),
        ({"written": 2999, "nxt": 2000, "una": 1000, "small": 1001, "window": 9999}, RULES, "small-segment"),
        ({"written": 2999, "nxt": 2000, "una": 1000, "small": 1000, "window": 9999}, RULES, "cwnd"),
        ({"written": 3000, "nxt": 2000, "una": 1000, "small": 1001, "window": 9999}, RULES, "cwnd"),
        (
            {"written": 2999, "nxt": 2000, "una": 1000, "small": 1001, "window": 9999},
            ReadingRules(nagle=False),
            "cwnd",
        ),
    ],
)
def test_what_limits_a_sender_follows_from_its_numbers(
    values: dict[str, Any], rules: ReadingRules, limit: str
) -> None:
    assert end(rules, **values).limit() == limit


def test_times_of_one_limit_are_one_row() -> None:
    made = end(window=9999)
    made.write(20 * MS, 3000)
    made.write(25 * MS, 1000)
    made.send(30 * MS, 0, 1000, ACK)
    made.send(30 * MS, 1000, 1000, ACK)
    made.receive(80 * MS, 0, 2000, 500, ACK, False)
    made.send(81 * MS, 0, 0, ACK)  # a pure acknowledgment changes nothing
    made.finish()
    assert made.limits == [
        (10 * MS, 20 * MS, "idle"),
        (20 * MS, 25 * MS, "cwnd"),
        (25 * MS, 30 * MS, "pacing"),  # it follows no event of the last millisecond
        (30 * MS, 80 * MS, "cwnd"),
        (80 * MS, 900 * MS, "receive-window"),
    ]
    assert made.states == [(10 * MS, 900 * MS, "open", "start", None)] and made.timeouts == []
    assert (made.written, made.nxt, made.una) == (4000, 2000, 2000)


@pytest.mark.parametrize(
    ("values", "now", "paced"),
    [
        ({}, 30, True),
        ({"last_in": 29 * MS}, 30, False),  # the host answers within 1 ms
        ({"last_in": 29 * MS - 1}, 30, True),
        ({"last_out": 29 * MS}, 30, False),
        ({"last_write": 29 * MS}, 30, False),
        ({"nxt": 1000, "last_out": 5 * MS}, 30, False),  # sent again
        ({"window": 9, "_limit": "receive-window"}, 30, False),
    ],
)
def test_only_new_segments_that_no_event_released_are_paced(
    values: dict[str, Any], now: int, paced: bool
) -> None:
    made = end(**{"written": 5000, "window": 9999, "_limit": "cwnd", **values})
    made.send(now * MS, 0, 1000, ACK)
    assert (made.limits[0][2] == "pacing") is paced


def handshake(again_ms: float | None = None) -> _End:
    made = _End(RULES, 1000, MS, 10 * MS, 900 * MS)
    made.send(10 * MS, 0, 0, SYN)
    if again_ms is not None:
        made.send(round(again_ms * MS), 0, 0, SYN)
    return made


def test_a_handshake_ends_with_the_first_acknowledgment_and_measures_a_round_trip() -> None:
    made = handshake()
    made.receive(60 * MS, 0, 0, 5000, SYN | ACK, False)
    assert (made.established, made.rtt_ns, made.window) == (True, 50 * MS, 5000)
    made.finish()
    assert made.limits == [(10 * MS, 60 * MS, "handshake"), (60 * MS, 900 * MS, "idle")]
    assert made.timeouts == []
    other = _End(RULES, 1000, MS, 10 * MS, 900 * MS)
    other.receive(60 * MS, 0, 0, 5000, SYN, False)
    assert not other.established and other.window == 5000
    other.receive(70 * MS, 0, 0, 6000, ACK, False)
    assert other.established and other.rtt_ns is None, "it has sent nothing"


def test_a_syn_that_is_sent_again_is_a_timeout_unless_it_answers() -> None:
    made = handshake(1010)
    assert made.timeouts == [(1010 * MS, "rto", 10 * MS, 1, 0)]
    made.send(3010 * MS, 0, 0, SYN)
    assert made.timeouts[1] == (3010 * MS, "rto", 1010 * MS, 2, 0)
    made.receive(3060 * MS, 0, 0, 5000, SYN | ACK, False)
    assert (made.rtt_ns, made.backoffs) == (None, 0), "which one was answered is not known"
    answered = _End(RULES, 1000, MS, 10 * MS, 900 * MS)
    answered.send(11 * MS, 0, 0, SYN | ACK)
    answered.receive(500 * MS, 0, 0, 5000, SYN, False)
    answered.send(501 * MS, 0, 0, SYN | ACK)
    assert answered.timeouts == []


BUSY = {"nxt": 3000, "una": 1000, "written": 9000, "last_in": 40 * MS, "last_out": 41 * MS, "rtt_ns": 20 * MS}


@pytest.mark.parametrize(
    ("values", "now_ms", "again", "timer"),
    [
        ({}, 300, True, "probe"),
        ({}, 42, True, None),  # within 1 ms after the last segment
        ({}, 42.1, True, "probe"),
        ({"una": 3000}, 300, True, None),
        ({"probed": True}, 300, True, "rto"),
        ({"backoffs": 1}, 300, True, "rto"),
        ({"sack_permitted": False}, 300, True, "rto"),
        ({"settings": ReadingRules(probes=False)}, 300, True, "rto"),
        ({"sacks": True}, 240, True, "reordering"),
        ({"sacks": True}, 241, True, "rto"),  # 200 ms after the last event
        ({"state": "recovery"}, 240, True, None),
        ({"state": "recovery"}, 241, True, "rto"),
        ({"state": "recovery", "backoffs": 1}, 100, True, "rto"),
        ({"state": "loss"}, 240, True, None),
        ({}, 80, False, None),  # a probe with new data needs two round trips without an event
        ({}, 81, False, "probe"),
        ({"rtt_ns": None}, 300, False, None),
        ({"last_write": 299 * MS}, 300, False, None),
        ({"last_write": 298 * MS}, 300, False, "probe"),
        ({"probed": True}, 300, False, None),
        ({"state": "recovery"}, 300, False, None),
    ],
)
def test_a_timer_is_known_by_the_silence_before_a_segment(
    values: dict[str, Any], now_ms: float, again: bool, timer: str | None
) -> None:
    assert end(**{**BUSY, **values})._timer(round(now_ms * MS), again, False) == timer


def test_a_timeout_repairs_everything_that_was_sent_and_backs_off() -> None:
    made = end(sack_permitted=False, written=9000, window=9999)
    for k in range(3):
        made.send(20 * MS, 1000 * k, 1000, ACK)
    made.send(320 * MS, 0, 1000, ACK)
    made.send(920 * MS, 0, 1000, ACK)
    assert made.timeouts == [(320 * MS, "rto", 20 * MS, 1, 0), (920 * MS, "rto", 320 * MS, 2, 0)]
    assert (made.state, made.recover) == ("loss", 3000)
    made.receive(970 * MS, 0, 1000, 9999, ACK, False)
    assert (made.state, made.backoffs) == ("loss", 0)
    made.receive(990 * MS, 0, 3000, 9999, ACK, False)
    assert made.state == "open"
    made.end_ns = 1000 * MS
    made.finish()
    assert made.states == [
        (10 * MS, 320 * MS, "open", "start", "rto"),
        (320 * MS, 920 * MS, "loss", "rto", "rto"),
        (920 * MS, 990 * MS, "loss", "rto", "ack"),
        (990 * MS, 1000 * MS, "open", "ack", None),
    ]
    assert [limit for _, _, limit in made.limits] == ["idle", "rto", "cwnd"]


def test_a_retransmission_after_reports_is_a_recovery_from_their_arrival() -> None:
    made = end(written=9000, window=9999)
    for k in range(5):
        made.send(20 * MS, 1000 * k, 1000, ACK)
    made.receive(60 * MS, 0, 1000, 9999, ACK, False)
    made.receive(61 * MS, 0, 1000, 9999, ACK, True)
    assert (made.dupacks, made.sacks, made.set_ns) == (1, True, 61 * MS)
    made.send(61 * MS, 1000, 1000, ACK)
    assert (made.state, made.recover, made.timed) == ("recovery", 5000, None)
    made.receive(100 * MS, 0, 5000, 9999, ACK, False)
    assert (made.state, made.dupacks, made.sacks) == ("open", 0, False)
    made.finish()
    assert made.states == [
        (10 * MS, 61 * MS, "open", "start", "reports"),
        (61 * MS, 100 * MS, "recovery", "reports", "ack"),
        (100 * MS, 900 * MS, "open", "ack", None),
    ]
    assert made.timeouts == [] and (61 * MS, 100 * MS, "recovery") in made.limits


def test_only_pure_acknowledgments_that_change_nothing_are_duplicates() -> None:
    made = end(nxt=3000, una=1000, written=3000, window=500)
    for length, ack, window, flags in (
        (0, 1000, 500, ACK),
        (10, 1000, 500, ACK),  # data
        (0, 1000, 501, ACK),  # another window
        (0, 900, 501, ACK),
        (0, 1000, 501, ACK | FIN),
    ):
        made.receive(50 * MS, length, ack, window, flags, False)
    assert made.dupacks == 2
    made.receive(50 * MS, 0, 3000, 501, ACK, False)
    made.receive(50 * MS, 0, 3000, 501, ACK, False)
    assert made.dupacks == 0


def test_a_tail_loss_probe_is_sent_once_and_a_reordering_timer_begins_recovery() -> None:
    made = end(written=9000, window=9999)
    made.send(20 * MS, 0, 1000, ACK)
    made.send(20 * MS, 1000, 1000, ACK)
    made.send(60 * MS, 1000, 1000, ACK)
    assert made.timeouts == [(60 * MS, "probe", 20 * MS, 0, 0)]
    assert (made.state, made.probed, made.set_ns) == ("open", True, 60 * MS)
    made.receive(90 * MS, 0, 0, 9999, ACK, True)
    made.send(100 * MS, 0, 1000, ACK)
    assert made.timeouts[1] == (100 * MS, "reordering", 90 * MS, 0, 0)
    assert (made.state, made.recover) == ("recovery", 2000)
    made.finish()
    assert made.states[0] == (10 * MS, 100 * MS, "open", "start", "reordering-timer")
    assert [limit for _, _, limit in made.limits][:4] == ["idle", "probe", "cwnd", "reordering"]


def test_a_reduction_for_marks_begins_with_the_acknowledgment_that_reported_them() -> None:
    made = end(written=9000, window=9999)
    made.send(20 * MS, 0, 1000, ACK)
    made.receive(60 * MS, 0, 1000, 9999, ACK, False)
    made.send(61 * MS, 1000, 1000, ACK | CWR)
    assert (made.state, made.recover) == ("cwr", 1000)
    made.receive(100 * MS, 0, 2000, 9999, ACK, False)
    made.finish()
    assert made.states == [
        (10 * MS, 60 * MS, "open", "start", "ecn"),
        (60 * MS, 100 * MS, "cwr", "ecn", "ack"),
        (100 * MS, 900 * MS, "open", "ack", None),
    ]


def test_round_trips_are_measured_from_segments_that_are_sent_once() -> None:
    made = end(written=9000, window=9999)
    made.send(20 * MS, 0, 1000, ACK)
    made.send(25 * MS, 1000, 1000, ACK)
    assert made.timed == (1000, 20 * MS)
    made.receive(50 * MS, 0, 999, 9999, ACK, False)
    assert made.rtt_ns is None
    made.receive(60 * MS, 0, 2000, 9999, ACK, False)
    assert (made.rtt_ns, made.timed) == (40 * MS, None)
    made.send(61 * MS, 2000, 1000, ACK)
    made.receive(91 * MS, 0, 3000, 9999, ACK, False)
    assert made.rtt_ns == 30 * MS
    made.send(92 * MS, 3000, 1000, ACK)
    made.receive(199 * MS, 0, 4000, 9999, ACK, False)
    assert made.rtt_ns == 30 * MS, "the least"


def test_the_timer_is_set_by_the_oldest_segment_and_by_progress() -> None:
    made = end(written=9000, window=9999)
    made.send(20 * MS, 0, 1000, ACK)
    made.send(30 * MS, 1000, 1000, ACK)
    assert made.set_ns == 20 * MS
    made.receive(60 * MS, 0, 1000, 9999, ACK, False)
    assert made.set_ns == 60 * MS
    made.send(61 * MS, 2000, 1000, ACK)
    assert made.set_ns == 60 * MS
    made.send(62 * MS, 1000, 1000, ACK)
    assert made.set_ns == 62 * MS, "the oldest is sent again"


def test_small_segments_and_fins_are_noted() -> None:
    made = end(written=1500, window=9999)
    made.send(20 * MS, 0, 1000, ACK)
    assert made.small == 0
    made.send(20 * MS, 1000, 500, ACK | FIN)
    assert (made.small, made.fin, made.nxt) == (1501, 1501, 1501)
    made.receive(60 * MS, 0, 1501, 9999, ACK, False)
    made.finish()
    assert made.limits[-1] == (60 * MS, 900 * MS, "closed")


def test_arrivals_come_before_writes_and_writes_before_segments_of_the_same_time() -> None:
    seen: list[tuple[str, int]] = []

    class Noting(_End):
        def write(self, now: int, count: int) -> None:
            seen.append(("write", now))

        def send(self, now: int, *more: Any) -> None:
            seen.append(("send", now))

        def receive(self, now: int, *more: Any) -> None:
            seen.append(("receive", now))

    made = Noting(RULES, 1000, MS, 0, 50)
    events = [(10, False, 0, 0, 0, 0, ACK, False, None), (20, True, 0, 9, 0, 0, ACK, False, False)]
    senders._follow(made, events, [(99, 1), (20, 1), (10, 1), (5, 1)], True)
    assert seen == [("write", 5), ("receive", 10), ("write", 10), ("write", 20), ("send", 20), ("write", 50)]
    assert (made.sack_permitted, made.established) == (False, False)
    senders._follow(made, [(*events[0][:-1], True)], [], False)
    assert (made.sack_permitted, made.established) == (True, True)


LIKE = {
    "limits": ("connection", "client", "start_ns", "end_ns", "limit"),
    "states": ("connection", "client", "start_ns", "end_ns", "state", "entered_by", "left_by"),
    "timeouts": ("time_ns", "connection", "client", "timer", "set_ns", "backoffs", "una"),
}
TYPES = {"client": pa.bool_(), "limit": pa.string(), "state": pa.string(), "timer": pa.string()}
TYPES |= {"entered_by": pa.string(), "left_by": pa.string()}
SCHEMAS = {
    name: pa.schema([(column, TYPES.get(column, pa.int64())) for column in columns])
    for name, columns in LIKE.items()
}


def test_both_ends_of_each_connection_are_inferred() -> None:
    """Connection 4 has a handshake in the run and data of its client, which is sent again; 9 has neither."""
    names = ("time_ns", "connection", "from_client", "sent", "seq", "len", "ack", "window_bytes", "flags")
    names += ("sack", "sack_permitted", "link")
    rows: list[tuple[Any, ...]] = [
        (0, 4, True, True, 0, 0, 0, 9, SYN, [], True, None),
        (20, 4, True, False, 0, 0, 0, 9, SYN, [], True, None),
        (20, 4, False, True, 0, 0, 0, 5000, SYN | ACK, [], True, None),
        (40, 4, False, False, 0, 0, 0, 5000, SYN | ACK, [], True, None),
        (41, 4, True, True, 0, 700, 0, 9, ACK, [], None, None),
        (50, 4, True, True, 0, 700, 0, 9, ACK, [], None, 3),  # an event of a link
        (300, 4, True, True, 0, 700, 0, 9, ACK, [], None, None),
        (340, 4, False, False, 0, 0, 700, 5000, ACK, [1, 2], None, None),
    ]
    columns = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    columns["time_ns"] = [at * MS for at in columns["time_ns"]]
    segments = pa.table(columns | {"sack": pa.array(columns["sack"], pa.list_(pa.int64()))})
    connections = pa.table({
        "connection": [4, 9], "traffic": [1, 0], "start_ns": [0, 5 * MS], "end_ns": [400 * MS, None],
        "established_ns": [40 * MS, 5 * MS],
    })  # fmt: skip
    rules = {
        (traffic, client): ReadingRules(probes=traffic == 1) for traffic in (0, 1) for client in (True, False)
    }
    found = infer(segments, connections, {(4, True): [(40 * MS, 700)]}, rules, 500 * MS, MS, SCHEMAS)
    assert [found[name].schema for name in LIKE] == [SCHEMAS[name] for name in LIKE]
    limits = [tuple(row.values()) for row in found["limits"].to_pylist()]
    assert (
        limits
        == [
            (4, True, 0, 40 * MS, "handshake"),
            (4, True, 40 * MS, 41 * MS, "cwnd"),
            (4, True, 41 * MS, 300 * MS, "probe"),
            (4, True, 300 * MS, 340 * MS, "application"),
            (4, True, 340 * MS, 400 * MS, "idle"),
            (4, False, 0, 20 * MS, "handshake"),
            (4, False, 20 * MS, 400 * MS, "handshake"),
            (9, True, 5 * MS, 500 * MS, "idle"),
            (9, False, 5 * MS, 500 * MS, "idle"),
        ]
        or limits
    )
    assert [tuple(row.values()) for row in found["timeouts"].to_pylist()] == [
        (300 * MS, 4, True, "probe", 41 * MS, 0, 0)
    ]
    ends = {(row["connection"], row["client"]): row["end_ns"] for row in found["states"].to_pylist()}
    assert ends == {(4, True): 400 * MS, (4, False): 400 * MS, (9, True): 500 * MS, (9, False): 500 * MS}


def test_no_rows_make_an_empty_table_of_the_schema() -> None:
    assert table_of([], SCHEMAS["limits"]).schema == SCHEMAS["limits"]
    one = table_of([(4, True, 0, 9, "idle")], SCHEMAS["limits"])
    assert one.to_pylist() == [{"connection": 4, "client": True, "start_ns": 0, "end_ns": 9, "limit": "idle"}]
