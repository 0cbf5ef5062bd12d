"""The actions of policies, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from cwndlab._core import CongestionControl

from .features import FlowStep

#: Upper limits of the window and the pacing rate.
MAX_WINDOW_BYTES = float(1 << 30)
MAX_RATE_BPS = 1e12
#: The window, in segments, for each choice of `cwnd_choice` (Indigo: Yan et al., USENIX ATC 2018).
CHOICES: tuple[Callable[[float], float], ...] = (
    lambda segments: segments / 2,
    lambda segments: segments - 10,
    lambda segments: segments,
    lambda segments: segments + 10,
    lambda segments: segments * 2,
)


class Action(NamedTuple):
    """A way to change a flow's window or pacing rate."""

    meaning: str
    #: Number of discrete choices; 0 if the action is a number from -1 to 1.
    choices: int
    apply: Callable[[CongestionControl, FlowStep, float], None]


def _set_window(law: CongestionControl, step: FlowStep, wanted_bytes: float) -> None:
    law.cwnd_bytes = min(max(wanted_bytes, float(step.mss)), MAX_WINDOW_BYTES)


def _limited(value: float) -> float:
    return min(max(value, -1.0), 1.0)


def _cwnd_factor(law: CongestionControl, step: FlowStep, value: float) -> None:
    _set_window(law, step, law.cwnd_bytes * 2 ** _limited(value))


def _cwnd_choice(law: CongestionControl, step: FlowStep, value: float) -> None:
    _set_window(law, step, CHOICES[int(value)](law.cwnd_bytes / step.mss) * step.mss)


def _pacing_factor(law: CongestionControl, step: FlowStep, value: float) -> None:
    rtt_s = max(step.srtt_s, 1e-6)
    slowest = step.mss * 8 / rtt_s
    rate = law.pacing_rate_bps or law.cwnd_bytes * 8 / rtt_s
    rate = min(max(rate * 2 ** _limited(value), slowest), MAX_RATE_BPS)
    law.pacing_rate_bps = rate
    _set_window(law, step, max(2 * rate * rtt_s / 8, 4.0 * step.mss))


#: All actions by name.
ACTIONS: Mapping[str, Action] = {
    "cwnd_factor": Action("from -1 to 1: the window is multiplied by 2 to this power", 0, _cwnd_factor),
    "cwnd_choice": Action(
        "0 to 4: the window is halved, reduced by 10 segments, kept, increased by 10 segments, or doubled",
        len(CHOICES),
        _cwnd_choice,
    ),
    "pacing_factor": Action(
        "from -1 to 1: the pacing rate is multiplied by 2 to this power; the window allows twice that rate",
        0,
        _pacing_factor,
    ),
}
