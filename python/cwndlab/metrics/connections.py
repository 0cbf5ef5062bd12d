"""Numbers and durations of connections."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cwndlab.base.numbers import Floats

from . import Column, RunView
from ._declared import metric
from ._rows import Seconds, WholeNumber, connections_opened


@metric(unit="1", low=0)
def connections(run: RunView, *, traffic: str | None = None, failed: bool = False) -> float:
    """Number of connections opened in the window.

    With `failed = true`, the number of these connections that were abandoned or reset.
    """
    table = connections_opened(run, traffic)
    return float(np.count_nonzero(table["failed"]) if failed else len(table["failed"]))


@metric(unit="s", low=0, many=True)
def connection_durations(
    run: RunView,
    *,
    traffic: str | None = None,
    retransmits_at_least: WholeNumber = 0,
    retransmits_at_most: WholeNumber | None = None,
    drops_at_least: WholeNumber = 0,
    drops_at_most: WholeNumber | None = None,
    handshake_at_most: Seconds | None = None,
    down_at_most: WholeNumber | None = None,
) -> Floats:
    """Durations of connections that opened and ended in the window.

    A duration is the time from the SYN until both ends have closed. In the simulator, the end that closes
    first is closed only when its TIME-WAIT state is over (`fin.time_wait`: 240 s in the profile `rfc5681`, 60
    s in those of Linux, none in `ns2-1998`), so durations of profiles with different TIME-WAITs cannot be
    compared. On a kernel, TIME-WAIT does not count.

    Options select connections: `retransmits_at_least` and `retransmits_at_most` by the segments sent again by
    both ends, `drops_at_least` and `drops_at_most` by the number of packets that links dropped,
    `handshake_at_most` by the duration of the handshake in seconds (after a lost SYN or SYN-ACK the handshake
    takes at least an initial timeout), `down_at_most` by the bytes delivered to the client. If these bytes
    fit into the initial window, all losses were in one window.

    The values are in the order of the records.
    """
    table = connections_opened(run, traffic)
    start, end = (np.asarray(table[name], dtype=np.float64) for name in ("start_ns", "end_ns"))
    chosen = end >= start  # false for a connection that has not ended: its end is NaN or -1
    chosen &= _is_between(table["retransmits"], retransmits_at_least, retransmits_at_most)
    chosen &= _is_between(table["drops"], drops_at_least, drops_at_most)
    chosen &= _is_between(table["bytes_down"], 0, down_at_most)
    if handshake_at_most is not None:
        established = np.asarray(table["established_ns"], dtype=np.float64)
        chosen &= (established >= start) & (established - start <= handshake_at_most * 1e9)
    return np.asarray((end - start)[chosen] / 1e9)


def _is_between(column: Column, least: int, most: int | None) -> NDArray[np.bool_]:
    inside = np.asarray(column) >= least
    return inside if most is None else inside & (np.asarray(column) <= most)
