"""The parameters of a fit, each with its interval or the reason why it has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .drawing import DrawnPaths
from .fit_result import Parameter
from .path_estimates import PathEstimates
from .refusals import FEWEST_SEGMENTS
from .replays import HOST_CLOCK, HOST_DELAY_S, interval_of
from .sender_estimates import SenderEstimates
from .stated_parameters import StatedParameters

_SPACING = "spacing of acknowledgments of segments that waited behind each other"
_CROSS = "cross traffic"
_RESPONSE = "response of cross traffic"


def path_parameters(
    path: PathEstimates, kinds: Sequence[DrawnPaths], stated: StatedParameters, wire_bytes: int
) -> Iterator[Parameter]:
    """The parameters of the path, from the draws; `wire_bytes` is the size of a packet."""
    draws = [draw for kind in kinds for draw in kind.draws]

    def known(name: str, unit: str, values: list[float], hosts: float, how: str) -> Parameter:
        found = interval_of(values)
        low, high = found.low - hosts, found.high + hosts
        return Parameter(name=name, unit=unit, value=found.value, low=low, high=high, hosts=hosts, how=how)

    rates = [draw.rate_bps * 1e-6 for draw in draws]
    yield known("rate", "Mbit/s", rates, HOST_CLOCK * max(rates), _SPACING)
    if stated.rtt_s is not None:
        yield Parameter(name="rtt", unit="ms", value=stated.rtt_s * 1e3, stated=True)
    else:
        base = [draw.base_s * 1e3 for draw in draws]
        how = "shortest round trip, less the time to send the segment"
        yield known("rtt", "ms", base, HOST_DELAY_S * 1e3, how)
    if stated.has_buffer:
        yield Parameter(name="buffer", unit="kB", value=path.queue.buffer_bytes / 1e3, stated=True)
    else:
        full, every = path.queue.full_episodes, path.queue.episodes
        how = f"round trips before losses at a full queue ({full} of {every} episodes)"
        room = known("buffer", "kB", [draw.buffer_bytes / 1e3 for draw in draws], 0.0, how)
        packet = {"resolution": wire_bytes * 1e-3, "resolution_of": "a packet"}
        yield room.model_copy(update=packet)
    yield _random_loss(path, kinds)
    yield from _cross_traffic(path, kinds)


def _random_loss(path: PathEstimates, kinds: Sequence[DrawnPaths]) -> Parameter:
    seen = path.queue.other_segments
    if seen < FEWEST_SEGMENTS:
        why = f"only {seen} segments were sent while the queue was not nearly full"
        return Parameter(name="loss", not_identifiable=why)
    ends = [kind.loss.interval() for kind in kinds]
    return Parameter(
        name="loss",
        unit="%",
        value=100 * float(np.mean([kind.loss.share for kind in kinds])),
        low=100 * min(low for low, _ in ends),
        high=100 * max(high for _, high in ends),
        how=f"{path.queue.other_losses} losses of {seen} segments sent while the queue was not full",
    )


def _cross_traffic(path: PathEstimates, kinds: Sequence[DrawnPaths]) -> Iterator[Parameter]:
    rivals = [draw.rival for kind in kinds for draw in kind.draws if draw.rival is not None]
    datagrams = [draw.cross for kind in kinds for draw in kind.draws if draw.rival is None]
    if not path.cross and not rivals:
        yield Parameter(name=_CROSS, unit="% of the rate", value=0.0, how="no gap among its packets")
        return
    if datagrams:
        share = interval_of(datagrams)
        yield Parameter(
            name=_CROSS,
            unit="% of the rate",
            value=100 * share.value,
            low=100 * share.low,
            high=100 * share.high,
            how="spacing of acknowledgments while this flow had a queue, if it is datagrams",
        )
        why = "one flow's packets show its level only; the study has Poisson arrivals"
        yield Parameter(name="burstiness of cross traffic", not_identifiable=why)
    how = "of replays with datagrams and with TCP flows, which have the capture among them"
    if datagrams and rivals:
        why = "datagrams and TCP flows both explain the capture; the study has draws of each"
        yield Parameter(name=_RESPONSE, not_identifiable=why, how=how)
    elif rivals:
        yield Parameter(name=_RESPONSE, value="as TCP", how=how)
        for name, why in _rival_words(len(rivals), [rival.cc for rival in rivals]):
            yield Parameter(name=name, not_identifiable=why)
    else:
        yield Parameter(name=_RESPONSE, value="none", how=how)


def _rival_words(count: int, laws: Sequence[str]) -> Iterator[tuple[str, str]]:
    shares = ", ".join(f"{law} in {laws.count(law)}" for law in sorted(set(laws)))
    yield "congestion control of cross traffic", f"of {count} draws {shares}"


def sender_parameters(
    sender: SenderEstimates, stated: StatedParameters, *, captured: bool
) -> Iterator[Parameter]:
    """The parameters of the sender; `captured` is whether the handshake was captured."""
    law = Parameter(name="cc", value=sender.law, how=_how(sender))
    if stated.cc is not None:
        law = Parameter(name="cc", value=stated.cc, stated=True)
    window = Parameter(name="initial window", not_identifiable="the handshake was not captured")
    if captured:
        how = "segments before the first acknowledgment of data"
        window = Parameter(name="initial window", unit="segments", value=sender.initial_window, how=how)
    paced = Parameter(name="pacing", not_identifiable="acknowledgments and segments are too close together")
    if sender.paced is not None:
        how = "bursts between acknowledgments rather than right after one"
        paced = Parameter(name="pacing", value="yes" if sender.paced else "no", how=how)
    ratio = Parameter(name="segments per ACK", value=sender.ack_ratio, how="median")
    mss = Parameter(name="mss", unit="B", value=sender.mss, how="largest segment")
    yield from (law, mss, window, paced, ratio)


def _how(sender: SenderEstimates) -> str:
    if sender.law == "bbr1":
        return "pacing, and a flight of four segments now and then"
    return f"{sender.reductions} reductions leave {sender.left:.2f} of the flight"
