"""Conversion of qlog events, in the forms of all drafts of draft-ietf-quic-qlog-quic-events, into `Event`s.

Every field may be missing or have a type that the drafts do not allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cwndlab.base.writing import count_text

from .qlog_file import Json, RawTrace, inner
from .quic_log import (
    Blocked,
    Closed,
    Credit,
    Event,
    Expired,
    LimitReached,
    Lost,
    Metrics,
    PacketName,
    QuicLog,
    Received,
    Sent,
    State,
)

#: Packet number spaces by packet type, for types other than application data (RFC 9000, section 12.3).
_SPACES = {"initial": "initial", "handshake": "handshake"}
#: Frames that are not ack-eliciting (RFC 9002, section 2).
_SILENT = ("ack", "padding", "connection_close")
_BLOCKED_FRAMES = {
    "data_blocked": "flow-connection",
    "stream_data_blocked": "flow-stream",
    "streams_blocked": "stream-limit",
}
#: Causes of waits, by the reason that a stack gives for being blocked.
_REASONS = {
    "scheduling": "scheduling",
    "pacing": "pacing",
    "amplification_protection": "amplification",
    "congestion_control": "cwnd",
    "connection_flow_control": "flow-connection",
    "stream_flow_control": "flow-stream",
    "stream_id": "stream-limit",
    "application": "application",
}
_METRICS = {
    "congestion_window": "cwnd",
    "cwnd": "cwnd",  # aioquic
    "bytes_in_flight": "in_flight",
    "min_rtt": "min_rtt_ms",
    "pto_count": "pto_count",
}
#: Fields of a close event that may hold the name of an error, the preferred first.
_ERRORS = ("connection_error", "application_error", "connection_code", "application_code", "error")
#: Greater than any integer that QUIC can encode (RFC 9000, section 16).
_LIMIT = 1 << 62


def as_log(trace: RawTrace, name: str) -> QuicLog:
    """The log of one connection in a qlog file."""
    log = QuicLog(name, trace.end, [], list(trace.notes), 1_000_000 if trace.whole_ms else 1)
    translate = _Translator(trace.end)
    for time, event, data in trace.events:
        maker = _MAKERS.get(event)
        if maker is not None:
            log.events += maker(translate, time, data)
    if not log.events:
        log.notes.append("it has no event of packets, recovery or a connection's end: nothing is known")
    elif translate.sizes_missing:
        what = count_text(translate.sizes_missing, "packet")
        log.notes.append(f"{what} sent without a logged size, counted as nothing")
    if translate.without_frames:
        log.notes.append("packets are logged without frames; those of 100 bytes and more count as data")
    return log


class _Translator:
    def __init__(self, end: str) -> None:
        self.end = end
        self.sizes_missing = self.without_frames = 0
        self.closed = False

    def take_sent(self, time: int, data: Json) -> Iterator[Event]:
        frames, size = _frames(data), _size(data)
        self.sizes_missing += size is None
        if frames is None:
            self.without_frames += 1
            yield Sent(time, _packet(data), size or 0, (size or 0) >= 100)
            return
        kinds = [_kind(frame) for frame in frames]
        eliciting = any(kind not in _SILENT for kind in kinds)
        streams = tuple(part for frame in frames if (part := _stream(frame)) is not None)
        yield Sent(time, _packet(data), size or 0, eliciting, streams, _blocked(frames))
        yield from self._close_frames(time, frames, "This end")

    def take_received(self, time: int, data: Json) -> Iterator[Event]:
        frames = _frames(data) or []
        packet = _packet(data)
        space = packet[0] if packet is not None else "application"
        acked = [
            (space, *pair)
            for frame in frames
            if _kind(frame) == "ack"
            for pair in _ranges(frame.get("acked_ranges"))
        ]
        most, streams = None, []
        for frame in frames:
            maximum = _whole(frame, "maximum")
            if _kind(frame) == "max_data" and maximum is not None:
                most = max(most or 0, maximum)
            elif _kind(frame) == "max_stream_data" and maximum is not None:
                streams.append((_whole(frame, "stream_id") or 0, maximum))
        kinds = [_kind(frame) for frame in frames]
        size = sum(part[2] for frame in frames if (part := _stream(frame)) is not None)
        yield Received(
            time, tuple(acked), most, tuple(streams), "max_streams" in kinds, size, _blocked(frames)
        )
        yield from self._close_frames(time, frames, "The peer")

    def _close_frames(self, time: int, frames: list[Json], who: str) -> Iterator[Event]:
        for frame in frames:
            if _kind(frame) == "connection_close" and not self.closed:
                self.closed = True
                yield Closed(time, f"{who} closed it", _reason(frame))

    def closing(self, time: int, data: Json) -> Iterator[Event]:
        self.closed = True
        trigger = data.get("trigger")
        who = {"local": "This end", "remote": "The peer"}.get(str(data.get("initiator", data.get("owner"))))
        if trigger == "idle_timeout":
            yield Closed(time, "It timed out, idle,")
        elif trigger == "stateless_reset":
            yield Closed(time, "The peer had lost its state, and reset it")
        else:
            more = f" ({str(trigger)[:60]})" if trigger else ""
            yield Closed(time, f"{who or 'One end'} closed it", f"{more}{_reason(data)}")

    def metrics(self, time: int, data: Json) -> Iterator[Event]:
        values = {word: value for key, word in _METRICS.items() if (value := _number(data, key)) is not None}
        if values:
            yield Metrics(time, values)

    def state(self, time: int, data: Json) -> Iterator[Event]:
        if isinstance(data.get("new"), str):
            yield State(time, data["new"][:60].lower(), str(data.get("trigger", ""))[:60])

    def lost(self, time: int, data: Json) -> Iterator[Event]:
        yield Lost(time, _packet(data))

    def timer(self, time: int, data: Json) -> Iterator[Event]:
        if data.get("event_type") == "expired" and data.get("timer_type") in ("pto", "loss_timeout"):
            yield Expired(time)

    def credit(self, time: int, data: Json) -> Iterator[Event]:
        if data.get("initiator", data.get("owner")) == "remote":
            yield Credit(
                time,
                _whole(data, "initial_max_data"),
                # Here, "local" is the peer's view of the streams that it opened (RFC 9000, section 18.2).
                _whole(data, "initial_max_stream_data_bidi_remote"),
                _whole(data, "initial_max_stream_data_bidi_local"),
                _whole(data, "initial_max_stream_data_uni"),
            )

    def take_block(self, time: int, data: Json, what: str) -> Iterator[Event]:
        if data.get("new") == "unblocked":
            yield Blocked(time, what, "")
        elif data.get("new") == "blocked":
            yield Blocked(time, what, _REASONS.get(str(data.get("reason")), "blocked"))

    def connection_blocked(self, time: int, data: Json) -> Iterator[Event]:
        return self.take_block(time, data, "connection")

    def stream_blocked(self, time: int, data: Json) -> Iterator[Event]:
        return self.take_block(time, data, f"stream {_whole(data, 'stream_id')}")

    def datagrams_blocked(self, time: int, data: Json) -> Iterator[Event]:
        return self.take_block(time, data, "datagrams")


#: The method that converts each event, by its name; other events say nothing about waits.
_MAKERS: Mapping[str, Callable[[_Translator, int, Json], Iterator[Event]]] = {
    "packet_sent": _Translator.take_sent,
    "packet_received": _Translator.take_received,
    "metrics_updated": _Translator.metrics,
    "recovery_metrics_updated": _Translator.metrics,
    "congestion_state_updated": _Translator.state,
    "packet_lost": _Translator.lost,
    "loss_timer_updated": _Translator.timer,
    "timer_updated": _Translator.timer,
    "parameters_set": _Translator.credit,
    "connection_closed": _Translator.closing,
    "connection_data_blocked_updated": _Translator.connection_blocked,
    "stream_data_blocked_updated": _Translator.stream_blocked,
    "datagram_data_blocked_updated": _Translator.datagrams_blocked,
}


def _number(data: Json, key: str) -> float | None:
    """A non-negative number, None if there is none; older drafts write large numbers as text."""
    value = data.get(key)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LIMIT:
        return None
    return value


def _whole(data: Json, key: str) -> int | None:
    value = _number(data, key)
    return None if value is None else int(value)


def _frames(data: Json) -> list[Json] | None:
    frames = data.get("frames")
    return [frame for frame in frames if isinstance(frame, dict)] if isinstance(frames, list) else None


def _kind(frame: Json) -> str:
    return str(frame.get("frame_type", ""))


def _blocked(frames: list[Json]) -> tuple[LimitReached, ...]:
    return tuple(
        LimitReached(_BLOCKED_FRAMES[_kind(frame)], _whole(frame, "stream_id"), _whole(frame, "limit"))
        for frame in frames
        if _kind(frame) in _BLOCKED_FRAMES
    )


def _packet(data: Json) -> PacketName | None:
    header = inner(data, "header") or data
    number = _whole(header, "packet_number")
    kind = header.get("packet_type", data.get("packet_type", header.get("type")))
    return None if number is None else (_SPACES.get(str(kind).lower(), "application"), number)


def _size(data: Json) -> int | None:
    size = _whole(inner(data, "raw"), "length")
    return size if size is not None else _whole(inner(data, "header"), "packet_size")


def _stream(frame: Json) -> tuple[int, int, int] | None:
    """Stream id, offset and length of a frame's data; None for frames other than STREAM."""
    if _kind(frame) != "stream":
        return None
    length = _whole(frame, "length")
    if length is None:
        length = _whole(inner(frame, "raw"), "payload_length") or _whole(inner(frame, "raw"), "length")
    return _whole(frame, "stream_id") or 0, _whole(frame, "offset") or 0, length or 0


def _ranges(ranges: Any) -> Iterator[tuple[int, int]]:
    """Acknowledged ranges as (first, last); a range of one packet may be a single number."""
    for one in ranges if isinstance(ranges, list) else []:
        pair = one if isinstance(one, list) else [one]
        ends = [end for end in (_number({"n": end}, "n") for end in pair) if end is not None]
        if ends:
            yield int(ends[0]), int(ends[-1])


def _reason(data: Json) -> str:
    """The error and the reason phrase of a close, as text that follows a sentence; "" without them."""
    error = next((str(data[key])[:60] for key in _ERRORS if data.get(key) not in (None, "", "unknown")), "")
    code = next(
        (
            value
            for key in ("error_code", "raw_error_code", "code")
            if (value := _whole(data, key)) is not None
        ),
        None,
    )
    words = str(data.get("reason", ""))[:200].strip()
    said = error or (f"error {code}" if code else "without an error" if code == 0 else "")
    return "".join((f", {said}" if said else "", f': "{words}"' if words else ""))
