"""Why a flow was slower than the bottleneck of its path, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cwndlab.plan.routes import path_in

from .conversation import Conversation

#: Bytes of IP's and TCP's headers, and of timestamps (RFC 7323, appendix A).
_HEADERS, _TIMESTAMPS = 40, 12
#: A flow that uses this share of its bottleneck fills it.
_FULL = 0.95


@dataclass(frozen=True)
class Bottleneck:
    """The slowest link of a flow's path."""

    rate_bps: float
    #: Round-trip time without queues.
    base_s: float
    #: In words: "34 packets", "at least 50 kB", "unlimited".
    buffer: str
    #: Who else uses it, in words; empty if nobody is known to.
    others: str = ""
    #: Whether it was estimated from packets.
    estimated: bool = False

    @property
    def text(self) -> str:
        """Its rate, BDP and buffer."""
        rate = f"{'about ' if self.estimated else ''}{self.rate_bps / 1e6:.4g} Mb/s"
        return f"{rate}, BDP {size_text(self.rate_bps * self.base_s / 8)}, buffer {self.buffer}"


def size_text(size: float) -> str:
    """Bytes, for people."""
    return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"


def bottleneck_in(scenario: Mapping[str, Any], traffic: int, sender: int, receiver: int) -> Bottleneck | None:
    """The bottleneck of a traffic entry's data in a scenario; None if it has none, or a rate that changes."""
    there, back = path_in(scenario, sender, receiver), path_in(scenario, receiver, sender)
    links = scenario["links"]
    if not there or not back or any(links[k].get("capacity") is not None for k in there):
        return None
    slowest = min(there, key=lambda k: links[k]["rate_bps"])
    queue = links[slowest]["queue"]
    limit, unit = queue.get("limit"), queue.get("unit")
    room = "unlimited" if queue["kind"] == "infinite" else f"{queue['kind']}'s"
    if limit is not None:
        room = size_text(limit) if unit == "bytes" else f"{limit} packets"
    others = sum(
        k != traffic and any(slowest in (path_in(scenario, *ends) or ()) for ends in _ways(entry))
        for k, entry in enumerate(scenario["traffic"])
    )
    words = "" if not others else "another flow uses it" if others == 1 else f"{others} other flows use it"
    base = sum(links[k]["delay_ns"] for k in (*there, *back)) / 1e9
    return Bottleneck(float(links[slowest]["rate_bps"]), base, room, words)


def _ways(entry: Mapping[str, Any]) -> tuple[tuple[int, int], tuple[int, int]]:
    return (entry["client"], entry["server"]), (entry["server"], entry["client"])


def used_share(conversation: Conversation, acknowledged_bytes: int, seconds: float) -> float:
    """The share of its bottleneck that a flow used, with headers."""
    assert conversation.bottleneck is not None
    stamped = any(packet.ts_val is not None for packet in conversation.packets[:10])
    header = _HEADERS + (_TIMESTAMPS if stamped else 0)
    bits = 8 * acknowledged_bytes * (conversation.mss + header) / conversation.mss
    return bits / seconds / conversation.bottleneck.rate_bps


def explain_share(
    bottleneck: Bottleneck,
    share: float,
    waited_s: Mapping[str, float],
    seconds: float,
    causes: Mapping[str, str],
) -> str:
    """Why a flow used only so much of its bottleneck, in a sentence.

    Args:
        bottleneck: of its path.
        share: what it used of it.
        waited_s: by cause, how long it waited.
        seconds: how long it took.
        causes: each cause in words.

    """
    used = f"{100 * min(share, 1.0):.0f} % of the bottleneck ({bottleneck.text})"
    if share >= _FULL:
        return f"It filled {used}."
    known = {cause: spent for cause, spent in waited_s.items() if cause != "unknown"}
    largest = max(known, key=lambda cause: known[cause], default=None)
    unused = (1 - share) * seconds
    if bottleneck.others and unused - sum(known.values()) > (known[largest] if largest else 0.0):
        return f"It used {used}; largest cause: {bottleneck.others}."
    if largest is None:
        return f"It used {used}."
    more = f"; {bottleneck.others}" if bottleneck.others else ""
    return (
        f"It used {used}; largest cause: {causes[largest]} ({known[largest]:.3g} s of {seconds:.3g}){more}."
    )
