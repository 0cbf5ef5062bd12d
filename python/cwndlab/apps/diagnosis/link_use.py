"""Why a flow did not fill the bottleneck of its path."""

from __future__ import annotations

from collections.abc import Mapping

from .bottleneck import Bottleneck
from .conversation import HEADERS, TIMESTAMPS, Conversation

#: From this share of the bottleneck's rate on, the flow fills the bottleneck.
_FULL = 0.95


def used_share(conversation: Conversation, acknowledged_bytes: int, seconds: float) -> float:
    """The share of the bottleneck's rate that a flow used, headers included."""
    assert conversation.bottleneck is not None
    stamped = any(packet.ts_val is not None for packet in conversation.packets[:10])
    header = HEADERS + (TIMESTAMPS if stamped else 0)
    bits = 8 * acknowledged_bytes * (conversation.mss + header) / conversation.mss
    return bits / seconds / conversation.bottleneck.rate_bps


def explain_share(
    bottleneck: Bottleneck,
    share: float,
    waited_s: Mapping[str, float],
    seconds: float,
    causes: Mapping[str, str],
) -> str:
    """A sentence that states the used share of the bottleneck and the largest cause of the rest.

    Args:
        bottleneck: the bottleneck of the flow's path.
        share: the used share of the bottleneck's rate.
        waited_s: seconds that the flow waited, by cause.
        seconds: duration of the flow.
        causes: a description of each cause.

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
