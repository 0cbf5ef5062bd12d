"""Networks by name: keys of `[dumbbell]` and `[parking_lot]` that a study's own keys replace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Between reconfigurations of Starlink, in s.
_PERIOD_S = 15
#: The seven whole intervals of the example of LeoReplayer: how long nothing is sent after a reconfiguration,
#: then the mean rate, and twice the mean delay (docs/models/leo.md).
_LEO = (
    ("59ms", "58Mbps", "21.8ms"),
    ("69ms", "37.3Mbps", "23.9ms"),
    ("82ms", "43.3Mbps", "21.2ms"),
    ("68ms", "49.3Mbps", "23ms"),
    ("95ms", "46.9Mbps", "19.2ms"),
    ("135ms", "44.5Mbps", "20.5ms"),
    ("59ms", "48.9Mbps", "20.2ms"),
)


def _leo() -> dict[str, Any]:
    rates: dict[str, str] = {}
    for k, (pause, rate, _) in enumerate(_LEO):
        begin_ms = 1000 * _PERIOD_S * k
        rates |= {f"{begin_ms}ms": "0bps", f"{begin_ms + int(pause.removesuffix('ms'))}ms": rate}
    repeat = f"{_PERIOD_S * len(_LEO)}s"
    return {
        "rate": {"at": rates, "repeat": repeat},
        "rtt": {"at": {f"{_PERIOD_S * k}s": rtt for k, (_, _, rtt) in enumerate(_LEO)}, "repeat": repeat},
        "buffer": "500pkt",
        "loss": "0.2%",
    }


#: All presets by name.
PRESETS: Mapping[str, Mapping[str, Any]] = {"leo": _leo()}
