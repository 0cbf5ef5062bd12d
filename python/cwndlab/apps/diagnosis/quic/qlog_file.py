"""Reader of qlog files, which need not be well-formed: JSON and JSON text sequences, from draft-01 on.

See draft-ietf-quic-qlog-main-schema. Events are returned unchanged, except that their times count from the
first event.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import count_text

#: Suffixes of qlog files.
_SUFFIXES = (".qlog", ".sqlog", ".qlog.gz", ".sqlog.gz")
_KNOWN = ("0.3", "0.4", "draft-01", "draft-02")
_SCHEMAS = ("urn:ietf:params:qlog:file:contained", "urn:ietf:params:qlog:file:sequential")
#: Limits of what is read: bytes of a file, and events of a trace.
_MOST_BYTES, _MOST_EVENTS = 1 << 28, 1_000_000
_RECORD = "\x1e"
_RIGHT = "a qlog file: JSON (.qlog) or JSON text sequences (.sqlog)"
#: Nanoseconds in each unit of time.
_UNITS = {"ms": 1e6, "us": 1e3}
#: Events later than this, counted from the first event, are dropped as faulty.
_LONGEST_NS = 10**16
Json = Mapping[str, Any]


@dataclass
class RawTrace:
    """One connection of a qlog file."""

    title: str
    end: str
    #: Each event: time in ns, name without its schema, and data.
    events: list[tuple[int, str, Json]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Whether all times are whole milliseconds.
    whole_ms: bool = True


def is_qlog(path: Path) -> bool:
    """Whether a file is a qlog, by its suffix or its first bytes."""
    if path.name.endswith(_SUFFIXES):
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(4096)
    return start.lstrip(b"\x1e \r\n").startswith(b"{") and any(
        word in start for word in (b'"qlog_version"', b'"qlog_format"', b"params:qlog:file")
    )


def read_qlog(path: Path) -> list[RawTrace]:
    """The connections of a qlog file.

    Raises:
        StudyError: the file cannot be read, is no qlog, or has no events.

    """
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            with gzip.open(path) as file:
                content = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise StudyError(f"{path} cannot be read: {error}") from None
    return parse_qlog(content, str(path))


def parse_qlog(content: bytes, name: str) -> list[RawTrace]:
    """The connections in the content of a qlog file."""
    notes = []
    if len(content) > _MOST_BYTES:
        content = content[:_MOST_BYTES]
        notes.append(f"only the first {_MOST_BYTES >> 20} MiB are read")
    text = content.decode("utf-8", errors="replace").lstrip("\ufeff \r\n\t")
    if not text:
        raise StudyError(f"{name} is empty", right=_RIGHT)
    decoder = json.JSONDecoder()
    # A JSON file is a single value; a sequence continues after its first value.
    head, end = _decode(decoder, text.lstrip(_RECORD))
    sequence = text.startswith(_RECORD) or (head is not None and bool(text[end:].strip()))
    if sequence:
        traces = [_sequence(decoder, text, name, notes)]
    else:
        traces = _contained(decoder, text, head, name, notes)
    found = [trace for trace in traces if trace.events]
    if not found:
        raise StudyError(f"{name} is a qlog without events", right=_RIGHT)
    return found


def _decode(decoder: json.JSONDecoder, text: str, at: int = 0) -> tuple[Any, int]:
    """The JSON value at a position, and the position after it; (None, `at`) if it is invalid or too deep."""
    try:
        value, end = decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at
    return value, end


def _version(head: Json, name: str) -> list[str]:
    """A note if the qlog version is unknown; StudyError if there is none, so the file is no qlog."""
    version, schema = head.get("qlog_version"), head.get("file_schema")
    if version is None and schema is None:
        raise StudyError(f"{name} has neither qlog_version nor file_schema", right=_RIGHT)
    if version in _KNOWN or schema in _SCHEMAS:
        return []
    return [f"qlog version {str(version or schema)[:60]!r} is not known; it is read as the current draft is"]


def _sequence(decoder: json.JSONDecoder, text: str, name: str, notes: list[str]) -> RawTrace:
    """Reads a JSON text sequence (RFC 7464), or lines of JSON without record separators."""
    records = text.split(_RECORD) if _RECORD in text else text.splitlines()
    values: list[Any] = []
    damaged = 0
    for record in filter(None, map(str.strip, records)):
        value, end = _decode(decoder, record)
        if not isinstance(value, dict) or record[end:].strip():
            damaged += 1
            continue
        values.append(value)
        if len(values) > _MOST_EVENTS:
            notes.append(f"only the first {_MOST_EVENTS} events are read")
            break
    if not values:
        raise StudyError(f"{name} is no qlog: not one of its {damaged} records is JSON", right=_RIGHT)
    head = values[0]
    notes += _version(head, name)
    if damaged:
        last = ", the last of them in the middle" if not text.rstrip("\r\n ").endswith("}") else ""
        notes.append(f"{count_text(damaged, 'record')} damaged{last}, left out")
    trace = head.get("trace")
    return _trace(trace if isinstance(trace, dict) else {}, head, values[1:], notes)


def _contained(
    decoder: json.JSONDecoder, text: str, head: Any, name: str, notes: list[str]
) -> list[RawTrace]:
    if head is None:
        return [_salvage(decoder, text, name, notes)]
    if not isinstance(head, dict):
        raise StudyError(f"{name} is JSON, but no qlog", right=_RIGHT)
    notes += _version(head, name)
    listed = head.get("traces")
    traces = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    made = []
    for trace in traces:
        if "error_description" in trace:
            notes.append(f"a trace has only an error: {str(trace['error_description'])[:200]}")
            continue
        events = trace.get("events")
        made.append(_trace(trace, head, events if isinstance(events, list) else [], notes))
    return made


def _salvage(decoder: json.JSONDecoder, text: str, name: str, notes: list[str]) -> RawTrace:
    """The events of a damaged or truncated JSON file, up to the fault."""
    start = text.find('"events"')
    at = text.find("[", start) + 1
    if start < 0 or at == 0 or not any(f'"{word}"' in text[:at] for word in ("qlog_version", "file_schema")):
        raise StudyError(f"{name} is neither JSON nor a sequence of it, or ends too early", right=_RIGHT)
    events: list[Any] = []
    while len(events) < _MOST_EVENTS:
        while at < len(text) and text[at] in ", \r\n\t":
            at += 1
        value, end = _decode(decoder, text, at)
        if value is None:
            break
        events.append(value)
        at = end
    notes.append("the file is damaged or ends too early; events are read as far as that")
    return _trace({}, {}, events, notes)


def _trace(trace: Json, head: Json, events: list[Any], notes: list[str]) -> RawTrace:
    """A trace with its events in order of time, from 0 on; malformed events are omitted and noted."""
    common = inner(trace, "common_fields")
    point = inner(trace, "vantage_point")
    title = next((str(one) for one in (trace.get("title"), head.get("title"), point.get("name")) if one), "")
    group = next((str(name) for name in (common.get("group_id"), common.get("ODCID")) if name), "")
    end = point.get("type")
    made = RawTrace(" ".join(filter(None, (title, group)))[:80], end if end in ("client", "server") else "")
    made.notes = list(notes)
    unit = _UNITS.get(str(common.get("time_units") or inner(trace, "configuration").get("time_units")), 1e6)
    fields = trace.get("event_fields")
    timed, strange = [], 0
    previous: float | None = None
    for event in events[:_MOST_EVENTS]:
        row = _as_table(event, fields)
        time = row.get("time", row.get("relative_time")) if row is not None else None
        if row is None or isinstance(time, bool) or not isinstance(time, int | float | str):
            strange += 1
            continue
        try:
            moment = float(time)
        except (ValueError, OverflowError):
            moment = math.nan
        if not math.isfinite(moment):
            strange += 1
            continue
        form = row.get("time_format", common.get("time_format"))
        if form in ("delta", "relative_to_previous_event") and previous is not None:
            moment += previous
        previous = moment
        timed.append((moment, str(row.get("name", "")), row.get("data")))
    made.events = list(_from_first(timed, unit, made))
    if strange:
        made.notes.append(f"{count_text(strange, 'event')} without a time or a form that is known, left out")
    return made


def _from_first(
    timed: list[tuple[float, str, Any]], unit: float, made: RawTrace
) -> Iterator[tuple[int, str, Json]]:
    if any(a[0] > b[0] for a, b in pairwise(timed)):
        made.notes.append("events are not in order of time; they are sorted")
        timed.sort(key=lambda event: event[0])
    first = timed[0][0] if timed else 0.0
    far = 0
    for moment, name, data in timed:
        time = round((moment - first) * unit)
        if time > _LONGEST_NS:
            far += 1
            continue
        made.whole_ms = made.whole_ms and time % 1_000_000 == 0
        yield time, name.rpartition(":")[2], data if isinstance(data, dict) else {}
    if far:
        made.notes.append(f"{count_text(far, 'event')} more than 100 days after the first, left out")


def _as_table(event: Any, fields: Any) -> Json | None:
    """An event as an object, None if malformed; draft-01 writes lists, whose fields the trace names."""
    if isinstance(event, dict):
        if "name" not in event and "event" in event:
            return {**event, "name": event["event"]}
        return event
    if isinstance(event, list) and isinstance(fields, list) and len(event) == len(fields):
        row = dict(zip(map(str, fields), event, strict=True))
        return {**row, "name": row.get("name", row.get("event", row.get("event_type", "")))}
    return None


def inner(owner: Json, key: str) -> Json:
    """The object in this field; empty if the field is missing or is no object."""
    value = owner.get(key)
    return value if isinstance(value, dict) else {}
