"""Networks and traffic by name: keys of `[dumbbell]` and `[parking_lot]` that a study's own keys replace."""

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


#: Flent starts loads this long after its pings, and sends a ping each 0.2 s, here of 84 bytes with headers.
_DELAY = "5s"
_PING: dict[str, Any] = {"name": "ping", "direction": "both", "start": "0s"}
_PING["app"] = {"kind": "cbr", "rate": "3360bps", "packet": "84B"}


def _load(
    name: str, count: int, direction: str, cc: str | None = None, start: str = _DELAY
) -> dict[str, Any]:
    law = {} if cc is None else {"cc": cc}
    return {"name": name, "count": count, "direction": direction, "start": start, **law}


def _both_ways(count: int) -> list[dict[str, Any]]:
    return [_load("download", count, "forward"), _load("upload", count, "reverse"), _PING]


#: Flows of Flent's tests (flent/tests/NAME.conf): downloads go forward, pings are datagrams each way. What
#: marks (DSCP) distinguish there is of one kind here.
TESTS: Mapping[str, list[dict[str, Any]]] = {
    "rrul": _both_ways(4),
    "rrul_be": _both_ways(4),
    "tcp_bidirectional": _both_ways(1),
    **{f"tcp_{count}down": [_load("download", count, "forward"), _PING] for count in (1, 2, 4, 6, 8, 12)},
    **{f"tcp_{count}up": [_load("upload", count, "reverse"), _PING] for count in (1, 2, 4, 6, 8, 12)},
    "cubic_bbr": [_load("cubic", 2, "both", "cubic"), _load("bbr", 2, "both", "bbr1"), _PING],
    "tcp_4up_squarewave": [
        _load("bbr_first", 1, "reverse", "bbr1", "0s"),
        _load("cubic_second", 1, "reverse", "cubic"),
        _load("bbr_third", 1, "reverse", "bbr1", "15s"),
        _load("cubic_fourth", 1, "reverse", "cubic", "25s"),
    ],
}


#: All presets by name.
PRESETS: Mapping[str, Mapping[str, Any]] = {"leo": _leo()}
