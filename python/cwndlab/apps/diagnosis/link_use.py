"""Why a flow was slower than the bottleneck of its path, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from .bottleneck import Bottleneck
from .conversation import Conversation

#: Bytes of IP's and TCP's headers, and of timestamps (RFC 7323, appendix A).
_HEADERS, _TIMESTAMPS = 40, 12
#: A flow that uses this share of its bottleneck fills it.
_FULL = 0.95


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
