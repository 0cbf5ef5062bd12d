"""When the nth retransmission timeout is seen at the observation point; not measurable if there are fewer.

A timeout shows as a retransmission at a time at which no acknowledgment arrived (on a real stack: within the
two milliseconds before).
"""

from __future__ import annotations

import math

import numpy as np

from . import RunView
from ._segments import events

UNIT = "s"
TABLES = ("segments",)


def measure(run: RunView, *, nth: int = 1, connection: int = 0) -> float:
    """The nth timeout, from 1."""
    again = events(run, "retransmit", connection=connection)["time_s"]
    answers = events(run, "ack", "dupack", connection=connection)["time_s"]
    within = getattr(run, "answer_s", 0.0)
    if within:
        last = np.searchsorted(answers, again, side="right") - 1
        waited = np.where(last >= 0, again - answers[np.maximum(last, 0)], np.inf) if len(answers) else again
        timeouts = np.unique(again[waited > within])
    else:
        timeouts = np.unique(again[~np.isin(again, answers)])
    return float(timeouts[nth - 1]) if 1 <= nth <= len(timeouts) else math.nan
