"""What kept the senders in a qlog file from sending."""

from __future__ import annotations

from pathlib import Path

from cwndlab.apps.diagnosis.diagnosis import Diagnosis

from .explain_quic import diagnose_logs
from .qlog_events import as_log
from .qlog_file import RawTrace, read_qlog
from .quic_log import QuicLog

#: At most this many connections of a file are diagnosed, those with the most events.
_MOST = 100


def explain_qlog(path: Path, at_s: float | None = None, longest: int = 5) -> Diagnosis:
    """The diagnosis of the senders in a qlog file; StudyError for other files."""
    return diagnose_logs(as_logs(read_qlog(path)), at_s, longest)


def as_logs(traces: list[RawTrace]) -> list[QuicLog]:
    """The connections of a qlog file as logs; a note reports connections that were omitted."""
    kept = sorted(traces, key=lambda trace: -len(trace.events))[:_MOST]
    logs = [as_log(trace, _name(trace, k)) for k, trace in enumerate(t for t in traces if t in kept)]
    if len(traces) > _MOST:
        logs[0].notes.append(f"{len(traces) - _MOST} connections with fewer events are left out")
    return logs


def _name(trace: RawTrace, index: int) -> str:
    return ", ".join(filter(None, (trace.title or f"connection {index}", trace.end)))
