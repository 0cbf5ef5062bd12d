"""`fit_capture`: the study that reproduces one flow of a capture."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cwndlab.diagnosis.conversation import Conversation
from cwndlab.diagnosis.from_capture import read
from cwndlab.errors import ExtraError, StudyError

from . import refusals
from .deliveries import Deliveries
from .fit_result import CaptureFit, Fitted, Parameter, compare
from .fitted_study import DRAWS, FittedFlow, PathParameters, tables
from .flow_packets import of_conversation
from .path_estimates import PathEstimates, estimate_path
from .refusals import FEWEST_SEGMENTS, Refusal
from .replays import (
    DrawnInterval,
    Errors,
    Replayed,
    draws_of,
    interval_of,
    loss_interval,
    paths_around,
    replay,
    whole_packets,
)
from .sender_estimates import SenderEstimates, estimate_sender

#: Replays that correct the middle, before those for the intervals.
PILOTS = 13


class FitRefusedError(StudyError):
    """A capture that shows too little; `reasons` are the parameters that are missing."""

    def __init__(self, file: Path, found: list[Refusal]) -> None:
        words = [f"{one.why}; {one.right}" for one in found]
        super().__init__("\n  ".join(["no fit:", *words]), file=file)
        self.reasons = tuple(one.reason for one in found)


@dataclass(frozen=True)
class StatedParameters:
    """Parameters that the user states, since the capture does not show them."""

    cc: str | None = None
    rtt_s: float | None = None
    #: Multiples of the BDP, or bytes.
    buffer_bdp: float | None = None
    buffer_bytes: float | None = None

    def buffer_of(self, rate_bps: float, base_s: float) -> float | None:
        """The buffer in bytes on this path; None if it is not stated."""
        if self.buffer_bdp is not None:
            return self.buffer_bdp * rate_bps * base_s / 8
        return self.buffer_bytes

    def allows(self, refusal: Refusal) -> bool:
        """Whether what is stated takes the place of what is missing."""
        given = {
            "cc": self.cc,
            "rtt": self.rtt_s,
            "buffer": self.buffer_bytes if self.buffer_bdp is None else self.buffer_bdp,
        }
        return given.get(refusal.reason) is not None


def fit_capture(
    file: Path,
    stated: StatedParameters | None = None,
    *,
    flow: str | None = None,
    seed: int = 1,
    threads: int | None = None,
) -> CaptureFit:
    """The study that reproduces the flow of a capture with the most data, or the one that `flow` names.

    Raises:
        FitRefusedError: the capture shows too little.
        StudyError: it cannot be read, or has no such flow.

    """
    conversation = _conversation(file, flow)
    try:
        import scipy.stats  # noqa: F401
    except ImportError:
        raise ExtraError("cwndlab fit", "scipy", "search") from None
    return fit_conversation(
        file,
        conversation,
        stated or StatedParameters(),
        seed=seed,
        threads=threads or os.cpu_count() or 1,
    )


def _conversation(file: Path, flow: str | None) -> Conversation:
    found = read(file)
    if flow is not None:
        found = [one for one in found if flow in one.name]
        if not found:
            raise StudyError(f"{file}: no connection has {flow!r} in its addresses", key="--flow")
    return max(found, key=lambda one: sum(packet.len for packet in one.packets if packet.out))


def fit_conversation(
    file: Path,
    conversation: Conversation,
    stated: StatedParameters,
    *,
    seed: int,
    threads: int,
) -> CaptureFit:
    """The same of a conversation that was read."""
    packets = of_conversation(conversation)
    deliveries = Deliveries(packets)
    missing = list(refusals.of_capture(conversation, deliveries))
    if missing:
        raise FitRefusedError(file, missing)
    path = estimate_path(deliveries, stated.rtt_s)
    sender = estimate_sender(deliveries, path.rate_bps, path.base_s)
    missing = [*refusals.of_path(path), *refusals.of_sender(sender)]
    missing = [one for one in missing if not stated.allows(one)]
    if missing:
        raise FitRefusedError(file, missing)
    given = stated.buffer_of(path.rate_bps, path.base_s)
    middle = PathParameters(
        path.rate_bps, path.base_s, given or path.queue.buffer_bytes, path.queue.loss, path.cross
    ).with_changes()
    captured = not math.isnan(packets.handshake_s)
    window = sender.initial_window if captured else None
    ours = FittedFlow(
        stated.cc or sender.law, packets.mss, packets.header, window, sender.ack_ratio, packets.seconds
    )
    draws = _draws(middle, path, ours, given, Replaying(file, seed, threads))
    again = [Replayed.of_packets(one) for one in replay(draws, ours, threads)]
    parameters = [
        *_of_path(path, draws, stated, given, packets.wire_bytes),
        *_of_sender(sender, stated, captured=captured),
    ]
    fitted = Fitted(
        capture=file.name,
        flow=conversation.name,
        seconds=packets.seconds,
        parameters=parameters,
        compared=compare(Replayed.of_packets(packets), again),
        notes=[*conversation.notes, *_assumed(path)],
    )
    centre = _centre(draws, path)
    about = f"Fitted to {file.name} by cwndlab fit. Each value of the axis draw is a path that fits it."
    return CaptureFit(fitted, tables(f"A path fitted to {file.stem}", centre, draws, ours, about))


class Replaying(NamedTuple):
    """How replays run, and whose they are."""

    file: Path
    seed: int
    threads: int


def _draws(
    middle: PathParameters,
    path: PathEstimates,
    flow: FittedFlow,
    given: float | None,
    replaying: Replaying,
) -> list[PathParameters]:
    """Draws of the path. A few replays correct the middle first, around which all others lie."""
    known = given is not None
    for count in (PILOTS, DRAWS):
        around = paths_around(middle, path, replaying.seed + count, count)
        replays = replay(around, flow, replaying.threads)
        errors = Errors.of_replays(around, replays)
        if not known and 2 * sum(not math.isnan(error) for error in errors.buffer) < count:
            raise FitRefusedError(replaying.file, [_unsteady()])
        draws = draws_of(middle, path, errors, replaying.seed, buffer_known=known)
        middle = _centre(draws, path)
    return draws


def _unsteady() -> Refusal:
    return Refusal(
        "buffer",
        "fewer than half of the replays show the buffer, so what the capture shows may be chance",
        "state it: --buffer 1BDP; or capture for longer",
    )


def _centre(draws: list[PathParameters], path: PathEstimates) -> PathParameters:
    """The middle of the draws, parameter by parameter."""

    def middle(values: list[float]) -> float:
        return interval_of(values).value

    return PathParameters(
        middle([one.rate_bps for one in draws]),
        middle([one.base_s for one in draws]),
        middle([one.buffer_bytes for one in draws]),
        path.queue.loss,
        middle([one.cross for one in draws]),
    )


def _of_path(
    path: PathEstimates,
    draws: list[PathParameters],
    stated: StatedParameters,
    given: float | None,
    wire_bytes: int,
) -> list[Parameter]:
    """The parameters of the path, by the draws."""

    def known(name: str, unit: str, found: DrawnInterval, scale: float, how: str) -> Parameter:
        value, low, high = (scale * end for end in (found.value, found.low, found.high))
        return Parameter(name=name, unit=unit, value=value, low=low, high=high, how=how)

    rate = interval_of([one.rate_bps for one in draws])
    base = interval_of([one.base_s for one in draws])
    room = whole_packets(interval_of([one.buffer_bytes for one in draws]), wire_bytes)
    how = "spacing of acknowledgments of segments that waited behind each other"
    found = [known("rate", "Mbit/s", rate, 1e-6, how)]
    if stated.rtt_s is not None:
        found.append(Parameter(name="rtt", unit="ms", value=stated.rtt_s * 1e3, stated=True))
    else:
        found.append(known("rtt", "ms", base, 1e3, "shortest round trip, less the time to send the segment"))
    if given is not None:
        found.append(Parameter(name="buffer", unit="kB", value=given / 1e3, stated=True))
    else:
        full, every = path.queue.full_episodes, path.queue.episodes
        how = f"round trips before losses at a full queue ({full} of {every} episodes)"
        found.append(known("buffer", "kB", room, 1e-3, how))
    seen = path.queue.other_segments
    how = f"{path.queue.other_losses} losses of {seen} segments sent while the queue was not full"
    if seen >= FEWEST_SEGMENTS:
        found.append(known("loss", "%", loss_interval(path), 100, how))
    else:
        why = f"only {seen} segments were sent while the queue was not nearly full"
        found.append(Parameter(name="loss", not_identifiable=why))
    if path.cross:
        cross = interval_of([one.cross for one in draws])
        how = "spacing of acknowledgments while this flow had a queue"
        found.append(known("cross traffic", "% of the rate", cross, 100, how))
        why = "one flow's packets show its level only; the study has Poisson arrivals"
        found.append(Parameter(name="burstiness of cross traffic", not_identifiable=why))
    else:
        found.append(
            Parameter(name="cross traffic", unit="% of the rate", value=0.0, how="no gap among its packets")
        )
    return found


def _of_sender(sender: SenderEstimates, stated: StatedParameters, *, captured: bool) -> list[Parameter]:
    """The parameters of the sender."""
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
    return [law, mss, window, paced, ratio]


def _how(sender: SenderEstimates) -> str:
    if sender.law == "bbr1":
        return "pacing, and a flight of four segments now and then"
    return f"{sender.reductions} reductions leave {sender.left:.2f} of the flight"


def _assumed(path: PathEstimates) -> list[str]:
    """What no packet of one flow shows."""
    found = [
        "The queue is drop-tail and counts bytes; active queue management is not looked for.",
        "Rate and base round trip do not change; the way back has no queue.",
        "The transfer has no end: the study runs for as long as the capture.",
    ]
    if path.cross:
        found.append(
            "Cross traffic does not respond to losses. If it is TCP, it yields to another congestion control "
            "differently than this study shows."
        )
    return found
