"""The colours of flows and series, the same in figures, tables and dialogs."""

from __future__ import annotations

from collections.abc import Sequence

PALETTE = ["#1754d8", "#fd5b2a", "#388754", "#734daa", "#e16d70", "#6d7883", "#9f4321", "#329ebb"]
"""The colours of series. Neighbours differ in lightness, also in a grey print. No two look alike to readers
with colour blindness. Each has a contrast of at least 3:1 on white and on black.
"""

DARK = {0: "#4a7dff", 3: "#9470d0", 6: "#b8522c"}
"""Lighter versions, by index in `PALETTE`, of colours with a contrast below 3:1 on a dark page."""

PLAIN = PALETTE[5]
"""The colour of series of the whole network if flows have colours; dashes distinguish them."""

SHADES = ["#9aa5af", PLAIN, "#3f4850"]
"""The colours of series of the whole network as bars, which cannot be dashed."""


def find_colour_place(name: str, flows: Sequence[str]) -> int | None:
    """The index in `PALETTE` of a flow's colour; None if no flow has this name."""
    return flows.index(name) % len(PALETTE) if name in flows else None
