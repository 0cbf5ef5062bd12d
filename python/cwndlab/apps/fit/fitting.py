"""`fit_capture`: fit a study to one flow of a capture."""

from __future__ import annotations

import math
import os
from pathlib import Path

from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import of_conversation
from cwndlab.apps.captures.from_capture import read
from cwndlab.apps.diagnosis.conversation import Conversation
from cwndlab.base.errors import ExtraError, StudyError

from . import refusals
from .compared_numbers import ComparedNumbers
from .drawing import BufferNotShownError, FitTask, draw_paths
from .fit_result import CaptureFit, Fitted, compare
from .fitted_parameters import path_parameters, sender_parameters
from .fitted_study import FittedFlow, tables
from .path_estimates import PathEstimates, estimate_path
from .refusals import Refusal
from .replays import centre_of
from .sender_estimates import estimate_sender
from .stated_parameters import NOTHING_STATED, StatedParameters
from .time_courses import TimeCourse


class FitRefusedError(StudyError):
    """The capture shows too little for a fit; `reasons` names the missing parameters."""

    def __init__(self, file: Path, found: list[Refusal]) -> None:
        words = [f"{refusal.why}; {refusal.right}" for refusal in found]
        super().__init__("\n  ".join(["no fit:", *words]), file=file)
        self.reasons = tuple(refusal.reason for refusal in found)


def fit_capture(
    file: Path,
    stated: StatedParameters | None = None,
    *,
    flow: str | None = None,
    seed: int = 1,
    threads: int | None = None,
) -> CaptureFit:
    """Fits a study to the flow of a capture with the most data, or to the one that `flow` names.

    Raises:
        FitRefusedError: the capture shows too little.
        StudyError: the file cannot be read, or has no such flow.

    """
    conversation = _conversation(file, flow)
    try:
        import scipy.stats  # noqa: F401
    except ImportError:
        raise ExtraError("cwndlab fit", "scipy", "search") from None
    return fit_conversation(
        file, conversation, stated or NOTHING_STATED, seed=seed, threads=threads or os.cpu_count() or 1
    )


def _conversation(file: Path, flow: str | None) -> Conversation:
    found = read(file)
    if flow is not None:
        found = [conversation for conversation in found if flow in conversation.name]
        if not found:
            raise StudyError(f"{file}: no connection has {flow!r} in its addresses", key="--flow")
    return max(found, key=lambda one: sum(packet.len for packet in one.packets if packet.out))


def fit_conversation(
    file: Path, conversation: Conversation, stated: StatedParameters, *, seed: int, threads: int
) -> CaptureFit:
    """Fits a study to a conversation of a capture."""
    packets = of_conversation(conversation)
    deliveries = Deliveries(packets)
    missing = list(refusals.of_capture(conversation, deliveries))
    if missing:
        raise FitRefusedError(file, missing)
    path = estimate_path(deliveries, stated)
    sender = estimate_sender(deliveries, path.rate_bps, path.base_s)
    missing = list(refusals.of_path(path))
    if all(refusal.reason != "rate" for refusal in missing):  # pacing shows only relative to the rate
        missing += refusals.of_sender(sender)
    missing = [refusal for refusal in missing if not stated.allows(refusal.reason)]
    if missing:
        raise FitRefusedError(file, missing)
    captured = not math.isnan(packets.handshake_s)
    window = sender.initial_window if captured else None
    ours = FittedFlow(
        stated.cc or sender.law, packets.mss, packets.header, window, sender.ack_ratio, packets.seconds
    )
    task = FitTask(path, ours, ComparedNumbers.of_packets(packets), stated, seed, threads)
    try:
        kinds = draw_paths(task)
    except BufferNotShownError:
        raise FitRefusedError(file, [_unsteady()]) from None
    draws = [draw for kind in kinds for draw in kind.draws]
    numbers = [number for kind in kinds for number in kind.numbers]
    fitted = Fitted(
        capture=file.name,
        flow=conversation.name,
        seconds=packets.seconds,
        parameters=[
            *path_parameters(path, kinds, stated, packets.wire_bytes),
            *sender_parameters(sender, stated, captured=captured),
        ],
        compared=compare(task.capture, numbers),
        draws=len(draws),
        notes=[*conversation.notes, *_assumed(path)],
    )
    title = f"A path fitted to {file.stem}"
    study = tables(title, centre_of(draws), draws, ours, about_study(fitted))
    courses = [course for kind in kinds for course in kind.courses]
    return CaptureFit(fitted, study, TimeCourse.of_packets(packets, packets.seconds), courses)


def about_study(fitted: Fitted) -> str:
    """The fitted study's description, with the capture's numbers and warnings for its reports."""
    warned = "".join(f" Warning: {warning}." for warning in fitted.warnings)
    own = ", ".join(f"{number.name} {number.capture:.4g}" for number in fitted.compared[:3])
    return (
        f"Fitted to {fitted.capture} by cwndlab fit. Each value of the axis draw is a path that fits it. "
        f"The capture itself, with {fitted.text_of('cc')}: {own}.{warned}"
    )


def _unsteady() -> Refusal:
    return Refusal(
        "buffer",
        "fewer than half of the replays show the buffer, so what the capture shows may be chance",
        "state it: --buffer 1BDP; or capture for longer",
    )


def _assumed(path: PathEstimates) -> list[str]:
    """The assumptions of a fit that no packet of one flow can confirm."""
    found = [
        "The queue is drop-tail: no losses look like those of active queue management.",
        "Rate and base round trip do not change; the way back has no queue.",
        "The transfer has no end: the study runs for as long as the capture.",
    ]
    return found
