"""What kept the senders in a capture from sending."""

from __future__ import annotations

from pathlib import Path

from cwndlab.apps.diagnosis.diagnosis import Diagnosis, diagnose
from cwndlab.base.errors import check_arguments
from cwndlab.study.units import seconds

from .from_capture import read
from .link_rate import bottleneck_of


@check_arguments
def explain_capture(path: str | Path, at: str | float | None = None, longest: int = 5) -> Diagnosis:
    """The diagnosis of a capture: what kept the senders from sending; uncertain causes are marked as
    inferred.

    >>> diagnosis = cwndlab.explain_capture("flow.pcapng", longest=3)
    >>> diagnosis.waits_known
    True

    Args:
        path: a pcap or pcapng file, captured at either end of its connections or on the path.
        at: the moment, from the capture's first packet, as "14.4s" or in seconds; default: the longest waits.
        longest: how many waits to explain, without `at`.

    Returns:
        The diagnosis; times are in seconds from the capture's first packet.

    Raises:
        StudyError: the file cannot be read, or contains no TCP.

    """
    found = read(Path(path))
    for one in found:
        one.bottleneck = bottleneck_of(one)
    return diagnose(found, None if at is None else seconds("at", at), longest)
