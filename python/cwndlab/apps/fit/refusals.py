"""Reasons why a capture cannot be fitted, and what to capture instead."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.link_rate import FEWEST_PAIRS, MOST_FASTER, MOST_UNUSED
from cwndlab.apps.diagnosis.conversation import Conversation
from cwndlab.apps.diagnosis.waits import find_waits
from cwndlab.base.writing import count_text

from .path_estimates import PathEstimates
from .sender_estimates import SenderEstimates

#: The least segments and base round trips of a fit.
FEWEST_SEGMENTS, FEWEST_TRIPS = 200, 10
#: A sender limited by other causes than the path for this share of the time does not show the path.
_HELD_BACK = 0.15
#: A sender that fills the receive window after this share of acknowledgments does not show the path.
_AT_WINDOW = 0.5
#: A capture does not show the path if the receive window is below half its maximum after this share of
#: acknowledgments, because data waits to be read: acknowledgments then follow the reader.
_SLOW_READER = 0.01
#: Largest share of the data that may be missing from a capture.
_MOST_MISSING = 0.005
#: Causes of waits that do not depend on the path, in words.
_HELD_BY = {
    "application": "the application had nothing to send",
    "receive-window": "the receive window was full",
    "zero-window": "the receive window was closed",
    "small-window": "the receive window had less room than a segment",
    "nagle": "small segments waited for acknowledgments",
    "nagle-delayed-ack": "small segments waited for acknowledgments",
}
#: With at least this many round trips without a queue, other flows did not always have one.
_TOUCHES = 2


class Refusal(NamedTuple):
    """A parameter that cannot be identified and without which there is no fit."""

    #: "too-short", "held-back", "place", "one-direction", "clock", "missing", "rate", "rtt", "queue",
    #: "buffer" or "cc".
    reason: str
    why: str
    #: What to capture, or which option to give.
    right: str


def of_capture(conversation: Conversation, deliveries: Deliveries) -> Iterator[Refusal]:
    """Reasons in a capture as a whole that prevent a fit."""
    yield from of_faults(conversation)
    if not conversation.shows_waits:
        return
    if conversation.seen_at != "sender":
        where = "at the receiver" if conversation.seen_at == "receiver" else "on the path, between the ends"
        yield Refusal("place", f"it was captured {where}", "capture at the sender of the data")
        return
    segments, seconds = len(deliveries.sent_s), deliveries.packets.seconds
    shortest = min((float(trip) for trip in deliveries.trips(prompt=False)[1]), default=math.inf)
    if segments < FEWEST_SEGMENTS or seconds < FEWEST_TRIPS * shortest:
        yield Refusal(
            "too-short",
            f"it is too short: {count_text(segments, 'segment')} in {seconds:.3g} s",
            f"capture a transfer of at least {FEWEST_SEGMENTS} segments and {FEWEST_TRIPS} round trips, "
            "best of 20 s",
        )
        return
    if conversation.scale_known and _window_share(deliveries) > _AT_WINDOW:
        yield _held_back("receive-window", _window_share(deliveries))
        return
    if (slow := _slow_reader(deliveries)) > _SLOW_READER:
        yield Refusal(
            "held-back",
            "the receiver's application read more slowly than the path delivered: its window was below half "
            f"of its largest after {100 * slow:.1f} % of the acknowledgments",
            "capture a transfer that the network limits, such as the download of a large file",
        )
        return
    waited: dict[str, float] = {}
    for wait in find_waits(conversation):
        if wait.cause in _HELD_BY:
            waited[wait.cause] = waited.get(wait.cause, 0.0) + wait.duration_ns / 1e9
    if sum(waited.values()) > _HELD_BACK * seconds:
        yield _held_back(max(waited, key=lambda cause: waited[cause]), sum(waited.values()) / seconds)


def of_faults(conversation: Conversation) -> Iterator[Refusal]:
    """Reasons in faults of the capture that prevent a fit."""
    if conversation.one_way:
        whose = "sender's" if conversation.one_way == "data" else "receiver's"
        yield Refusal("one-direction", f"it has only the {whose} packets", "capture both directions")
        return
    if conversation.tick_ns:
        yield Refusal(
            "clock",
            f"its times are multiples of {conversation.tick_ns / 1e6:g} ms",
            "capture with a finer clock",
        )
    if conversation.steps:
        yield Refusal(
            "clock",
            "its clock was set while it was made",
            "cut it there: editcap -A and -B; or capture again",
        )
    sent = max((packet.end for packet in conversation.packets if packet.out), default=0)
    lacking = sum(hole.len for hole in conversation.missing)
    if lacking > _MOST_MISSING * max(sent, 1):
        yield Refusal(
            "missing",
            f"it lacks {100 * lacking / max(sent, lacking):.2g} % of the data that was sent",
            "capture with a larger buffer, such as `tcpdump -B 65536`, or a shorter snap length",
        )


def _held_back(cause: str, share: float) -> Refusal:
    return Refusal(
        "held-back",
        f"for {100 * share:.0f} % of the time not the path held the sender back: {_HELD_BY[cause]}",
        "capture a transfer that the network limits, such as the download of a large file",
    )


def _window_share(of: Deliveries) -> float:
    """The share of acknowledgments after which the sender fills the receive window."""
    packets = of.packets
    if not len(packets.ack_s):
        return 0.0
    until = np.searchsorted(of.sent_s, np.concatenate([packets.ack_s[1:], [math.inf]]))
    sent = np.concatenate([[0], of.ends])[until]
    return float(np.mean(sent + packets.mss > packets.allowed))


def _slow_reader(of: Deliveries) -> float:
    """The share of acknowledgments with a window below half of the largest so far."""
    windows = of.packets.allowed - of.packets.ack
    return float(np.mean(windows < np.maximum.accumulate(windows) / 2)) if len(windows) else 0.0


def of_path(path: PathEstimates) -> Iterator[Refusal]:
    """Parameters of the path that cannot be identified."""
    if math.isnan(path.rate_bps):
        yield Refusal(
            "rate",
            f"fewer than {FEWEST_PAIRS} pairs of segments waited behind each other, so that the spacing of "
            "their acknowledgments shows no rate",
            "capture a transfer that fills the path",
        )
        return
    if path.faster > MOST_FASTER or path.not_used > MOST_UNUSED:
        yield Refusal(
            "rate",
            "the spacing of acknowledgments shows no rate: at the highest frequent one, "
            f"{path.rate_bps / 1e6:.4g} Mbit/s, {100 * path.not_used:.0f} % would not have been used while "
            f"segments waited, and {100 * path.faster:.0f} % of the data came faster. Acknowledgments come "
            "in bunches, as over Wi-Fi and LTE or with receive offload, or the rate varies",
            "capture on a path with a bottleneck of constant rate, with receive offload switched off",
        )
        return
    if path.cross and path.touches < _TOUCHES:
        yield Refusal(
            "rtt",
            "other traffic kept a queue all the time, so that the base round trip is not identifiable: "
            f"at most {path.base_s * 1e3:.4g} ms",
            "state it: --rtt 40ms; or capture while the path is idle at the start",
        )
    if not path.base_shown:
        yield Refusal(
            "rtt",
            "it begins after the handshake, and the queue was never empty, so that the base round trip is "
            f"not identifiable: at most {path.base_s * 1e3:.4g} ms",
            "state it: --rtt 40ms; or capture from the start of the connection",
        )
    if path.queue.managed:
        yield Refusal("queue", _managed(path), "capture behind a drop-tail queue; fits have no other kind")
    elif math.isnan(path.queue.buffer_bytes):
        yield Refusal(
            "buffer", _no_buffer(path), "state it: --buffer 1BDP; or capture until the queue is full"
        )


def _managed(path: PathEstimates) -> str:
    queue = path.queue
    return (
        "the queue looks like active queue management (CoDel, PIE, RED): half of the losses met at most "
        f"{100 * queue.loss_level:.0f} % of the longest wait, so it was not full, and the waits before them "
        f"were longer than others by {queue.skew:.1f} standard errors, so they were not random"
    )


def _no_buffer(path: PathEstimates) -> str:
    least = f"its queue held {path.queue.longest_bytes / 1e3:.3g} kB, so the buffer is at least as large"
    if not path.queue.episodes:
        return f"nothing was lost, so the queue was never full; {least}"
    return (
        "the losses do not agree on a longest round trip, so they were random, or those of active queue "
        f"management, and do not show a full queue; {least}"
    )


def of_sender(sender: SenderEstimates) -> Iterator[Refusal]:
    """Parameters of the sender that cannot be identified."""
    if not sender.law:
        yield Refusal("cc", sender.why, "state it: --cc cubic")
