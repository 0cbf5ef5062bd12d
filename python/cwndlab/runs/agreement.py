"""What stands beside a kernel's results: the simulator's of the same plan, and where the traces part."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from cwndlab.backends.linux.records import BEGINNING, BEGINNING_ROWS, watched
from cwndlab.backends.threads import Threads
from cwndlab.core import core
from cwndlab.records.tracediff import DEFAULT_TOLERANCE_S, Event, first_difference, of_columns
from cwndlab.report.beside import Beside
from cwndlab.report.model import Parting
from cwndlab.store.folder import Kept

from .campaign import Campaign

_WORDS = {
    "send": "packet {} sent",
    "retransmit": "packet {} sent again",
    "ack": "ACK up to packet {}",
    "dupack": "duplicate ACK of packet {}",
    "drop": "packet {} dropped",
}


def simulated_beside(measured: Campaign, kept: Kept) -> Beside:
    """What the simulator makes of a kernel's plan; its runs are kept under keys of their own."""
    simulated = Campaign(measured.plan.beside_a_kernel(), kept, Threads(None), measured.rule)
    simulated.run()
    return beside(simulated, measured)


def beside(simulated: Campaign, measured: Campaign) -> Beside:
    """The simulator's side of a report of the kernel's."""
    about = (
        "What the host at the observation point sends and gets (without one, the sender of the first "
        "traffic), first replicates, until an event is not the same on both; times may be "
        f"{DEFAULT_TOLERANCE_S * 1e3:g} ms apart. The earlier of the two is what the other does not do then."
    )
    complete = not simulated.failures and not measured.failures
    return Beside(simulated.results(), tuple(_partings(simulated, measured)), about, complete)


def _partings(simulated: Campaign, measured: Campaign) -> Iterator[Parting]:
    """Each cell's first event in which the traces of the first replicates part."""
    for cell in measured.cells:
        try:
            a, b = _traces(cell, simulated, measured)
        except KeyError:  # the first run of one of them failed
            continue
        found = first_difference(a, b, DEFAULT_TOLERANCE_S)
        within = f", their times within {found.apart_s * 1e3:.3f} ms" if found.agree else ""
        if found.a is None and found.b is None:
            yield Parting(cell, f"all {found.agree}{within}", "", "")
        else:
            yield Parting(cell, f"{found.agree}{within}", found.side("a", told), found.side("b", told))


def _traces(cell: str, simulated: Campaign, measured: Campaign) -> tuple[list[Event], list[Event]]:
    scenario = measured.cells[cell].compiled.scenario
    if scenario.get("probes", {}).get("segments_at") is not None:
        sides = (simulated.records(cell, "segments"), measured.records(cell, "segments"))
        return of_columns(sides[0]), of_columns(sides[1])
    b = measured.records(cell, BEGINNING)
    # Its run is simulated once more, with the host that was watched on the kernel observed.
    probes = {**scenario.get("probes", {}), "segments_at": watched(scenario)}
    again = core().run(json.dumps({**scenario, "probes": probes}), measured.plan.seed, 0)
    a = pa.table(again.table("segments")).slice(0, BEGINNING_ROWS)
    return of_columns({name: a[name].to_pylist() for name in a.column_names}), of_columns(b)


def told(event: Event) -> str:
    """An event in words."""
    bare = event.segment == 0 and event.event in ("ack", "dupack")
    what = "an ACK of no data" if bare else _WORDS[event.event].format(event.segment)
    of = f" (connection {event.connection})" if event.connection else ""
    return f"at {event.time_s:.6f} s {what}{of}"
