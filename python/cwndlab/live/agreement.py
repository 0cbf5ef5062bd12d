"""What stands beside a kernel's results: the simulator's of the same plan, and where the traces part."""

from __future__ import annotations

from collections.abc import Iterator

from cwndlab.report.beside import Beside, Parting
from cwndlab.runs.campaign import Campaign
from cwndlab.runs.tracediff import DEFAULT_TOLERANCE_S, Event, first_difference, of_columns

_WORDS = {
    "send": "packet {} sent",
    "retransmit": "packet {} sent again",
    "ack": "ACK up to packet {}",
    "dupack": "duplicate ACK of packet {}",
    "drop": "packet {} dropped",
}


def beside(simulated: Campaign, measured: Campaign) -> Beside:
    """The simulator's side of a report of the kernel's."""
    partings = tuple(_partings(simulated, measured))
    about = f"Times within {DEFAULT_TOLERANCE_S * 1e3:g} ms agree. First replicates."
    if not partings:
        about = "The study observes no segments (probes.segments_at), so there are no traces to compare."
    complete = not simulated.failures and not measured.failures
    return Beside(simulated.results(), partings, about, complete)


def _partings(simulated: Campaign, measured: Campaign) -> Iterator[Parting]:
    """Each cell's first event in which the traces of the first replicates part."""
    for cell in measured.cells:
        try:
            a = of_columns(simulated.records(cell, "segments"))
            b = of_columns(measured.records(cell, "segments"))
        except KeyError:
            continue
        found = first_difference(a, b, DEFAULT_TOLERANCE_S)
        within = f", their times within {found.apart_s * 1e3:.3f} ms" if found.agree else ""
        if found.a is None and found.b is None:
            yield Parting(cell, f"all {found.agree}{within}", "", "")
        else:
            yield Parting(cell, f"{found.agree}{within}", told(found.a), told(found.b))


def told(event: Event | None) -> str:
    """An event in words."""
    if event is None:
        return "no more events"
    what = _WORDS[event.event].format(event.segment)
    of = f" (connection {event.connection})" if event.connection else ""
    return f"at {event.time_s:.6f} s {what}{of}"
